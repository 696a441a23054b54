import { type Clock, systemClock } from "../clock.ts";
import { BmcError } from "../contract/bmc-error.ts";
import type { Connection } from "../contract/connection.ts";
import type { NameOption } from "../contract/name-option.ts";
import type { SessionProvider } from "../contract/vocabulary.ts";
import { type Logger, silentLogger } from "../logger.ts";
import { neverAborted } from "../never-aborted.ts";
import { raceAbort } from "../race-abort.ts";
import { type Tracer, untraced } from "../tracing/tracer.ts";
import type { WireTap } from "../tracing/wire-tap.ts";
import { BmcLink } from "./link/link.ts";
import type { Access, LastWrite } from "./operations/access.ts";
import type { Finding } from "./operations/finding.ts";
import { describeSession, type Provider, type SessionDescription } from "./operations/provider.ts";
import {
  checkOf,
  type DriverName,
  type Drivers,
  type OfferedCapability,
  type OperationMethods,
  operationMethods,
} from "./operations/table.ts";
import { loadProvider, type ProviderLoader } from "./providers/load.ts";

/** Options of a client. */
export interface BmcClientOptions {
  /** @internal */
  readonly clock?: Clock;
  /** Default: no log. */
  readonly log?: Logger;
  /** @internal */
  readonly loadProvider?: ProviderLoader;
  /**
   * Replaces the connection's providers.
   * @internal
   */
  readonly provider?: Provider | undefined;
  /** False counts silence as an answer, to find out what works at present. Default: true. */
  readonly retriesSilence?: boolean;
  /** How long, from now on, a write is sent again that a busy BMC refuses, in milliseconds. Default: two minutes per write. */
  readonly busyMs?: number;
  /**
   * Called with every provider that is opened and every request.
   * @internal
   */
  readonly tracer?: Tracer;
  /** Called with every exchange, for a recording. @internal */
  readonly tap?: WireTap | undefined;
  /** How the user sets an option of the connection, for error messages. Default: as in the inventory. @internal */
  readonly nameOption?: NameOption | undefined;
}

/** Whether a BMC offers an operation that only using it would prove: the BMC says so, or `unknown` if it does not say. */
export type Offer = "offered" | "unknown";

/** Declares the methods that the constructor of `BmcClient` adds. */
const WithOperations = class {} as new () => OperationMethods;

/**
 * One BMC. The first operation opens a session with the first provider that answers; sessions are kept until `close`, which must
 * always be called. Operations run one at a time and take an `AbortSignal`, which may be left out. All errors are `BmcError`s whose message begins with the
 * provider it comes from; an aborted signal rejects with class `cancelled`. What none of the providers can do is `unsupported`,
 * before anything is changed.
 * @example
 * import { BmcClient, Connection } from "@pbnj-worker/bmc";
 *
 * const bmc = new BmcClient(Connection.parse({ host: "192.0.2.11", username: "admin", password: "calvin" }));
 * const signal = AbortSignal.timeout(300_000);
 * try {
 *   const power = await bmc.setPower({ verb: "off", mode: "soft-then-hard", softTimeoutMs: 60_000, timeoutMs: 120_000 }, signal);
 *   console.log(power.after);
 *   // off
 * } finally {
 *   await bmc.close();
 * }
 */
export class BmcClient extends WithOperations {
  readonly #connection: Connection;
  readonly #link: BmcLink;
  /** Resolves when every operation so far has ended; never rejects. */
  #queue: Promise<unknown> = Promise.resolve();

  /** Creates a client. Sends nothing yet. */
  constructor(connection: Connection, options: BmcClientOptions = {}) {
    super();
    this.#connection = connection;
    this.#link = new BmcLink(connection, {
      clock: options.clock ?? systemClock,
      log: options.log ?? silentLogger,
      loadProvider: options.loadProvider ?? loadProvider,
      provider: options.provider,
      retriesSilence: options.retriesSilence ?? true,
      busyMs: options.busyMs,
      tracer: options.tracer ?? untraced,
      tap: options.tap,
      nameOption: options.nameOption,
    });
    Object.assign(
      this,
      operationMethods((driver, signal, operation) => this.#run(driver, signal, operation)),
    );
  }

  /** The provider that answered last; undefined if none has answered, or if none answers any more. */
  get provider(): SessionProvider | undefined {
    return this.#link.provider;
  }

  /** A note about the selected machine for people, such as `system A, not B`; undefined if there is none. */
  get note(): string | undefined {
    return this.#link.note;
  }

  /** The user name of the login. */
  get username(): string | undefined {
    return this.#connection.username;
  }

  /** The number of requests or packets so far that waited for an answer. */
  get roundTrips(): number {
    return this.#link.roundTrips;
  }

  /** The last change that the BMC accepted or may carry out; undefined if there is none. */
  get lastWrite(): LastWrite | undefined {
    return this.#link.lastWrite;
  }

  /** What the client learned, for the `hint` of the next connection. Plain JSON, complete once the client is closed. */
  get hint(): unknown {
    return this.#link.hint;
  }

  /** Opens a session if there is none. Without a hint, this proves the credentials. Sends nothing else. */
  open(signal: AbortSignal = neverAborted()): Promise<SessionDescription> {
    return this.#run("power", signal, ({ read }) => read(async (session) => describeSession(session)));
  }

  /** Checks whether the operations of a driver would work. It only reads. */
  check(driver: DriverName, signal: AbortSignal = neverAborted()): Promise<Finding> {
    return this.#run(driver, signal, (access) => checkOf(driver)(access, signal));
  }

  /** Whether the BMC offers operations that cannot be tested without side effects; throws `unsupported` if it does not. */
  getOffer(capability: OfferedCapability, signal: AbortSignal = neverAborted()): Promise<Offer> {
    return this.#run(capability, signal, async ({ read }) =>
      (await read((session) => session[capability].offered(signal))) ? "offered" : "unknown",
    );
  }

  /** Logs out and releases everything permanently, even during an operation. Never throws. */
  close(): Promise<void> {
    return this.#link.close();
  }

  /** Runs operations on one BMC one after the other. They queue, and a cancelled one leaves the queue at once. */
  async #run<T>(
    driver: DriverName,
    signal: AbortSignal,
    operation: (access: Access<Drivers>) => Promise<T>,
  ): Promise<T> {
    const before = this.#queue;
    const run = raceAbort(before, signal).then(() => {
      signal.throwIfAborted();
      return this.#link.use(driver, signal, operation);
    });
    // The next operation also waits for earlier ones that may have left the queue.
    this.#queue = Promise.allSettled([before, run]);
    try {
      return await run;
    } catch (thrown) {
      throw signal.aborted ? BmcError.ofAbort(signal) : BmcError.from(thrown);
    }
  }
}

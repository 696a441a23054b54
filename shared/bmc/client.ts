import { type Clock, systemClock } from "../clock.ts";
import { BmcError } from "../contract/bmc-error.ts";
import type { Connection } from "../contract/connection.ts";
import type { NameOption } from "../contract/name-option.ts";
import type { SessionProvider } from "../contract/vocabulary.ts";
import { type Logger, silentLogger } from "../logger.ts";
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
  /** Default: nothing is logged. */
  readonly log?: Logger;
  /** @internal */
  readonly loadProvider?: ProviderLoader;
  /**
   * Replaces the connection's providers.
   * @internal
   */
  readonly provider?: Provider | undefined;
  /** False counts silence as an answer, to find out what works now. Default true. */
  readonly retriesSilence?: boolean;
  /** For how long, from now on, a write is sent again that a busy BMC refuses, milliseconds. Default two minutes for each. */
  readonly busyMs?: number;
  /**
   * Called with every provider that is opened and every request.
   * @internal
   */
  readonly tracer?: Tracer;
  /**
   * Called with every exchange, for a recording.
   * @internal
   */
  readonly tap?: WireTap | undefined;
  /**
   * How the user sets an option of the connection, for errors. Default: as in the inventory.
   * @internal
   */
  readonly nameOption?: NameOption | undefined;
}

/** Whether a BMC has what only using it would prove: it says so, or `unknown` where it does not say. */
export type Offer = "offered" | "unknown";

/** Declares the methods that the constructor of `BmcClient` adds. */
const WithOperations = class {} as new () => OperationMethods;

/**
 * One BMC. The first operation opens a session with the first provider that answers; sessions are kept until `close`, which must
 * always be called. Operations run one at a time and take an `AbortSignal`. All errors are `BmcError`s whose message begins with the
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

  /** Sends nothing yet. */
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

  /** The provider that answered last; undefined while none has, also when none does any more. */
  get provider(): SessionProvider | undefined {
    return this.#link.provider;
  }

  /** What to know of the machine that was chosen, for people: `system A, not B`. Undefined if there is nothing to say. */
  get note(): string | undefined {
    return this.#link.note;
  }

  /** The user that it logs in as. */
  get username(): string | undefined {
    return this.#connection.username;
  }

  /** Requests (or packets) so far that waited for an answer. */
  get roundTrips(): number {
    return this.#link.roundTrips;
  }

  /** The last change that the BMC accepted, or may carry out; undefined if there is none. */
  get lastWrite(): LastWrite | undefined {
    return this.#link.lastWrite;
  }

  /** What was learned, for the next connection's `hint`; plain JSON, complete once the client is closed. */
  get hint(): unknown {
    return this.#link.hint;
  }

  /** Opens a session if there is none, which without a hint proves the credentials, and sends nothing more. */
  open(signal: AbortSignal): Promise<SessionDescription> {
    return this.#run("power", signal, ({ read }) => read(async (session) => describeSession(session)));
  }

  /** Whether the operations of a driver would work. Reads, and changes nothing. */
  check(driver: DriverName, signal: AbortSignal): Promise<Finding> {
    return this.#run(driver, signal, (access) => checkOf(driver)(access, signal));
  }

  /** Whether the BMC offers operations that cannot be tested without side effects; throws `unsupported` if it does not. */
  getOffer(capability: OfferedCapability, signal: AbortSignal): Promise<Offer> {
    return this.#run(capability, signal, async ({ read }) =>
      (await read((session) => session[capability].offered(signal))) ? "offered" : "unknown",
    );
  }

  /** Logs out and frees everything, permanently, also during an operation. Never throws. */
  close(): Promise<void> {
    return this.#link.close();
  }

  /** Operations on one BMC never overlap: they queue, and a cancelled one leaves the queue at once. */
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
    // The next one also waits for those before this one, which may have left the queue.
    this.#queue = Promise.allSettled([before, run]);
    try {
      return await run;
    } catch (thrown) {
      throw signal.aborted ? BmcError.ofAbort(signal) : BmcError.from(thrown);
    }
  }
}

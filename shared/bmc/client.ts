import type { Clock } from "../clock.ts";
import { systemClock } from "../clock.ts";
import type { Connection } from "../contract/connection.ts";
import type { PowerState, ProviderName } from "../contract/vocabulary.ts";
import { type Logger, silentLogger } from "../logger.ts";
import { type BootReport, setBoot } from "./boot.ts";
import { BmcError } from "./errors.ts";
import { type PowerPort, type PowerReport, type PowerRequest, planPower, setPower } from "./power.ts";
import type { BootOverride, BootRequest, Session } from "./provider.ts";
import { loadProvider, type ProviderLoader } from "./providers.ts";
import { openFirst } from "./race.ts";
import { OPEN_RETRY, READ_RETRY, type RetryRule, retrying, WRITE_RETRY } from "./retry.ts";

export interface BmcClientOptions {
  readonly clock?: Clock;
  readonly log?: Logger;
  readonly loadProvider?: ProviderLoader;
}

/** What would be sent, and the state it would meet. */
export interface Plan<State> {
  readonly before: State;
  readonly steps: readonly string[];
}

/**
 * One BMC. The first operation opens a session with the first provider that answers; the session is kept until
 * `close`, which must always be called. Operations run one at a time. All errors are `BmcError`s; an aborted
 * signal rejects with class `cancelled`.
 */
export class BmcClient {
  readonly #connection: Connection;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #loadProvider: ProviderLoader;
  #session: Session | undefined;
  #roundTripsBefore = 0;
  #provider: ProviderName | undefined;
  #hint: unknown;
  #queue: Promise<unknown> = Promise.resolve();
  readonly #closed = new AbortController();
  /** Openings and closings under way, which may be logging in or out. */
  readonly #looseEnds = new Set<Promise<unknown>>();

  constructor(connection: Connection, options: BmcClientOptions = {}) {
    this.#connection = connection;
    this.#clock = options.clock ?? systemClock;
    this.#log = options.log ?? silentLogger;
    this.#loadProvider = options.loadProvider ?? loadProvider;
    this.#hint = connection.hint;
  }

  /** The provider that answered last; undefined while none has, also when none does any more. */
  get provider(): ProviderName | undefined {
    return this.#provider;
  }

  /** Requests (or packets) so far that waited for an answer. */
  get roundTrips(): number {
    return this.#roundTripsBefore + (this.#session?.roundTrips() ?? 0);
  }

  /** What was learned, for the next connection's `hint`; plain JSON. */
  get hint(): unknown {
    return this.#hint;
  }

  readPower(signal: AbortSignal): Promise<PowerState> {
    return this.#exclusive(signal, () => this.#read(signal, (session) => session.power.read(signal)));
  }

  setPower(request: PowerRequest, signal: AbortSignal): Promise<PowerReport> {
    return this.#exclusive(signal, () => setPower(this.#powerPort(signal), request));
  }

  planPower(request: PowerRequest, signal: AbortSignal): Promise<Plan<PowerState>> {
    return this.#exclusive(signal, () => planPower(this.#powerPort(signal), request));
  }

  readBoot(signal: AbortSignal): Promise<BootOverride> {
    return this.#exclusive(signal, () => this.#read(signal, (session) => session.boot.read(signal)));
  }

  /** `mode: keep` becomes the connection's boot mode where that says more. */
  setBoot(request: BootRequest, signal: AbortSignal): Promise<BootReport> {
    const port = {
      clock: this.#clock,
      read: () => this.#read(signal, (session) => session.boot.read(signal)),
      write: (asked: BootRequest) => this.#write(signal, (session) => session.boot.write(asked, signal)),
      sleep: (ms: number) => this.#clock.sleep(ms, signal),
    };
    return this.#exclusive(signal, () => setBoot(port, this.#withMode(request)));
  }

  planBoot(request: BootRequest, signal: AbortSignal): Promise<Plan<BootOverride>> {
    return this.#exclusive(signal, async () => {
      const before = await this.#read(signal, (session) => session.boot.read(signal));
      const step = await this.#read(signal, (session) => session.boot.plan(this.#withMode(request), signal));
      return { before, steps: [step] };
    });
  }

  /** Logs out and frees everything, also in the middle of an operation, for good. Never throws. */
  async close(): Promise<void> {
    this.#closed.abort(new BmcError("cancelled", "the client was closed"));
    // Whoever exits now would leave behind on the BMC what an opening has just logged in.
    await Promise.all(this.#looseEnds);
    await this.#dropSession();
  }

  #powerPort(signal: AbortSignal): PowerPort {
    return {
      clock: this.#clock,
      read: () => this.#read(signal, (session) => session.power.read(signal)),
      plan: (command) => this.#read(signal, (session) => session.power.plan(command, signal)),
      send: (command) => this.#write(signal, (session) => session.power.send(command, signal)),
      sleep: (ms) => this.#clock.sleep(ms, signal),
    };
  }

  #withMode(request: BootRequest): BootRequest {
    return request.mode === "keep" ? { ...request, mode: this.#connection.bootMode } : request;
  }

  /** Operations on one BMC never overlap: they queue, and a cancelled one leaves the queue. */
  async #exclusive<T>(signal: AbortSignal, operation: () => Promise<T>): Promise<T> {
    const before = this.#queue;
    const run = (async () => {
      await before.catch(() => undefined);
      signal.throwIfAborted();
      return operation();
    })();
    this.#queue = run.catch(() => undefined);
    try {
      return await run;
    } catch (thrown) {
      if (signal.aborted) throw BmcError.from(signal.reason);
      throw BmcError.from(thrown);
    }
  }

  /** A read may be repeated, on a new session where the old one broke: the BMC may have restarted. */
  async #read<T>(signal: AbortSignal, read: (session: Session) => Promise<T>): Promise<T> {
    // The first opening has its own rule; an unreachable BMC must not be tried under both.
    await this.#open(signal);
    return this.#retrying(READ_RETRY, signal, async () => {
      const session = await this.#open(signal);
      try {
        return await read(session);
      } catch (thrown) {
        const { class: errorClass } = BmcError.from(thrown);
        if (errorClass === "unreachable" || errorClass === "timeout") {
          await this.#untilDone(this.#dropSession());
        }
        throw thrown;
      }
    });
  }

  async #write(signal: AbortSignal, write: (session: Session) => Promise<void>): Promise<void> {
    const session = await this.#open(signal);
    return this.#retrying(WRITE_RETRY, signal, () => write(session));
  }

  #retrying<T>(rule: RetryRule, signal: AbortSignal, attempt: () => Promise<T>): Promise<T> {
    return retrying(rule, { clock: this.#clock, log: this.#log, signal }, attempt);
  }

  async #open(signal: AbortSignal): Promise<Session> {
    return this.#session ?? this.#untilDone(this.#openAny(AbortSignal.any([signal, this.#closed.signal])));
  }

  async #openAny(signal: AbortSignal): Promise<Session> {
    this.#provider = undefined;
    const hints = readHint(this.#hint);
    const candidates = this.#order(hints.provider).map((name) => ({
      name,
      open: async (raceSignal: AbortSignal, failing: (thrown: unknown) => void) => {
        const provider = await this.#loadProvider(name);
        const context = { clock: this.#clock, log: this.#log, hint: hints.providers[name] };
        return this.#retrying(OPEN_RETRY, raceSignal, async () => {
          try {
            return await provider.open(this.#connection, context, raceSignal);
          } catch (thrown) {
            failing(thrown);
            throw thrown;
          }
        });
      },
    }));
    const session = await openFirst(
      candidates,
      { headStartMs: this.#connection.headStartMs, discard: (opened) => opened.close() },
      signal,
    );
    this.#session = session;
    this.#provider = session.provider;
    this.#log.debug({ provider: session.provider, host: this.#connection.host }, "BMC answered");
    return session;
  }

  /** Preferred order, with the provider that answered last time first. */
  #order(remembered: string | undefined): ProviderName[] {
    const { providers } = this.#connection;
    return providers.toSorted((a, b) => Number(b === remembered) - Number(a === remembered));
  }

  async #dropSession(): Promise<void> {
    const session = this.#session;
    if (!session) return;
    this.#session = undefined;
    this.#remember(session);
    await session.close();
    // Read after closing: logging out may take a round trip.
    this.#roundTripsBefore += session.roundTrips();
  }

  #untilDone<T>(work: Promise<T>): Promise<T> {
    const over: Promise<boolean> = work.then(
      () => this.#looseEnds.delete(over),
      () => this.#looseEnds.delete(over),
    );
    this.#looseEnds.add(over);
    return work;
  }

  #remember(session: Session): void {
    const hints = readHint(this.#hint);
    this.#hint = {
      provider: session.provider,
      providers: { ...hints.providers, [session.provider]: session.hint() },
    };
  }
}

interface Hints {
  readonly provider?: string;
  readonly providers: Readonly<Record<string, unknown>>;
}

/** A hint comes from outside: whatever does not have its shape is no hint. */
function readHint(hint: unknown): Hints {
  if (typeof hint !== "object" || hint === null) return { providers: {} };
  const { provider, providers } = hint as { provider?: unknown; providers?: unknown };
  return {
    ...(typeof provider === "string" ? { provider } : {}),
    providers: typeof providers === "object" && providers !== null ? { ...providers } : {},
  };
}

import { backoffMs } from "../../backoff.ts";
import type { Clock } from "../../clock.ts";
import { BmcError } from "../../contract/bmc-error.ts";
import type { Connection } from "../../contract/connection.ts";
import type { NameOption } from "../../contract/name-option.ts";
import { progressFields } from "../../contract/progress.ts";
import { ProviderName, type SessionProvider } from "../../contract/vocabulary.ts";
import { defined } from "../../defined.ts";
import type { Logger } from "../../logger.ts";
import type { Secret } from "../../secret.ts";
import type { SpanStart, Tracer } from "../../tracing/tracer.ts";
import type { WireTap } from "../../tracing/wire-tap.ts";
import type { Access, LastWrite, Patience, SessionBase } from "../operations/access.ts";
import type { Provider, Session } from "../operations/provider.ts";
import { isFinal } from "../operations/read-back.ts";
import { type DriverName, type Drivers, isCapability, OPERATIONS } from "../operations/table.ts";
import type { StartedTask } from "../operations/task-port.ts";
import type { ProviderLoader } from "../providers/load.ts";
import { composeHint, readHint } from "./hint.ts";
import { openFirst } from "./race.ts";
import {
  AFTER_CHANGE,
  ifBusy,
  LOGIN_RECHECK_MS,
  LOOK_RETRY,
  OPEN_RETRY,
  READ_RETRY,
  type RetryRule,
  retrying,
  SESSION_RETRY,
  WRITE_RETRY,
} from "./retry.ts";

export interface LinkOptions {
  readonly clock: Clock;
  readonly log: Logger;
  readonly loadProvider: ProviderLoader;
  readonly provider?: Provider | undefined;
  /** False counts silence as an answer. A BMC that says that it is busy is still asked again. */
  readonly retriesSilence: boolean;
  /** How long, from the beginning, writes are sent again that a busy BMC refuses. Default: as in `WRITE_RETRY`. */
  readonly busyMs?: number | undefined;
  readonly tracer: Tracer;
  readonly tap: WireTap | undefined;
  readonly nameOption: NameOption | undefined;
}

const ONE_ATTEMPT: RetryRule = { ...OPEN_RETRY, attempts: 1, busyAttempts: 1 };

/** The progress of one operation with its provider. */
interface Progress {
  /** The provider that accepted a change, or may have. Only this one is used from then on. */
  changedBy?: SessionProvider;
  /** The failure of a reading before the change. It says nothing about a BMC that restarts. */
  failedBefore?: string;
  /** Set once a read was answered, so that a different answer may be temporary. */
  hasAnswered?: true;
  /** Set once the additional login after a refused one was used. */
  hasRechecked?: true;
}

/**
 * The link to one BMC: the provider in use, its session, and what was learned about the BMC. Errors are `BmcError`s whose
 * message begins with the provider that they come from.
 */
export class BmcLink {
  readonly #connection: Connection;
  readonly #options: LinkOptions;
  readonly #patientUntilMs: number | undefined;
  /** The current password, if it was changed on the BMC after the connection was made. */
  #password: Secret | undefined;
  /** The current address, if it was changed on the BMC. */
  #host: string | undefined;
  /** The current certificate's fingerprint, if it was changed on the BMC. */
  #fingerprint: string | undefined;
  #lastWrite: LastWrite | undefined;
  /** The number of changes that BMCs have accepted; a driver may send several for one write. */
  #acceptances = 0;
  readonly #closed = new AbortController();
  readonly #sessions = new Map<SessionProvider, Session>();
  /** Sessions that no call uses any more, open until the client is closed. */
  readonly #aside: Session[] = [];
  /** Sessions that are being opened or closed, which may be logging in or out. */
  readonly #looseEnds = new Set<Promise<unknown>>();
  /** Providers whose hint has failed in this client. */
  readonly #distrusted = new Set<SessionProvider>();
  /** Providers that accepted the current credentials. */
  readonly #accepting = new Set<SessionProvider>();
  #progress: Progress = {};
  #roundTripsBefore = 0;
  #closing: Promise<void> | undefined;
  #provider: SessionProvider | undefined;
  #note: string | undefined;
  #hint: unknown;

  constructor(connection: Connection, options: LinkOptions) {
    this.#connection = connection;
    this.#options = options;
    const { busyMs, clock } = options;
    this.#patientUntilMs = busyMs === undefined ? undefined : clock.monotonicMs() + busyMs;
    this.#hint = connection.hint;
  }

  /** The provider that answered last; undefined if none has answered, or if none answers any more. */
  get provider(): SessionProvider | undefined {
    return this.#provider;
  }

  /** The `note` of the session that was opened last. */
  get note(): string | undefined {
    const session = this.#provider && this.#sessions.get(this.#provider);
    return session ? session.note?.() : this.#note;
  }

  /** The last change that a BMC accepted or may carry out. */
  get lastWrite(): LastWrite | undefined {
    return this.#lastWrite;
  }

  get roundTrips(): number {
    return [...this.#sessions.values(), ...this.#aside].reduce(
      (sum, session) => sum + session.roundTrips(),
      this.#roundTripsBefore,
    );
  }

  get hint(): unknown {
    return this.#hint;
  }

  /**
   * Runs an operation of this driver with the first provider that answers. If that provider says `unsupported`, which it
   * does before anything has changed, the next one is used. Rejects with `unsupported` and every reason if none is left.
   * Once a change was accepted, or may have been, the operation stays with its provider.
   */
  async use<T>(
    driver: DriverName,
    signal: AbortSignal,
    operation: (access: Access<Drivers>) => Promise<T>,
  ): Promise<T> {
    const unsupported: BmcError[] = [];
    let candidates = await this.#capable(driver);
    for (;;) {
      this.#progress = {};
      try {
        const access = this.#access(driver, candidates, signal);
        const result = await operation(access);
        await this.#confirm(access, signal);
        return result;
      } catch (thrown) {
        signal.throwIfAborted();
        const error = this.#named(BmcError.from(thrown));
        if (this.#progress.changedBy) throw afterChange(error);
        const refused = this.#provider;
        // The answer of an open session counts, even after others did not offer the operation.
        const isFinal =
          unsupported.length === 0 || refused !== undefined || error.uncertain || this.#endsRace(error);
        if (error.class !== "unsupported" && isFinal) throw await this.#besideOthers(error, driver);
        unsupported.push(error);
        candidates = candidates.filter((name) => name !== refused);
        if (error.class === "unsupported" && refused && candidates.length > 0) continue;
        throw unsupported.length === 1 ? error : allOf(unsupported);
      }
    }
  }

  /** Checks the machine before a change, and that everything read belongs to the same machine. */
  async #confirm({ read }: Access<Drivers>, signal: AbortSignal): Promise<void> {
    const session = this.#provider && this.#sessions.get(this.#provider);
    if (signal.aborted || !session?.confirm || this.#progress.changedBy) return;
    await read(async ({ confirm }) => confirm?.(signal));
  }

  /** Logs out and releases everything permanently, even during an operation. Never throws. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#closed.abort(new BmcError("cancelled", "the client was closed"));
    // A process that exits now would leave a session on the BMC if an opening has just logged in.
    await Promise.all(this.#looseEnds);
    await Promise.all([...this.#sessions.keys()].map((name) => this.#drop(name)));
    await Promise.all(this.#aside.splice(0).map((session) => this.#end(session)));
  }

  #access(driver: DriverName, candidates: readonly SessionProvider[], signal: AbortSignal): Access<Drivers> {
    let names = candidates;
    const progress = this.#progress;
    const { clock, log } = this.#options;
    const allowed = () => (progress.changedBy ? [progress.changedBy] : names);
    const session = () => this.#session(allowed(), signal);
    let wasOpen = false;
    let hasLooked = false;
    // The first opening has its own rule, so that an unreachable BMC is not tried under both. A BMC whose session was lost may
    // be restarting, and gets the time of the rule for the call.
    const openFirst = async () => {
      if (!wasOpen) await session();
      wasOpen = true;
    };
    const readOnce = async <T>(
      call: (session: SessionBase & Drivers) => Promise<T>,
      rule = progress.changedBy ? LOOK_RETRY : READ_RETRY,
    ): Promise<T> => {
      await openFirst();
      const value = await this.#recheckingLogin(signal, () =>
        this.#retrying(rule, signal, async () => this.#call(await session(), having(driver, call))),
      );
      progress.hasAnswered = true;
      return value;
    };
    let changedBefore: SessionProvider | undefined;
    const send = async (
      rule: RetryRule,
      call: (session: Session) => Promise<void>,
      isDone?: Patience["isDone"],
    ) => {
      await openFirst();
      changedBefore = progress.changedBy;
      const instead = isDone && (async () => ((await isDone()) ? { result: undefined } : undefined));
      return this.#retrying(rule, signal, async () => this.#callOnceMore(session, call), instead);
    };
    const write: Access<Drivers>["write"] = async (call, { limitMs, isDone } = {}) => {
      const rule = { ...WRITE_RETRY, ...defined({ busyMs: limitMs ?? this.#patienceMs() }) };
      await send(rule, this.#noting(having(driver, call)), isDone);
      if (this.#provider) progress.changedBy ??= this.#provider;
    };
    const look: Access<Drivers>["look"] = async (call) => {
      try {
        const seen = await readOnce(call, LOOK_RETRY);
        hasLooked = true;
        return seen;
      } catch (thrown) {
        signal.throwIfAborted();
        const error = BmcError.from(thrown);
        const isSilence = error.class === "unreachable" || error.class === "timeout";
        // If a poll has never seen it and no change has begun, the BMC does not have it.
        const mayCome = hasLooked || (progress.hasAnswered && error.class !== "unsupported");
        if (isSilence || error.transient || ((progress.changedBy || mayCome) && !isFinal(error)))
          return error;
        throw error;
      }
    };
    return {
      connection: this.#connection,
      clock,
      log,
      insist: () => progress.changedBy && this.#sessions.get(progress.changedBy)?.insist?.(),
      hasChanged: () => progress.changedBy !== undefined,
      disprove: () => {
        if (changedBefore === undefined) delete progress.changedBy;
        else progress.changedBy = changedBefore;
      },
      read: async (call) => {
        if (!progress.changedBy) {
          return readOnce(call).catch((thrown: unknown) => {
            progress.failedBefore = BmcError.from(thrown).message;
            throw thrown;
          });
        }
        const endMs = clock.monotonicMs() + AFTER_CHANGE.limitMs;
        for (let attempt = 1; ; attempt += 1) {
          try {
            return await readOnce(call);
          } catch (thrown) {
            signal.throwIfAborted();
            const error = BmcError.from(thrown);
            const leftMs = endMs - clock.monotonicMs();
            if (isFinal(error) || error.message === progress.failedBefore || leftMs <= 0) throw error;
            log.info(
              { class: error.class, reason: error.message },
              "BMC read failed after a change, retrying",
            );
            await clock.sleep(Math.min(leftMs, backoffMs(AFTER_CHANGE.backoff, attempt)), signal);
          }
        }
      },
      look,
      write,
      start: async (call, patience) => {
        let started: StartedTask | undefined;
        await write(async (session) => {
          await call(session);
          started = session.started?.();
        }, patience);
        return started;
      },
      task: (started) => look(async ({ task }) => (await task?.(started, signal)) ?? { state: "gone" }),
      open: (call) => send(SESSION_RETRY, having(driver, call)),
      sleep: (ms) => clock.sleep(ms, signal),
      progress: (text, limitMs) => log.info(progressFields(limitMs), text),
      afresh: async (provider, limit, call) => {
        const names = provider === undefined ? allowed() : [provider];
        await this.#untilDone(Promise.all(names.map((name) => this.#drop(name))));
        return this.#recheckingLogin(limit, async () =>
          this.#call(await this.#session(names, limit, ONE_ATTEMPT), having(driver, call)),
        );
      },
      setAside: () => {
        const open = this.#provider && this.#sessions.get(this.#provider);
        if (!open) return undefined;
        this.#sessions.delete(open.provider);
        this.#hint = composeHint(this.#hint, open);
        this.#aside.push(open);
        return open.isForgotten;
      },
      logInWith: async (password) => {
        this.#password = password;
        this.#accepting.clear();
        if (this.#provider) names = [this.#provider];
        await this.#dropAll();
      },
      useHost: async (host) => {
        // Another BMC may answer at another address.
        if (host !== this.#host) this.#accepting.clear();
        this.#host = host;
        if (this.#provider) names = [this.#provider];
        await this.#dropAll();
      },
      trustOnly: async (fingerprint) => {
        this.#fingerprint = fingerprint;
        if (this.#provider) names = [this.#provider];
        await this.#dropAll();
      },
    };
  }

  async #dropAll(): Promise<void> {
    await Promise.all([...this.#sessions.keys()].map((name) => this.#untilDone(this.#drop(name))));
  }

  /** How much longer a write is sent again. */
  #patienceMs(): number | undefined {
    const until = this.#patientUntilMs;
    return until === undefined ? undefined : Math.max(0, until - this.#options.clock.monotonicMs());
  }

  /** Calls a session. A broken session is closed and its hint dropped, because the BMC may have restarted or moved. */
  async #call<T>(session: Session, call: (session: Session) => Promise<T>): Promise<T> {
    try {
      const value = await call(session);
      this.#accepting.add(session.provider);
      return value;
    } catch (thrown) {
      const { class: errorClass, uncertain } = BmcError.from(thrown);
      if (uncertain) this.#progress.changedBy = session.provider;
      if (errorClass === "unreachable" || errorClass === "timeout") {
        this.#distrusted.add(session.provider);
        await this.#untilDone(this.#drop(session.provider));
      }
      throw thrown;
    }
  }

  /** Records a write in `lastWrite`, unless the BMC refuses all of it. */
  #noting(send: (session: Session) => Promise<void>): (session: Session) => Promise<void> {
    const { clock } = this.#options;
    return async (session) => {
      const before = this.#lastWrite;
      const acceptances = this.#acceptances;
      const atMs = clock.monotonicMs();
      this.#lastWrite = { atMs, accepted: false };
      try {
        await send(session);
        this.#lastWrite = { atMs, accepted: true };
      } catch (thrown) {
        const { class: errorClass, uncertain } = BmcError.from(thrown);
        if (this.#acceptances > acceptances) this.#lastWrite = { atMs, accepted: true };
        else if (!uncertain && errorClass !== "cancelled" && errorClass !== "timeout")
          this.#lastWrite = before;
        throw thrown;
      }
    };
  }

  /** Sends a write on a new session if it certainly never left, for example on a connection that a hint promised. */
  async #callOnceMore(
    session: () => Promise<Session>,
    call: (session: Session) => Promise<void>,
  ): Promise<void> {
    const progress = this.#progress;
    const send = async () => {
      const open = await session();
      await this.#call(open, call);
      progress.changedBy = open.provider;
    };
    try {
      await send();
    } catch (thrown) {
      const error = BmcError.from(thrown);
      if (error.class !== "unreachable" || error.uncertain || progress.changedBy) throw thrown;
      await send();
    }
  }

  /**
   * Repeats a login. A BMC that restarts may refuse a login that it accepts before and afterwards. After a change,
   * credentials that worked for this client are sent once more, and only once, because accounts lock.
   */
  async #recheckingLogin<T>(signal: AbortSignal, attempt: () => Promise<T>): Promise<T> {
    const progress = this.#progress;
    const { clock, log } = this.#options;
    try {
      return await attempt();
    } catch (thrown) {
      const error = BmcError.from(thrown);
      const { changedBy, hasRechecked } = progress;
      if (!changedBy || hasRechecked || !this.#accepting.has(changedBy) || error.refused !== "login")
        throw thrown;
      progress.hasRechecked = true;
      log.info(
        { reason: error.message, waitMs: LOGIN_RECHECK_MS },
        "login refused after a change, retrying once",
      );
      await clock.sleep(LOGIN_RECHECK_MS, signal);
      return attempt();
    }
  }

  #retrying<T>(
    rule: RetryRule,
    signal: AbortSignal,
    attempt: () => Promise<T>,
    instead?: () => Promise<{ readonly result: T } | undefined>,
  ): Promise<T> {
    const { clock, log, retriesSilence } = this.#options;
    return retrying(retriesSilence ? rule : ifBusy(rule), { clock, log, signal }, attempt, instead);
  }

  async #session(
    candidates: readonly SessionProvider[],
    signal: AbortSignal,
    rule: RetryRule = OPEN_RETRY,
  ): Promise<Session> {
    for (const name of candidates) {
      const open = this.#sessions.get(name);
      if (open) {
        this.#provider = name;
        return open;
      }
    }
    return this.#untilDone(this.#open(candidates, AbortSignal.any([signal, this.#closed.signal]), rule));
  }

  async #open(names: readonly SessionProvider[], signal: AbortSignal, rule: RetryRule): Promise<Session> {
    this.#provider = undefined;
    const { clock, log, tracer, tap, nameOption } = this.#options;
    const hints = readHint(this.#hint);
    const ordered = inOrder(names, hints.provider);
    // Loading a provider must not count as silence of the BMC, so it ends before the race begins.
    if (ordered[0]) await this.#load(ordered[0]);
    const session = await openFirst(
      ordered.map((name) => ({
        name,
        open: async (raceSignal, progress) => {
          const provider = await this.#load(name);
          const hint = this.#distrusted.has(name) ? undefined : hints.providers[name];
          return this.#retrying(rule, raceSignal, async () => {
            try {
              const onAccepted = () => {
                this.#acceptances += 1;
                this.#progress.changedBy = name;
              };
              const changed = this.#progress.changedBy === name ? hints.providers[name] : undefined;
              const { reached: onReached } = progress;
              const shared = { clock, log, hint, changed, tracer, tap, nameOption };
              const context = { ...shared, onReached, onAccepted };
              return await tracer.span(opening(name), () =>
                provider.open(this.#credentialed(), context, raceSignal),
              );
            } catch (thrown) {
              progress.failing(thrown);
              this.#noteFallback(name, BmcError.from(thrown), names);
              throw thrown;
            }
          });
        },
      })),
      {
        headStartMs: this.#connection.headStartMs,
        isFinal: (error) => this.#endsRace(error),
        discard: (opened: Session) => opened.close(),
        tidying: (tidied) => void this.#untilDone(tidied),
      },
      signal,
    );
    this.#sessions.set(session.provider, session);
    this.#provider = session.provider;
    log.debug({ provider: session.provider, host: this.#connection.host }, "BMC answered");
    return session;
  }

  /**
   * Whether an error ends the race. After a refused password another provider would fail in the same way and help lock the
   * account. After a TLS failure another provider might send through a weaker protocol what an attacker in the middle has
   * blocked in this one.
   */
  #endsRace({ class: errorClass }: BmcError): boolean {
    return errorClass === "auth" || (errorClass === "tls" && !this.#connection.tls.fallback);
  }

  #noteFallback(provider: SessionProvider, error: BmcError, names: readonly SessionProvider[]): void {
    if (error.class !== "tls" || this.#endsRace(error) || names.length === 1) return;
    this.#options.log.warn(
      { provider, reason: error.message },
      "TLS failed, falling back to another provider as tls.fallback allows",
    );
  }

  #credentialed(): Connection {
    const tls = { ...this.#connection.tls, ...defined({ fingerprint: this.#fingerprint }) };
    return { ...this.#connection, tls, ...defined({ password: this.#password, host: this.#host }) };
  }

  get #providers(): readonly SessionProvider[] {
    const { provider } = this.#options;
    return provider ? [provider.name] : this.#connection.providers;
  }

  /** Adds the names of providers that reach the BMC but lack the driver; otherwise the BMC would seem to be gone. */
  async #besideOthers(error: BmcError, driver: DriverName): Promise<BmcError> {
    const isOpening = this.#provider === undefined && ["unreachable", "timeout"].includes(error.class);
    if (!isOpening) return error;
    const capable = await this.#capable(driver);
    const others = this.#providers.filter((name) => !capable.includes(name));
    if (others.length === 0) return error;
    return new BmcError(error.class, `${error.message}; ${haveNo(others, driver)}`, { cause: error });
  }

  /** The connection's providers that have the driver, in order of preference. */
  async #capable(driver: DriverName): Promise<readonly SessionProvider[]> {
    const providers = this.#providers;
    if (!isCapability(driver)) return providers;
    const loaded = await Promise.all(providers.map((name) => this.#load(name)));
    const capable = loaded.filter(({ capabilities }) => capabilities.has(driver)).map(({ name }) => name);
    if (capable.length > 0) return capable;
    throw new BmcError("unsupported", haveNo(providers, driver));
  }

  #load(name: SessionProvider): Promise<Provider> {
    const { loadProvider, provider } = this.#options;
    if (provider) return Promise.resolve(provider);
    return loadProvider(ProviderName.parse(name));
  }

  async #drop(name: SessionProvider): Promise<void> {
    const session = this.#sessions.get(name);
    if (!session) return;
    this.#sessions.delete(name);
    this.#hint = composeHint(this.#hint, session);
    if (name === this.#provider) this.#note = session.note?.();
    await this.#end(session);
  }

  async #end(session: Session): Promise<void> {
    await session.close();
    // Read this after closing, because logging out may take a round trip.
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

  /** Adds the provider's name to an error. A failed opening names its providers itself. */
  #named(error: BmcError): BmcError {
    const provider = this.#provider;
    if (provider === undefined || error.class === "cancelled") return error;
    const { uncertain, retryAfterMs } = error;
    return new BmcError(error.class, `${provider}: ${error.message}`, {
      cause: error,
      uncertain,
      ...defined({ retryAfterMs }),
    });
  }
}

/** Changes an error after a change was accepted, or may have been: other providers no longer matter. */
function afterChange(error: BmcError): BmcError {
  if (error.class !== "unsupported") return error;
  const message = error.uncertain ? error.message : `after an accepted change, ${error.message}`;
  return new BmcError("verify", message, {
    cause: error,
    uncertain: true,
  });
}

/**
 * A call on a session that has the driver. The session may lack it although its provider has it, if this BMC does not offer
 * it.
 */
function having<T>(
  driver: DriverName,
  call: (session: SessionBase & Drivers) => Promise<T>,
): (session: Session) => Promise<T> {
  return async (session) => {
    if (!session[driver]) throw new BmcError("unsupported", `this BMC offers no ${driver}`);
    return call(session as SessionBase & Drivers);
  };
}

/** Sorts providers by preference, but with the provider that answered last time first. */
function inOrder(
  names: readonly SessionProvider[],
  remembered: string | undefined,
): readonly SessionProvider[] {
  return names.toSorted((a, b) => Number(b === remembered) - Number(a === remembered));
}

function opening(provider: SessionProvider): SpanStart {
  return { name: `open ${provider}`, kind: "internal", attributes: { "pbnj.provider": provider } };
}

function allOf(errors: readonly BmcError[]): BmcError {
  return new BmcError("unsupported", errors.map(({ message }) => message).join("; "), { cause: errors[0] });
}

function haveNo(providers: readonly SessionProvider[], driver: DriverName): string {
  return `${providers.join(", ")} ${providers.length === 1 ? "has" : "have"} no ${OPERATIONS[driver].title}`;
}

import type { Clock } from "../../clock.ts";
import type { BmcError } from "../../contract/bmc-error.ts";
import type { Connection } from "../../contract/connection.ts";
import type { SessionProvider } from "../../contract/vocabulary.ts";
import type { Logger } from "../../logger.ts";
import type { Secret } from "../../secret.ts";
import type { Finding } from "./finding.ts";
import type { OperationTask, StartedTask } from "./task-port.ts";

/** What a session may do at most (IPMI 2.0 section 6.8). */
export type SessionPrivilege = "user" | "operator" | "administrator";

/** A change that was sent. */
export interface LastWrite {
  /** When it was begun, on the clock's monotonic time in milliseconds. */
  readonly atMs: number;
  /** Otherwise it was being sent, or its answer was lost. */
  readonly accepted: boolean;
}

/** What every session has, whatever its BMC offers. */
export interface SessionBase {
  readonly provider: SessionProvider;
  /** The level that the session asks for, if the protocol has such levels. */
  readonly privilege?: SessionPrivilege;
  /** What the result must say of the machine that was chosen, for people. */
  readonly note?: () => string | undefined;
  /** When the BMC's certificate expires, milliseconds since the epoch; undefined without TLS. */
  certificateExpiresMs?(): number | undefined;
  /** Throws `verify` if another machine has taken the place of the one that was read; absent where none can. */
  confirm?(signal: AbortSignal): Promise<void>;
  /** Requests (or packets) so far that waited for an answer. */
  roundTrips(): number;
  /** What was learned and is worth keeping for the next call; plain JSON. */
  hint(): unknown;
  /**
   * After a change was accepted and not kept: makes the next write carry what some BMCs silently need. Undefined if nothing is
   * left to add; the result takes it back.
   */
  insist?(): (() => void) | undefined;
  /** What the last write started in the background and left running; undefined if nothing. */
  started?(): StartedTask | undefined;
  /** Reads what a write of this provider started, once. */
  task?(started: StartedTask, signal: AbortSignal): Promise<OperationTask>;
  /**
   * Whether the BMC does not know this session any more, as after its restart; undefined if that cannot be told. Logs in nowhere.
   */
  isForgotten?(signal: AbortSignal): Promise<boolean | undefined>;
  /** Logs out and frees sockets within a few seconds, in any state. Never throws. */
  close(): Promise<void>;
}

/** How a write is repeated that a busy BMC has refused. */
export interface Patience {
  /** For how long, milliseconds; as long as the client is patient when absent. */
  readonly limitMs?: number;
  /** Looks before each repetition: true if the state is as asked, so that nothing is sent again. */
  readonly isDone?: () => Promise<boolean>;
}

/**
 * A session as an operation sees it: reads are repeated where that is harmless, writes hardly ever. `Drivers` are
 * those that the operation uses.
 */
export interface Access<Drivers> {
  readonly connection: Connection;
  readonly clock: Clock;
  readonly log: Logger;
  /** Calls `insist` of the session that accepted the change. */
  insist(): (() => void) | undefined;
  /** Whether a change was accepted, or may have been. From then on only one provider is used. */
  hasChanged(): boolean;
  /**
   * Reads. After an accepted change every answer but a refused login means "not yet": the read is repeated for a minute
   * before it fails.
   */
  read<T>(call: (session: SessionBase & Drivers) => Promise<T>): Promise<T>;
  /**
   * One look of a poll with a limit of its own. Returns the error of a BMC that may be restarting: silence, and after a first
   * answer or an accepted change everything but a refused login.
   */
  look<T>(call: (session: SessionBase & Drivers) => Promise<T>): Promise<T | BmcError>;
  /** Sends a write, and again while the BMC is busy. */
  write(call: (session: SessionBase & Drivers) => Promise<void>, patience?: Patience): Promise<void>;
  /** Sends a write as `write` does. Resolves to what it started in the background and left running; undefined if nothing. */
  start(
    call: (session: SessionBase & Drivers) => Promise<void>,
    patience?: Patience,
  ): Promise<StartedTask | undefined>;
  /** The machine has proved that the last write, which may have been carried out, was not: another provider may send it. */
  disprove(): void;
  /** One look, as `look`, at what `start` returned. */
  task(started: StartedTask): Promise<OperationTask | BmcError>;
  /** Sent as a write is, and changes nothing at the machine: a console session. */
  open(call: (session: SessionBase & Drivers) => Promise<void>): Promise<void>;
  sleep(ms: number): Promise<void>;
  /** Logs what a long operation does now, for at most `limitMs` from now. */
  progress(text: string, limitMs?: number): void;
  /**
   * A call on a new session, through this provider or else any. One attempt, in which silence counts as an answer,
   * as of a BMC that restarts.
   */
  afresh<T>(
    provider: SessionProvider | undefined,
    signal: AbortSignal,
    call: (session: SessionBase & Drivers) => Promise<T>,
  ): Promise<T>;
  /** Keeps the session in use open beside those that later calls open. Returns its `isForgotten`; undefined if none is open. */
  setAside(): SessionBase["isForgotten"];
  /**
   * Closes all sessions; the next call logs in with this password, or without one with the connection's own. It
   * uses the same provider: others may have other users.
   */
  logInWith(password: Secret | undefined): Promise<void>;
  /**
   * Closes all sessions; the next call goes to this host, or without one to the connection's own, through the same provider.
   * Credentials and TLS options stay.
   */
  useHost(host: string | undefined): Promise<void>;
  /**
   * Closes all sessions; the next call accepts exactly the certificate with this SHA-256, or without one what the connection
   * accepts, through the same provider.
   */
  trustOnly(fingerprint: string | undefined): Promise<void>;
}

/** Runs one operation with the first provider that offers it, after those before it in the queue. */
export type Run<Drivers> = <T>(
  signal: AbortSignal,
  operation: (access: Access<Drivers>) => Promise<T>,
) => Promise<T>;

/** What would be sent, and the state it would meet. */
export interface Plan<State> {
  /** The state as it was read, or assumed. */
  readonly before: State;
  /** One line for people per request; empty if nothing would be sent. */
  readonly steps: readonly string[];
}

/** All operations of one driver; the driver's name is its key in the table. */
export interface OperationSet<Drivers, Methods> {
  /** Its row in the table of providers. */
  readonly title: string;
  /** The methods of the client. Their doc comments become the library's documentation. */
  readonly methods: (run: Run<Drivers>) => Methods;
  /** Shows whether the operations would work; changes nothing. */
  readonly check: (access: Access<Drivers>, signal: AbortSignal) => Promise<Finding>;
}

export function defineOperations<Drivers, Methods>(
  set: OperationSet<Drivers, Methods>,
): OperationSet<Drivers, Methods> {
  return set;
}

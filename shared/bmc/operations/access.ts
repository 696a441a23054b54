import type { Clock } from "../../clock.ts";
import type { BmcError } from "../../contract/bmc-error.ts";
import type { Connection } from "../../contract/connection.ts";
import type { SessionProvider } from "../../contract/vocabulary.ts";
import type { Logger } from "../../logger.ts";
import type { Secret } from "../../secret.ts";
import type { Finding } from "./finding.ts";
import type { OperationTask, StartedTask } from "./task-port.ts";

/** The highest privilege of a session (IPMI 2.0 section 6.8). */
export type SessionPrivilege = "user" | "operator" | "administrator";

/** A change that was sent. */
export interface LastWrite {
  /** When it began, in milliseconds of the clock's monotonic time. */
  readonly atMs: number;
  /** Whether the BMC accepted it. If not, it was being sent, or its answer was lost. */
  readonly accepted: boolean;
}

/** What every session offers, whatever its BMC supports. */
export interface SessionBase {
  readonly provider: SessionProvider;
  /** The level that the session requests, if the protocol has such levels. */
  readonly privilege?: SessionPrivilege;
  /** Returns what the result must say about the machine that was chosen, for display. */
  readonly note?: () => string | undefined;
  /** Returns when the BMC's certificate expires, in milliseconds since the epoch; undefined without TLS. */
  certificateExpiresMs?(): number | undefined;
  /** Throws `verify` if another machine has replaced the one that was read. Absent if that cannot happen. */
  confirm?(signal: AbortSignal): Promise<void>;
  /** Returns the number of requests (or packets) so far that waited for an answer. */
  roundTrips(): number;
  /** Returns what was learned and is useful for the next call, as plain JSON. */
  hint(): unknown;
  /**
   * Called after a change was accepted but not kept: makes the next write also send what some BMCs silently require. Returns
   * a function that undoes this, or undefined if there is nothing to add.
   */
  insist?(): (() => void) | undefined;
  /** Returns what the last write started and left running in the background; undefined if nothing. */
  started?(): StartedTask | undefined;
  /** Reads once what a write of this provider started. */
  task?(started: StartedTask, signal: AbortSignal): Promise<OperationTask>;
  /**
   * Whether the BMC has forgotten this session, for example after a restart; undefined if that cannot be determined. Does
   * not log in.
   */
  isForgotten?(signal: AbortSignal): Promise<boolean | undefined>;
  /** Logs out and closes sockets within a few seconds, in any state. Never throws. */
  close(): Promise<void>;
}

/** How a write is repeated that a busy BMC has refused. */
export interface Patience {
  /** How long it is repeated, in milliseconds. Defaults to the client's own limit. */
  readonly limitMs?: number;
  /** Called before each repetition. If it resolves to true, the requested state is reached and nothing is sent again. */
  readonly isDone?: () => Promise<boolean>;
}

/**
 * A session as an operation uses it. Reads are repeated when that is harmless, writes almost never. `Drivers` are the
 * drivers that the operation uses.
 */
export interface Access<Drivers> {
  readonly connection: Connection;
  readonly clock: Clock;
  readonly log: Logger;
  /** Calls `insist` of the session that accepted the change. */
  insist(): (() => void) | undefined;
  /** Whether a change was accepted or may have been. After that only one provider is used. */
  hasChanged(): boolean;
  /**
   * Reads. After an accepted change every error except a refused login means "not yet": the read is repeated for a minute
   * before it fails.
   */
  read<T>(call: (session: SessionBase & Drivers) => Promise<T>): Promise<T>;
  /**
   * Polls once with its own time limit. Returns the error of a BMC that may be restarting: no answer, or, after a first
   * answer or an accepted change, every error except a refused login.
   */
  look<T>(call: (session: SessionBase & Drivers) => Promise<T>): Promise<T | BmcError>;
  /** Sends a write, and repeats it while the BMC is busy. */
  write(call: (session: SessionBase & Drivers) => Promise<void>, patience?: Patience): Promise<void>;
  /** Sends a write like `write`. Resolves to what it started and left running in the background, or to undefined if nothing. */
  start(
    call: (session: SessionBase & Drivers) => Promise<void>,
    patience?: Patience,
  ): Promise<StartedTask | undefined>;
  /** Records that the last write, which might have been carried out, was not, so that another provider may send it. */
  disprove(): void;
  /** Polls once, like `look`, the result of `start`. */
  task(started: StartedTask): Promise<OperationTask | BmcError>;
  /** Sends a request like a write, although it changes nothing on the machine: opening a console session. */
  open(call: (session: SessionBase & Drivers) => Promise<void>): Promise<void>;
  sleep(ms: number): Promise<void>;
  /** Logs what a long operation is doing, for at most `limitMs` from now. */
  progress(text: string, limitMs?: number): void;
  /**
   * Calls a new session, through this provider or any. Makes one attempt, in which no answer counts as an answer, because a
   * restarting BMC gives none.
   */
  afresh<T>(
    provider: SessionProvider | undefined,
    signal: AbortSignal,
    call: (session: SessionBase & Drivers) => Promise<T>,
  ): Promise<T>;
  /**
   * Keeps the current session open in addition to those that later calls open. Returns its `isForgotten`, or undefined if no
   * session is open.
   */
  setAside(): SessionBase["isForgotten"];
  /**
   * Closes all sessions. The next call logs in with this password or, without one, with the connection's own. It uses the
   * same provider, because others may have other users.
   */
  logInWith(password: Secret | undefined): Promise<void>;
  /**
   * Closes all sessions. The next call goes to this host or, without one, to the connection's own, through the same
   * provider. Credentials and TLS options do not change.
   */
  useHost(host: string | undefined): Promise<void>;
  /**
   * Closes all sessions. The next call, through the same provider, accepts only the certificate with this SHA-256 or,
   * without one, what the connection accepts.
   */
  trustOnly(fingerprint: string | undefined): Promise<void>;
}

/** Runs one operation with the first provider that supports it, after the operations before it in the queue. */
export type Run<Drivers> = <T>(
  signal: AbortSignal,
  operation: (access: Access<Drivers>) => Promise<T>,
) => Promise<T>;

/** What would be sent, and the state before it. */
export interface Plan<State> {
  /** The state that was read or assumed. */
  readonly before: State;
  /** One line per request for display; empty if nothing would be sent. */
  readonly steps: readonly string[];
}

/** All operations of one driver. The key in the table is the driver's name. */
export interface OperationSet<Drivers, Methods> {
  /** The title of its row in the table of providers. */
  readonly title: string;
  /** The methods of the client. Their doc comments become the library's documentation. */
  readonly methods: (run: Run<Drivers>) => Methods;
  /** Checks whether the operations would work, without changing anything. */
  readonly check: (access: Access<Drivers>, signal: AbortSignal) => Promise<Finding>;
}

export function defineOperations<Drivers, Methods>(
  set: OperationSet<Drivers, Methods>,
): OperationSet<Drivers, Methods> {
  return set;
}

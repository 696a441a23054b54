import type { Provider } from "../../../shared/bmc/operations/provider.ts";
import type { ActionConnection } from "../../../shared/contract/connection.ts";
import type { Progress } from "../../../shared/contract/progress.ts";
import type { Redactor } from "../../../shared/secret-forms.ts";
import { textOf } from "../../../shared/text-of.ts";
import type { Action, ActionId, ImageAction, LogLine, Outcome } from "../action/action.ts";

/** The part of an action's output that was dropped because it exceeded the budget. */
export interface DroppedOutput {
  readonly lines: number;
  readonly bytes: number;
}

export interface OutputOptions {
  /**
   * Called for each line within the action's budget, redacted. A line of spans (`isSpansLine`) is complete and does not
   * belong to the log.
   */
  readonly onLog: (line: LogLine) => void;
  readonly redactor?: Redactor | undefined;
  /** Called when the first line is dropped. The counts keep growing afterwards. */
  readonly onDropping?: ((dropped: DroppedOutput) => void) | undefined;
  /** Called with the runtime's own work for the action, such as pulling its image; undefined when that has ended. */
  readonly onProgress?: ((progress: Progress | undefined) => void) | undefined;
}

export function outputOptions({ onLog, redactor, onDropping, onProgress }: OutputOptions): OutputOptions {
  return { onLog, redactor, onDropping, onProgress };
}

/** When to pull an image: before every launch, only if it is missing, or never. */
export type PullPolicy = "always" | "if-missing" | "never";

/** The policy's settings for an action's container, which override the worker's. */
export interface LaunchTerms {
  readonly pull?: PullPolicy;
  readonly memoryBytes?: number;
  readonly cpus?: number;
  readonly pids?: number;
  /** Grants the container every right on the host. */
  readonly privileged?: boolean;
}

/** A connection without its secrets. A kubelet mounts them from Secrets that the worker need not be able to read. */
export interface MountedConnection {
  /** A connection file that has a `FileReference` in place of each secret. */
  readonly document: Readonly<Record<string, unknown>>;
  readonly files: readonly MountedFile[];
}

export interface MountedFile {
  /** The file's name, in the connection file's folder. */
  readonly file: string;
  readonly secret: string;
  readonly key: string;
}

/** A BareMetalHost of Metal3. Its methods reject with a `KubernetesError`, or the signal's reason. */
export interface HostAccess {
  /** Identifies the host in every process. */
  readonly key: string;
  /** The reboot annotations of this project's workers, as last seen, with their values. */
  readonly reboots: Readonly<Record<string, string>>;
  get(signal: AbortSignal): Promise<unknown>;
  /** Applies a merge patch. */
  patch(body: object, signal: AbortSignal): Promise<void>;
}

/** A request to run one action, which the policy allows. */
export interface LaunchRequest extends OutputOptions {
  readonly action: Action;
  /** The policy's settings; only for containers. */
  readonly terms?: LaunchTerms | undefined;
  /** Written only to the action's stdin or its own Secret. Absent if the action has its own connection. */
  readonly connection?: ActionConnection | undefined;
  /** Identifies the BMC across all of its names. */
  readonly lockKey?: string | undefined;
  /** Replaces `connection`, for a runtime with a `secretNamespace`. */
  readonly mounted?: MountedConnection | undefined;
  /** Replaces the machine's BMC; the runtime then gives the action a `provider`. */
  readonly host?: HostAccess | undefined;
  /** Replaces the connection's providers; only inside the worker. */
  readonly provider?: Provider | undefined;
  readonly timeoutMs: number;
  /** The worker's own variables for the action, for example for tracing. They contain no secrets. */
  readonly environment?: Readonly<Record<string, string>> | undefined;
  /**
   * Called with the handle for adoption, before the action can do anything if the runtime can delay it. If it rejects with
   * `NotLaunched`, a delayed action is removed.
   */
  readonly onLaunch?: ((handle: LaunchHandle) => Promise<void>) | undefined;
}

/** Nothing was launched. The server serves the action again, to any worker. */
export class NotLaunched extends Error {
  override readonly name: string = "NotLaunched";
}

/** The launch could not be recorded and therefore did not happen: a restarted worker would not know of it. */
export class LaunchNotRecorded extends NotLaunched {
  override readonly name = "LaunchNotRecorded";

  constructor(cause: unknown) {
    super(textOf(cause), { cause });
  }
}

/** The worker detached from a running action. Another worker adopts it, and this one reports nothing. */
export class Detached extends Error {
  override readonly name = "Detached";

  constructor() {
    super("the worker detached from the action, which keeps running");
  }
}

/** Identifies what a runtime launched, as JSON. */
export type LaunchHandle = Readonly<Record<string, string | number | null>>;

/** An action that an earlier worker launched or was about to launch. */
export interface ReturnedAction extends OutputOptions {
  readonly action: ImageAction;
  /** Absent if the earlier worker died before recording it. A `connected` action has then done nothing. */
  readonly handle?: LaunchHandle | undefined;
  /** The journal entry is damaged. The action may have been launched although there is no handle. */
  readonly damaged?: true;
  /** Whether the worker provides its connection. */
  readonly connected: boolean;
  readonly startedAt: Date;
  /** How far the wall clock was set forward since the start; negative if it was set back. */
  readonly clockSetMs: number;
  readonly timeoutMs: number;
}

/** What a runtime follows to its end: a launched or an adopted action. */
export interface FollowRequest extends OutputOptions {
  readonly action: ActionId;
  readonly timeoutMs: number;
  readonly connection?: ActionConnection | undefined;
  /** How far the wall clock was set forward since an adopted action started; absent for a launched one. */
  readonly clockSetMs?: number | undefined;
}

export type Adoption =
  /** The action was found and has now ended. */
  | { readonly kind: "ended"; readonly ended: EndedAction }
  /** The action certainly did nothing and is removed, so it may run again. */
  | { readonly kind: "not-launched" }
  /** The action was, or may have been, started, and its end is unknown. `reason` is one line. */
  | { readonly kind: "lost"; readonly reason: string; readonly idempotent: boolean };

/**
 * An ended action, which the runtime keeps until `remove` is called, after the final report is acknowledged: a worker
 * that restarts in between finds it.
 */
export interface EndedAction {
  readonly outcome: Outcome;
  remove(signal: AbortSignal): Promise<void>;
}

/** The container or Job of a run whose ID may be reused. */
export interface EarlierRun {
  readonly hasEnded: boolean;
  /** Time since the launch, by the wall clock. */
  readonly ageMs: number;
  /** The handle that was recorded at the launch. */
  readonly handle: LaunchHandle;
  /** Removes the run; resolves when it is gone. Call it only if the run has ended. */
  remove(signal: AbortSignal): Promise<void>;
}

/**
 * Whether a container or Job is still needed for its action. `settled`: not by this worker, because the end was reported.
 * `once-ended`: only after it has ended, as proof that the action began in case the state directory is lost before the
 * report. `until-overdue`: unknown, so it is removed long after its deadline.
 */
export type Need = boolean | "settled" | "once-ended" | "until-overdue";

export interface Runtime {
  readonly name: string;
  /** The namespace whose Secrets the runtime can mount, for a runtime in a cluster. */
  readonly secretNamespace?: string;
  /**
   * Runs an action to its end. A failure of the action or the engine is an outcome, not a rejection. When `signal` aborts,
   * the action is stopped (stop, grace period, kill) and the outcome has class `cancelled`. Rejects with `LaunchNotRecorded`
   * if nothing was launched because of it, with `NotLaunched` if nothing was launched before `detach`, and with `Detached`
   * afterwards.
   */
  run(request: LaunchRequest, signal: AbortSignal): Promise<EndedAction>;
  /** Continues with an action of an earlier worker. Rejects as `run` does. */
  adopt(left: ReturnedAction, signal: AbortSignal): Promise<Adoption>;
  /**
   * Finds what exists under an action's ID and may have acted, for a runtime that needs no state directory for this. Rejects
   * if it cannot ask.
   */
  earlierRun?(action: ActionId, signal: AbortSignal): Promise<EarlierRun | undefined>;
  /**
   * Removes orphans: launches of this worker's state directory, except running actions and those that `keep` needs (by
   * `actionKey`), and launches of other workers long after their deadline. With leader election, it keeps the Job of an
   * acknowledged action for a while, but not its Secret. Resolves to the number removed. Rejects if it cannot list them.
   */
  sweep(keep: (key: string) => Need, signal: AbortSignal): Promise<number>;
  /** Checks that actions can be launched. Resolves to a short description; rejects with one line. */
  check(signal: AbortSignal): Promise<string>;
  /**
   * For a runtime whose actions outlive the worker and can be adopted by any other. Every pending `run` and `adopt` rejects
   * with `Detached`, and signals no longer stop their actions.
   */
  detach?(): void;
  close(): Promise<void>;
}

import type { Provider } from "../../../shared/bmc/operations/provider.ts";
import type { ActionConnection } from "../../../shared/contract/connection.ts";
import type { Progress } from "../../../shared/contract/progress.ts";
import { defined } from "../../../shared/defined.ts";
import type { Redactor } from "../../../shared/secret-forms.ts";
import { textOf } from "../../../shared/text-of.ts";
import type { Action, ActionId, LogLine, Outcome } from "../action/action.ts";

/** What was left out of an action's output because it is over its budget. */
export interface DroppedOutput {
  readonly lines: number;
  readonly bytes: number;
}

export interface OutputOptions {
  /**
   * Called for each line, within the action's budget and redacted. A line of spans (`isSpansLine`) is complete, and
   * not part of the log.
   */
  readonly onLog: (line: LogLine) => void;
  readonly redactor?: Redactor;
  /** Called when the first line is dropped. The counts are updated further. */
  readonly onDropping?: (dropped: DroppedOutput) => void;
  /** Called with what the runtime itself does for the action, such as pulling its image; undefined when that has ended. */
  readonly onProgress?: (progress: Progress | undefined) => void;
}

export function outputOptions({ onLog, redactor, onDropping, onProgress }: OutputOptions): OutputOptions {
  return { onLog, ...defined({ redactor, onDropping, onProgress }) };
}

/** When to ask the registry for an image: before every launch, if it is missing, or never. */
export type PullPolicy = "always" | "if-missing" | "never";

/** The policy's settings for an action's container, which override the worker's. */
export interface LaunchTerms {
  readonly pull?: PullPolicy;
  readonly memoryBytes?: number;
  readonly cpus?: number;
  readonly pids?: number;
  /** With every right on the host. */
  readonly privileged?: boolean;
}

/** A connection without its secrets, which a kubelet mounts from Secrets that the worker need not be able to read. */
export interface MountedConnection {
  /** A connection file, with a `FileReference` in place of each secret. */
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
  /** Identifies the host, alike in every process. */
  readonly key: string;
  /** Reboot annotations of this project's workers as last seen, with their values. */
  readonly reboots: Readonly<Record<string, string>>;
  get(signal: AbortSignal): Promise<unknown>;
  /** Applies a merge patch. */
  patch(body: object, signal: AbortSignal): Promise<void>;
}

/** A request to run one action, which the policy allows. */
export interface LaunchRequest extends OutputOptions {
  readonly action: Action;
  /** Only for containers. */
  readonly terms?: LaunchTerms;
  /** Written to the action's stdin or its own Secret, and nowhere else; absent if the action brings its own. */
  readonly connection?: ActionConnection;
  /** The BMC that it uses, whatever name that has. */
  readonly lockKey?: string;
  /** Replaces `connection`, for a runtime with a `secretNamespace`. */
  readonly mounted?: MountedConnection;
  /** In place of the machine's BMC; the runtime then gives the action a `provider`. */
  readonly host?: HostAccess;
  /** Carries out the operations in place of the connection's providers: only inside the worker. */
  readonly provider?: Provider;
  readonly timeoutMs: number;
  /** The worker's own variables for the action, such as for tracing. No secrets. */
  readonly environment?: Readonly<Record<string, string>>;
  /**
   * Called with the handle for adoption, before the action can do anything if the runtime can hold it back. If this
   * rejects, with `NotLaunched`, an action that is held back is removed.
   */
  readonly onLaunch?: (handle: LaunchHandle) => Promise<void>;
}

/** Nothing was launched: the server will serve the action again, to any worker. */
export class NotLaunched extends Error {
  override readonly name: string = "NotLaunched";
}

/** An unrecorded launch must not happen, because a restarted worker would not know of it. */
export class LaunchNotRecorded extends NotLaunched {
  override readonly name = "LaunchNotRecorded";

  constructor(cause: unknown) {
    super(textOf(cause), { cause });
  }
}

/** The worker detached from a running action. Another worker adopts it; this one reports nothing. */
export class Detached extends Error {
  override readonly name = "Detached";

  constructor() {
    super("the worker detached from the action, which keeps running");
  }
}

/** Identifies what a runtime launched, as JSON. */
export type LaunchHandle = Readonly<Record<string, string | number | null>>;

/** An action that an earlier worker launched, or was about to. */
export interface ReturnedAction extends OutputOptions {
  readonly action: ActionId & Pick<Action, "image">;
  /** Absent if that worker died before recording it: a `connected` action has then done nothing. */
  readonly handle?: LaunchHandle;
  /** Its journal entry is damaged: it may have been launched, although there is no handle. */
  readonly damaged?: true;
  /** Whether the worker provides its connection. */
  readonly connected: boolean;
  readonly startedAt: Date;
  /** How far the wall clock was set forward since then; negative if it was set back. */
  readonly clockSetMs: number;
  readonly timeoutMs: number;
}

/** What a runtime follows to its end: a launched or an adopted action. */
export type FollowRequest = OutputOptions &
  Pick<LaunchRequest, "timeoutMs" | "connection"> &
  Partial<Pick<ReturnedAction, "clockSetMs">> & { readonly action: ActionId };

export type Adoption =
  /** It was found and has now ended. */
  | { readonly kind: "ended"; readonly ended: EndedAction }
  /** It certainly did nothing and is removed, so that it may be run. */
  | { readonly kind: "not-launched" }
  /** It was or may have been started, and its end is unknown. `reason` is one line. */
  | { readonly kind: "lost"; readonly reason: string; readonly idempotent: boolean };

/**
 * An ended action, which the runtime keeps until `remove` is called, after the final report is acknowledged: a worker
 * that restarts in between finds it.
 */
export interface EndedAction {
  readonly outcome: Outcome;
  remove(signal: AbortSignal): Promise<void>;
}

/** What a run left under an ID that may return. */
export interface EarlierRun {
  readonly hasEnded: boolean;
  /** Since it was launched, by the wall clock. */
  readonly ageMs: number;
  /** The handle that was recorded at the launch. */
  readonly handle: LaunchHandle;
  /** Call only if it has ended. Resolves when it is gone. */
  remove(signal: AbortSignal): Promise<void>;
}

/**
 * Whether what was launched for an action is needed. `settled`: no longer by this worker, because its end was reported. `once-ended`: what
 * still runs is not, and what has ended shows that the action began, should the state directory be lost before the report. `until-overdue`:
 * unknown, so that it is removed long after its deadline.
 */
export type Need = boolean | "settled" | "once-ended" | "until-overdue";

export interface Runtime {
  readonly name: string;
  /** The namespace whose Secrets it can mount, for a runtime in a cluster. */
  readonly secretNamespace?: string;
  /**
   * Runs an action to its end. A failure of the action or the engine is an outcome and not a rejection. Rejects with
   * `LaunchNotRecorded` if nothing was launched because of that.
   * When `signal` aborts, the action is stopped (stop, grace, kill) and the outcome is class `cancelled`. Rejects with
   * `Detached` after `detach`, or with `NotLaunched` if it was not launched before.
   */
  run(request: LaunchRequest, signal: AbortSignal): Promise<EndedAction>;
  /** Continues with an action of an earlier worker. Rejects as `run` does. */
  adopt(left: ReturnedAction, signal: AbortSignal): Promise<Adoption>;
  /**
   * For a runtime that finds what it launched without the state directory: what exists under an action's ID and may have acted. Rejects
   * if it cannot ask.
   */
  earlierRun?(action: ActionId, signal: AbortSignal): Promise<EarlierRun | undefined>;
  /**
   * Removes orphans: what this worker's state directory launched, except running actions and those that `keep` needs
   * (by `actionKey`), and what other workers launched, long after its deadline. With leader election, keeps an acknowledged action's
   * Job for a while, but not its Secret. Resolves to the number removed; rejects if it cannot list them.
   */
  sweep(keep: (key: string) => Need, signal: AbortSignal): Promise<number>;
  /** Checks that actions can be launched. Resolves to a short description; rejects with one line. */
  check(signal: AbortSignal): Promise<string>;
  /**
   * For a runtime whose actions outlive the worker and can be adopted by any other: every pending `run` and `adopt` rejects
   * with `Detached`, and signals no longer stop their actions.
   */
  detach?(): void;
  close(): Promise<void>;
}

import type { Connection } from "../../shared/contract/connection.ts";
import type { Redactor } from "../../shared/secret-forms.ts";
import { textOf } from "../../shared/text-of.ts";
import type { Action, ActionId, LogLine, Outcome } from "../action/action.ts";
import type { MountedConnection } from "../machines/inventory.ts";
import type { Need } from "./leftover.ts";
import type { DroppedOutput } from "./output-budget.ts";

/** Where what an action prints goes. */
export interface OutputTerms {
  /**
   * Called for each line as it comes, within the action's budget and without its secrets; a line of spans (`isSpansLine`) comes
   * whole, and is none of the log.
   */
  readonly onLog: (line: LogLine) => void;
  /** Takes the action's secrets out; absent where it has none. */
  readonly redactor?: Redactor;
  /** Called when lines are dropped for the first time; the counts go on. */
  readonly onDropping?: (dropped: DroppedOutput) => void;
}

export function outputTerms({ onLog, redactor, onDropping }: OutputTerms): OutputTerms {
  return { onLog, ...(redactor && { redactor }), ...(onDropping && { onDropping }) };
}

/** What the policy says of how an action's container runs, before what the settings say. */
export interface LaunchTerms {
  /** When to ask the registry for the image. */
  readonly pull?: "always" | "if-missing" | "never";
  readonly memoryBytes?: number;
  readonly cpus?: number;
  readonly pids?: number;
  /** With every right on the host. */
  readonly privileged?: boolean;
}

/** Everything a runtime needs to run one action. The policy has already agreed to it. */
export interface LaunchRequest extends OutputTerms {
  readonly action: Action;
  /** Only containers can be held to them. */
  readonly terms?: LaunchTerms;
  /** Written to the action's stdin, or a Secret of its own, and nowhere else; absent when the action brings its own. */
  readonly connection?: Connection;
  /** In its place, for a runtime with a `secretNamespace`. */
  readonly mounted?: MountedConnection;
  /** The action's time, already with the default applied. */
  readonly timeoutMs: number;
  /** The worker's own variables for the action, such as those that join its trace. No secrets. */
  readonly environment?: Readonly<Record<string, string>>;
  /**
   * Called with what a worker that comes back finds it by, before the action can do anything, where the runtime can hold
   * it back until then. Rejects with `LaunchNotRecorded`: what is held back is then taken away again.
   */
  readonly onLaunch?: (handle: LaunchHandle) => Promise<void>;
}

/** A launch that is not on record must not happen: nobody would know of it after a crash. */
export class LaunchNotRecorded extends Error {
  override readonly name = "LaunchNotRecorded";

  constructor(cause: unknown) {
    super(textOf(cause), { cause });
  }
}

/** Nothing was launched and nothing is left: the server serves the action again, to whomever. */
export class NotLaunched extends Error {
  override readonly name = "NotLaunched";
}

/**
 * The worker let go of an action, which runs on: its end is for the worker that takes it over to see, and nothing is to be
 * reported by this one.
 */
export class Detached extends Error {
  override readonly name = "Detached";

  constructor() {
    super("the worker detached from the action, which keeps running");
  }
}

/** A runtime's own words for what it launched, as JSON. */
export type LaunchHandle = Readonly<Record<string, string | number | null>>;

/** An action that an earlier worker launched, or was about to. */
export interface ReturnedAction extends OutputTerms {
  readonly action: ActionId & Pick<Action, "image">;
  /** Absent when that worker died before it could write it down: one that is `connected` has then done nothing. */
  readonly handle?: LaunchHandle;
  /** Its entry in the journal is damaged: it may have been launched, although there is no handle. */
  readonly damaged?: true;
  /** It got, or was to get, its connection from the worker. */
  readonly connected: boolean;
  readonly startedAt: Date;
  /** How far the wall clock was set forward since then, or, below 0, back. */
  readonly clockSetMs: number;
  readonly timeoutMs: number;
}

/** What became of it. */
export type Adoption =
  /** It was found, running or ended, and has ended now. */
  | { readonly kind: "ended"; readonly ended: EndedAction }
  /** It certainly did nothing, and nothing is left of it, so that it may be run. */
  | { readonly kind: "not-launched" }
  /** It was or may have been started, and nothing tells how it ended; `reason` is one line. */
  | { readonly kind: "lost"; readonly reason: string; readonly idempotent: boolean };

/**
 * An action that has ended, still known to the runtime until `remove` is called: that is done once the final
 * report is acknowledged, so that a worker that restarts in between finds it.
 */
export interface EndedAction {
  readonly outcome: Outcome;
  /** Takes away what is left of it. Throws when that failed; may be called again. */
  remove(signal: AbortSignal): Promise<void>;
}

/** What launches actions. */
export interface Runtime {
  readonly name: string;
  /** The namespace whose Secrets it can have mounted, where it is one of a cluster. */
  readonly secretNamespace?: string;
  /**
   * Runs an action to its end. Never rejects for what the action or the engine did: that is an outcome. Rejects with
   * `LaunchNotRecorded` when nothing was launched because of that.
   * When `signal` aborts, the action is stopped (stop, grace, kill) and the outcome is class `cancelled`. Rejects with `Detached`
   * after `detach`, or with `NotLaunched` where it had not come that far.
   */
  run(request: LaunchRequest, signal: AbortSignal): Promise<EndedAction>;
  /** Takes over what an earlier worker left, under the terms of `run`. */
  adopt(left: ReturnedAction, signal: AbortSignal): Promise<Adoption>;
  /**
   * Removes what no worker will come back for: what this worker's state directory launched, except for what runs now and
   * the actions that `keep` says are needed (by `actionKey`), and other workers' long after their time. Resolves to how
   * many; rejects when it cannot look.
   */
  sweep(keep: (key: string) => Need, signal: AbortSignal): Promise<number>;
  /** Whether actions could be launched now: resolves to what it found, in a few words; rejects with one line. */
  check(signal: AbortSignal): Promise<string>;
  /**
   * There where what runs outlives the worker and any other one can take it over: every `run` and `adopt` under way rejects
   * with `Detached`, and no signal stops its action any more.
   */
  detach?(): void;
  close(): Promise<void>;
}

import type { Clock } from "../../../shared/clock.ts";
import type { Connection } from "../../../shared/contract/connection.ts";
import type { ErrorClass } from "../../../shared/contract/error-class.ts";
import type { Logger } from "../../../shared/logger.ts";
import type { Redactor } from "../../../shared/secret-forms.ts";
import type { AuthGate } from "../../machines/auth-gate.ts";
import type { ConnectionReading, HostAccess, MountedConnection } from "../../machines/inventory.ts";
import type { SecretCommands } from "../../machines/secret-commands.ts";
import type { Action, ActionId } from "../action/action.ts";
import type { Observer, SeenAction } from "../action/observer.ts";
import type { ActionJournal } from "../journal/journal.ts";
import type { LaunchTerms, Runtime } from "../runtime/runtime.ts";
import type { StatusSink } from "../source/source.ts";
import type { ActionSlots, Locks } from "../turns/turns.ts";

export interface StopSignals {
  /** Start nothing new: an action that still waits for its machine is left to the server. */
  readonly stop: AbortSignal;
  /** Stop what runs. */
  readonly cancel: AbortSignal;
}

/** Whether an action may run, or the rule that denies it. */
type Permission = { readonly allowed: true } | { readonly allowed: false; readonly reason: string };

/** Which machine an action is for, if it may use it. */
export type Target =
  | {
      readonly ok: true;
      /** The machine's name; absent if the action brings its own connection or needs none. */
      readonly machine?: string;
      /** The BMC, whatever name it has; absent if there is none. */
      readonly lockKey?: string;
      /** Why nothing may be sent to the machine now, in one line. */
      readonly paused?: string;
      readonly terms?: LaunchTerms;
      /** Reads the credentials, anew at every launch. Rejects with a reason of one line, or the signal's. */
      connect?(reading: ConnectionReading): Promise<Connection>;
      /** Replaces `connect` if the action can get the secrets without the worker. */
      mounted?(namespace: string): MountedConnection | undefined;
      /** A BareMetalHost in place of the machine's BMC: what `connect` gives then has no login. */
      host?(): HostAccess | undefined;
    }
  | {
      readonly ok: false;
      readonly reason: string;
      /** Default: `usage`. */
      readonly class?: ErrorClass;
    };

export type AllowedTarget = Target & { readonly ok: true };
export type RefusedTarget = Target & { readonly ok: false };

/** Variables that join an action to its trace. */
type TraceEnvironment = (action: SeenAction) => Readonly<Record<string, string>>;

export interface ExecutorOptions {
  /** Whether an action may run, without regard to its machine. */
  readonly permit: (action: Action) => Permission;
  readonly locate: (action: Action) => Target;
  /** What becomes of an action whose machine is out of service. */
  readonly pausedMachines: () => "fail" | "wait";
  readonly runtime: Runtime;
  readonly sink: StatusSink;
  /** Between two attempts of a report. */
  readonly maxBackoffMs: number;
  readonly journal: ActionJournal;
  readonly locks: Locks;
  readonly slots: ActionSlots;
  readonly authGate: AuthGate;
  readonly secretCommands: SecretCommands;
  /** Redacts a machine's secrets. Rejects when they cannot be read, and with the signal's reason. */
  readonly redactorOf: (machine: string, signal: AbortSignal) => Promise<Redactor>;
  /** Whether this worker leads, if only one of several may start anything. Asked right before each start. */
  readonly isLeading: () => boolean;
  /** Whether other workers may have ended an action that is in this worker's journal. */
  readonly isShared?: (action: ActionId) => boolean;
  /** A signal that aborts when the source no longer wants the action. */
  readonly cancelOf?: (action: ActionId) => AbortSignal | undefined;
  /** Whether something else sees now when the action's workflow is deleted. */
  readonly seesDeletion?: (action: ActionId) => boolean;
  readonly traceEnvironment: TraceEnvironment;
  readonly defaultTimeoutMs: number;
  readonly clock: Clock;
  readonly log: Logger;
  readonly observer: Observer;
}

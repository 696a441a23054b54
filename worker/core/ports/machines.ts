import type { ActionConnection } from "../../../shared/contract/connection.ts";
import type { ErrorClass } from "../../../shared/contract/error-class.ts";
import type { Redactor } from "../../../shared/secret-forms.ts";
import type { Action, ActionSecrets, Outcome } from "../action/action.ts";
import type { StartLimit } from "../queue/start-limits.ts";
import type { HostAccess, LaunchTerms, MountedConnection } from "./runtime.ts";

/** Where an action runs, and how it reaches its machine. */
export interface Target {
  readonly ok: true;
  /** The machine's name; absent if the action has its own connection or needs none. */
  readonly machine?: string | undefined;
  /** Identifies the BMC across all of its names; absent if there is none. */
  readonly lockKey?: string | undefined;
  /** One line that says why nothing may be sent to the machine now. */
  readonly paused?: string | undefined;
  /** Whether the machine is paused now. Cheaper than `locate`. */
  isPaused?(): boolean;
  readonly terms?: LaunchTerms | undefined;
  /** Whether the worker gives the action its connection. */
  readonly connected: boolean;
  /** Returns a BareMetalHost that replaces the machine's BMC. The connection then has no login. */
  host?(): HostAccess | undefined;
  /**
   * Reads the credentials, again at every launch and within the action's timeout. Rejects with a `BmcError`, of class `auth`
   * if the BMC has refused the credentials before.
   */
  readAccess(reading: AccessReading, cancel: AbortSignal): Promise<LaunchAccess>;
}

/** The reason why an action may not run, in one line. */
export interface Refused {
  readonly ok: false;
  readonly reason: string;
  /** `usage` if absent. */
  readonly class?: ErrorClass | undefined;
}

export interface AccessReading {
  readonly timeoutMs: number;
  readonly secretInputs?: ActionSecrets["inputs"] | undefined;
  /** Set for an action that began before its machine was taken out of service. */
  readonly whilePaused?: true | undefined;
}

/** The credentials for a launch. */
export interface LaunchAccess {
  /** Absent if the action has its own connection, or if it is mounted. */
  readonly connection?: ActionConnection | undefined;
  readonly mounted?: MountedConnection | undefined;
  /** Redacts the secrets of the connection. */
  readonly redact: Redactor;
  /** Learns about the credentials and the BMC from the outcome of the launch. */
  readonly learn: (outcome: Outcome) => void;
}

/** What the core asks about machines. Policy, inventory and credentials decide. */
export interface Machines {
  /** Decides whether and where an action may run. */
  locate(action: Action): Target | Refused;
  /** The limits that actions with this image share at the machine with others. */
  limitsOf(machine: string | undefined, image: string): readonly StartLimit[];
  /** Whether an action fails or waits while its machine is out of service. */
  whilePaused(): "fail" | "wait";
  /**
   * Returns a function that redacts a machine's secrets. Rejects if the secrets cannot be read, and with the signal's
   * reason.
   */
  redactorOf(machine: string, signal: AbortSignal): Promise<Redactor>;
  /** Stores the hint of an adopted action about its machine. */
  learnHint(machine: string | undefined, hint: unknown): void;
}

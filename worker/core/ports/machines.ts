import type { ActionConnection } from "../../../shared/contract/connection.ts";
import type { ErrorClass } from "../../../shared/contract/error-class.ts";
import type { Redactor } from "../../../shared/secret-forms.ts";
import type { Action, ActionSecrets, Outcome } from "../action/action.ts";
import type { HostAccess, LaunchTerms, MountedConnection } from "./runtime.ts";

/** Where an action acts, and how it gets there. */
export interface Place {
  readonly ok: true;
  /** The machine's name; absent if the action brings its own connection or needs none. */
  readonly machine?: string;
  /** The BMC, whatever name it has; absent if there is none. */
  readonly lockKey?: string;
  /** Why nothing may be sent to the machine now, in one line. */
  readonly paused?: string;
  readonly terms?: LaunchTerms;
  /** Whether the worker gives the action its connection. */
  readonly connected: boolean;
  /** A BareMetalHost in place of the machine's BMC: the connection then has no login. */
  host?(): HostAccess | undefined;
  /**
   * Reads the credentials, anew at every launch, within the action's time. Rejects with a `BmcError`, of class `auth` if the BMC has
   * refused them before.
   */
  readAccess(reading: AccessReading, cancel: AbortSignal): Promise<LaunchAccess>;
}

/** Why an action may not run, in one line. */
export interface Refused {
  readonly ok: false;
  readonly reason: string;
  /** Default: `usage`. */
  readonly class?: ErrorClass;
}

export interface AccessReading {
  readonly timeoutMs: number;
  readonly secretInputs?: ActionSecrets["inputs"];
  /** For an action that began before its machine was taken out of service. */
  readonly whilePaused?: true;
}

/** What a launch gets of the machine's credentials. */
export interface LaunchAccess {
  /** Absent if the action brings its own, or gets it mounted. */
  readonly connection?: ActionConnection;
  readonly mounted?: MountedConnection;
  /** Redacts the secrets of the connection. */
  readonly redact: Redactor;
  /** Remembers what the end of the launch says of the credentials and the BMC. */
  readonly learn: (outcome: Outcome) => void;
}

/** What the core asks about machines: policy, inventory and credentials decide. */
export interface Machines {
  /** Whether an action may run, and where. */
  locate(action: Action): Place | Refused;
  /** What becomes of an action whose machine is out of service. */
  whilePaused(): "fail" | "wait";
  /** Redacts a machine's secrets. Rejects when they cannot be read, and with the signal's reason. */
  redactorOf(machine: string, signal: AbortSignal): Promise<Redactor>;
  /** Remembers what an adopted action found out about its machine. */
  learnHint(machine: string | undefined, hint: unknown): void;
}

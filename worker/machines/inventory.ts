import type { Connection } from "../../shared/contract/connection.ts";
import type { DesiredState } from "../../shared/contract/desired-state.ts";
import type { DirectAccess } from "../core/action/action.ts";
import type { BmcAddress, MachineOrigin, Pause } from "../core/action/machine-facts.ts";
import type { HostAccess, MountedConnection } from "../core/ports/runtime.ts";
import type { Labels } from "../document/labels.ts";
import type { SecretCommands } from "./secret-commands.ts";
import type { LimitRule } from "./start-limits-of.ts";

/** Prefix of the name of a HostClaim of Metal3, which represents its host. */
export const CLAIM_PREFIX = "claim/";

export interface Machine {
  readonly name: string;
  /** Identifies the BMC: equal for all entries and actions that use it. */
  readonly lockKey: string;
  /** Set if the machine is out of service, so that nothing is sent to its BMC. */
  readonly paused?: Pause | undefined;
  readonly labels?: Labels | undefined;
}

export interface Inventory {
  machines(): readonly Machine[];
  /** Finds a machine; `namespace` is the workflow's, if machines belong to namespaces. */
  find(name: string, namespace?: string): Machine | undefined;
  /**
   * Reads the machine's connection, with its current secrets, which may be rotated while the worker runs. Throws a
   * `BmcError` of class `usage` whose one line names the wrong file, variable, command or Secret, and never its
   * content; of class `internal` or `timeout` if a cluster does not respond; `MachinePaused`; or the signal's reason.
   */
  resolveConnection(machine: Machine, reading: ConnectionReading): Promise<Connection>;
  /**
   * Why the machine's Secrets cannot be read yet, such as a Secret that is created after its Machine; undefined if they can.
   * Rejects with the signal's reason.
   */
  missingSecret?(machine: Machine, signal: AbortSignal): Promise<string | undefined>;
  /**
   * The machine's connection with references to Secrets, for an action whose pod runs in `namespace`. Undefined unless
   * all secrets are in Secrets of that namespace.
   */
  mountedConnection?(machine: Machine, namespace: string): MountedConnection | undefined;
  /** A BMC by its address, which need not be in the inventory. Absent without an inventory file. */
  directMachine?(host: string): DirectMachine;
  /**
   * The BareMetalHost that replaces the machine's BMC for an action with this image; undefined if the BMC is used. The
   * `resolveConnection` of the same launch has checked that it may be used.
   */
  hostAccess?(machine: Machine, image: string): HostAccess | undefined;
  /** All BareMetalHosts that the worker may change; undefined until they are listed. */
  hosts?(): readonly HostAccess[] | undefined;
  /** The BMC's address for people; `name` is one of `machines`. */
  bmcAddress?(name: string): BmcAddress | undefined;
  /** How many actions run, or begin, at the machines that share a label. */
  limits?(): readonly LimitRule[];
  /** Why a machine with these labels is out of service, wherever its entry comes from. */
  pauseByLabels?(labels: Labels | undefined): Pause | undefined;
  /** The machine's desired state in the inventory. */
  desiredState?(name: string): DesiredState | undefined;
  /** The origin of the machine's entry. Absent means an inventory file. */
  origin?(name: string): MachineOrigin | undefined;
}

/** A BMC that need not be in the inventory. */
export interface DirectMachine {
  readonly lockKey: string;
  connect(credentials: Omit<DirectAccess, "host">, reading: ConnectionReading): Promise<Connection>;
}

export interface ConnectionReading {
  /** The image of the action that needs the connection. */
  readonly image?: string | undefined;
  readonly commands: SecretCommands;
  /**
   * Reads the connection even if the machine is out of service. For secrets that are not sent to the BMC, and for an action
   * that has already begun.
   */
  readonly whilePaused?: true | undefined;
  readonly signal: AbortSignal;
}

export const emptyInventory: Inventory = {
  machines: () => [],
  find: () => undefined,
  resolveConnection: (machine) => Promise.reject(new Error(`there is no machine ${machine.name}`)),
};

import { BmcError } from "../../shared/contract/bmc-error.ts";
import type { Connection } from "../../shared/contract/connection.ts";
import { connectionGiven, givenValue, valueSources } from "../../shared/contract/given.ts";
import { suggestion } from "../../shared/nearest-name.ts";
import { type Action, type DirectAccess, namespaceOf } from "../core/action/action.ts";
import type { HostAccess, MountedConnection } from "../core/ports/runtime.ts";
import type { LabelledMachine } from "../document/labels.ts";
import { machineNameOf } from "./agent-id.ts";
import { directMachine } from "./direct-machine.ts";
import { CLAIM_PREFIX, type ConnectionReading, type Inventory, type Machine } from "./inventory.ts";
import { lockKeyOf, mayBeSameBmc, serviceLockKey } from "./lock-key.ts";
import { pausedText } from "./pause.ts";

export type ResolvedMachine =
  | {
      readonly ok: true;
      readonly machine: string;
      readonly lockKey: string;
      /** One line that says why the machine is out of service. */
      readonly paused?: string | undefined;
      /** Whether that is still so. */
      isPaused?(): boolean;
      connect(reading: ConnectionReading): Promise<Connection>;
      mounted(namespace: string): MountedConnection | undefined;
      /** Replaces the machine's BMC. */
      host(): HostAccess | undefined;
    }
  /** The action has its own connection; with `connect`, in its secrets. */
  | {
      readonly ok: true;
      readonly lockKey: string;
      /** Set if a machine of the inventory with the same BMC is out of service. */
      readonly paused?: string | undefined;
      isPaused?(): boolean;
      connect?(reading: ConnectionReading): Promise<Connection>;
    }
  /** There is no machine; the action itself reports what is missing. */
  | { readonly ok: true }
  | { readonly ok: false; readonly reason: string };

type Asking = Pick<Action, "agentId" | "command" | "environment" | "secrets"> &
  Partial<Pick<Action, "anyNamespace" | "workflowId" | "image">>;

/** Decides whether the action may use a machine, which need not exist. */
export type MachinePermit = (
  machine: LabelledMachine,
) => { readonly allowed: true } | { readonly allowed: false; readonly reason: string };

const everyMachine: MachinePermit = () => ({ allowed: true });

/**
 * Finds an action's machine by `MACHINE`, then the agent ID, then `BMC_HOST`. Contradictions are rejected: a power
 * command for the wrong machine is worse than none. `permit` is asked first, so that a refusal does not reveal whether
 * a machine exists.
 */
export function resolveMachine(
  action: Asking,
  inventory: Inventory,
  agentIdPattern: string,
  permit: MachinePermit = everyMachine,
): ResolvedMachine {
  if (given(action, CONNECTION_FILE) !== undefined) {
    return refused(`${CONNECTION_FILE} is set by the worker: name a machine with MACHINE`);
  }
  const { bmc } = action.secrets ?? {};
  if (bmc) return unlessPaused(fromRequest(bmc, inventory), inventory);
  const namespace = action.anyNamespace ? undefined : namespaceOf(action);
  const find = (name: string | undefined) =>
    name === undefined ? undefined : inventory.find(name, namespace);
  const asked = given(action, "MACHINE");
  const lane = find(machineNameOf(agentIdPattern, action.agentId));
  if (asked?.startsWith(CLAIM_PREFIX) && namespaceOf(action) === undefined) {
    return refused(
      `MACHINE is ${asked}: the tink server does not tell the workflow's namespace, which a claim needs`,
    );
  }
  const machine = asked === undefined ? lane : find(asked);
  for (const one of [machine ?? (asked === undefined ? undefined : { name: asked }), lane]) {
    const permission = one && permit(one);
    if (permission?.allowed === false) return refused(permission.reason);
  }
  if (asked !== undefined && lane && machine?.name !== lane.name) {
    return refused(`MACHINE is ${asked}, but the agent ID ${action.agentId} belongs to machine ${lane.name}`);
  }
  if (asked !== undefined && !machine) {
    const names = inventory
      .machines()
      .flatMap((known) => (find(known.name) && permit(known).allowed ? [known.name] : []));
    return refused(`MACHINE is ${asked}, which the inventory does not have${suggestion(asked, names)}`);
  }
  return machine ? fromInventory(machine, action, inventory) : unlessPaused(fromAction(action), inventory);
}

/** Adds the pause of the inventory's machine with the same BMC, even if the action names only the BMC. */
function unlessPaused(located: ResolvedMachine, inventory: Inventory): ResolvedMachine {
  if (!("lockKey" in located)) return located;
  const find = () =>
    inventory.machines().find(({ lockKey, paused }) => paused && mayBeSameBmc(lockKey, located.lockKey));
  return { ...located, ...pausedIn(find(), find) };
}

function pausedIn(machine: Machine | undefined, now: () => Machine | undefined) {
  if (!machine?.paused) return {};
  return { paused: pausedText(machine.name, machine.paused), isPaused: () => now()?.paused !== undefined };
}

function fromInventory(machine: Machine, action: Asking, inventory: Inventory): ResolvedMachine {
  const own = connectionGiven(action);
  if (own.length > 0) {
    return refused(
      `the action is for machine ${machine.name} and brings ${own.join(", ")}: the inventory has the connection`,
    );
  }
  return {
    ok: true,
    machine: machine.name,
    lockKey: machine.lockKey,
    ...pausedIn(machine, () => inventory.find(machine.name)),
    connect: (reading) =>
      inventory.resolveConnection(machine, { ...reading, image: action.image ?? reading.image }),
    mounted: (namespace) => inventory.mountedConnection?.(machine, namespace),
    host: () => inventory.hostAccess?.(machine, action.image ?? ""),
  };
}

function fromRequest({ host, ...credentials }: DirectAccess, inventory: Inventory): ResolvedMachine {
  try {
    const { lockKey, connect } = inventory.directMachine?.(host) ?? directMachine(host);
    return { ok: true, lockKey, connect: (reading) => connect(credentials, reading) };
  } catch (thrown) {
    return refused(BmcError.from(thrown).message);
  }
}

function fromAction(action: Asking): ResolvedMachine {
  const ironic = given(action, "IRONIC_URL");
  if (ironic !== undefined) {
    return { ok: true, lockKey: serviceLockKey("ironic", ironic, given(action, "IRONIC_NODE") ?? "") };
  }
  const host = given(action, "BMC_HOST");
  if (host === undefined) return { ok: true };
  const port = (name: string) => Number(given(action, name)) || undefined;
  const rpc = given(action, "RPC_URL");
  if (rpc !== undefined) return { ok: true, lockKey: serviceLockKey("rpc", rpc, host) };
  const homeassistant = given(action, "HOMEASSISTANT_URL");
  if (homeassistant !== undefined) {
    const entity = given(action, "HOMEASSISTANT_ENTITY") ?? "";
    return { ok: true, lockKey: serviceLockKey("homeassistant", homeassistant, entity) };
  }
  // The port of an unused provider says nothing about the BMC.
  const providers = given(action, "BMC_PROVIDERS")
    ?.split(",")
    .map((name) => name.trim());
  const portOf = (...names: readonly ("redfish" | "ipmi" | "ipmitool" | "amt")[]) =>
    names
      .filter((name) => providers?.includes(name) ?? true)
      .map((name) => port(`${name.toUpperCase()}_PORT`))
      .find((one) => one !== undefined);
  const ports = { redfish: portOf("redfish"), ipmi: portOf("ipmi", "ipmitool"), amt: portOf("amt") };
  return { ok: true, lockKey: lockKeyOf(host, ports) };
}

const CONNECTION_FILE = "BMC_CONNECTION_FILE";

function given(action: Asking, name: string): string | undefined {
  return givenValue(name, valueSources(action))?.text.trim() || undefined;
}

function refused(reason: string): ResolvedMachine {
  return { ok: false, reason };
}

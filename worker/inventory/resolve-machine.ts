import type { Connection } from "../../shared/contract/connection.ts";
import { suggestion } from "../../shared/nearest-name.ts";
import type { Action } from "../action.ts";
import { machineNameOf } from "./agent-id.ts";
import type { Inventory, Machine } from "./inventory.ts";
import { lockKeyOf, serviceLockKey } from "./lock-key.ts";

/** Which machine an action is for. */
export type ResolvedMachine =
  /** A machine of the inventory. */
  | {
      readonly ok: true;
      readonly machine: string;
      /** The BMC, whatever it is called. */
      readonly lockKey: string;
      /** Reads the credentials, anew at every call; rejects with a `BmcError` of class `usage`. */
      connect(): Promise<Connection>;
    }
  /** The action brings its own connection. */
  | { readonly ok: true; readonly lockKey: string }
  /** No machine: the action says itself what it misses. */
  | { readonly ok: true }
  | { readonly ok: false; readonly reason: string };

type Asking = Pick<Action, "agentId" | "command" | "environment">;

/**
 * Decides by `MACHINE` in the environment, else by the agent ID, else by `BMC_HOST`. Whatever contradicts
 * itself is refused: a power command for the wrong machine is worse than none.
 */
export function resolveMachine(
  action: Asking,
  inventory: Inventory,
  agentIdPattern: string,
): ResolvedMachine {
  if (given(action, CONNECTION_FILE) !== undefined) {
    return refused(`${CONNECTION_FILE} is the worker's to set: name a machine with MACHINE`);
  }
  const asked = given(action, "MACHINE");
  const laneName = machineNameOf(agentIdPattern, action.agentId);
  const lane = laneName === undefined ? undefined : inventory.find(laneName);
  if (asked !== undefined && lane && asked !== lane.name) {
    return refused(`MACHINE is ${asked}, but the agent ID ${action.agentId} is that of machine ${lane.name}`);
  }
  const machine = asked === undefined ? lane : inventory.find(asked);
  if (asked !== undefined && !machine) {
    const names = inventory.machines().map(({ name }) => name);
    return refused(`MACHINE is ${asked}, which the inventory does not have${suggestion(asked, names)}`);
  }
  return machine ? fromInventory(machine, action, inventory) : fromAction(action);
}

function fromInventory(machine: Machine, action: Asking, inventory: Inventory): ResolvedMachine {
  const own = ownConnection(action);
  if (own.length > 0) {
    return refused(
      `the action is for machine ${machine.name} and brings ${own.join(", ")}: the inventory has the connection`,
    );
  }
  return {
    ok: true,
    machine: machine.name,
    lockKey: machine.lockKey,
    connect: () => inventory.resolveConnection(machine),
  };
}

function fromAction(action: Asking): ResolvedMachine {
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
  const ipmi = port("IPMI_PORT") ?? port("IPMITOOL_PORT");
  const ports = { redfish: port("REDFISH_PORT"), ipmi, amt: port("AMT_PORT") };
  return { ok: true, lockKey: lockKeyOf(host, ports) };
}

const CONNECTION_FILE = "BMC_CONNECTION_FILE";
/** What says where a BMC is and how to log in; an action takes all of it from one place. */
const CONNECTION_VARIABLE = /^(BMC|REDFISH|IPMI|IPMITOOL|AMT|RPC|HOMEASSISTANT)_/;

function ownConnection({ environment, command }: Asking): readonly string[] {
  const variables = Object.keys(environment).filter((name) => environment[name] !== "");
  const flags = command.flatMap((argument) => flagName(argument) ?? []);
  return [...variables, ...flags].filter((name) => CONNECTION_VARIABLE.test(name));
}

/** As in the action itself, a flag goes before the variable of its name, and the last flag counts. */
function given({ environment, command }: Asking, name: string): string | undefined {
  const index = command.findLastIndex((argument) => flagName(argument) === name);
  const argument = command[index];
  if (argument === undefined) return environment[name]?.trim() || undefined;
  const equals = argument.indexOf("=");
  return (equals < 0 ? command[index + 1] : argument.slice(equals + 1))?.trim() || undefined;
}

/** `--bmc-host` is `BMC_HOST`. */
function flagName(argument: string): string | undefined {
  const match = /^--([a-z][a-z0-9-]*)(=|$)/.exec(argument);
  return match?.[1]?.replaceAll("-", "_").toUpperCase();
}

function refused(reason: string): ResolvedMachine {
  return { ok: false, reason };
}

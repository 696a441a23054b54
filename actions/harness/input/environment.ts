import { isConnectionVariable } from "../../../shared/contract/given.ts";
import { suggestion } from "../../../shared/nearest-name.ts";
import { commonFields } from "./common-input.ts";
import { connectionFieldTable, connectionFile, machineField } from "./connection-input.ts";
import type { ActionDescription, InputFields } from "./input.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** The length above which a name is not checked for being a link, because each of its underscores starts a search. */
const LONGEST_LINK = 1_000;
const SERVICE_LINK = /_(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT_\d+_(TCP|UDP)(_\w+)?|ENV_\w+)$/;

/**
 * Returns the environment without the variables that Kubernetes and Docker links add for a service that happens to be called
 * `bmc` or `redfish`, such as `REDFISH_PORT=tcp://10.0.0.1:443`.
 */
export function withoutServiceLinks(env: Environment): Environment {
  const isLink = (name: string, value = "") =>
    (name.length <= LONGEST_LINK && SERVICE_LINK.test(name)) ||
    (name.endsWith("_PORT") && /^(tcp|udp|sctp):\/\//.test(value));
  return Object.fromEntries(Object.entries(env).filter(([name, value]) => !isLink(name, value)));
}

/** Returns every variable that an action understands. */
export function fieldNames<Fields extends InputFields>(action: ActionDescription<Fields>): readonly string[] {
  return [...Object.values(action.input).map(({ env }) => env), ...commonNames()];
}

/** Every variable that all actions understand. */
export function commonNames(): readonly string[] {
  return [...commonFields, machineField, connectionFile, ...connectionFieldTable].map(({ env }) => env);
}

/**
 * Returns a problem for each connection variable that no action knows, because a typing error must not silently select a
 * default.
 */
export function unknownVariables(env: Environment, known: readonly string[]): readonly string[] {
  return Object.keys(env)
    .filter((name) => isConnectionVariable(name) && !known.includes(name))
    .toSorted()
    .map((name) => `${name} is not known${suggestion(name, known)}`);
}

import { nearestName } from "../../shared/nearest-name.ts";
import type { Action } from "./action.ts";
import { commonInput } from "./common-input.ts";
import { connectionFieldTable, connectionFile, machineField } from "./connection-input.ts";
import type { InputFields } from "./input.ts";

/** A misspelt variable with one of these beginnings must not pass as a default. */
const OWN_PREFIXES = ["BMC_", "REDFISH_", "IPMI_", "IPMITOOL_"];
/** Kubernetes and Docker links add such variables for a service that happens to be called `bmc` or `ipmi`. */
const SERVICE_LINK = /_(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT_\d+_(TCP|UDP)(_\w+)?|ENV_\w+)$/;

/** Every variable that an action understands. */
export function fieldNames<Fields extends InputFields>(action: Action<Fields>): readonly string[] {
  const fields = [
    ...Object.values(action.input),
    ...Object.values(commonInput),
    machineField,
    connectionFile,
  ];
  return [...fields, ...connectionFieldTable].map((field) => field.env);
}

export function unknownVariables(
  env: Readonly<Record<string, string | undefined>>,
  known: readonly string[],
): readonly { readonly name: string; readonly nearest: string | undefined }[] {
  return Object.keys(env)
    .filter((name) => OWN_PREFIXES.some((prefix) => name.startsWith(prefix)))
    .filter((name) => !known.includes(name) && !SERVICE_LINK.test(name))
    .toSorted()
    .map((name) => ({ name, nearest: nearestName(name, known) }));
}

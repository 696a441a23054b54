import type { Action } from "./action.ts";

/** A variable that an action is given, by itself or as the flag that means the same. */
export interface GivenName {
  /** As it was written: `BMC_HOST` or `--bmc-host`. */
  readonly name: string;
  readonly variable: string;
}

type Given = Pick<Action, "command" | "environment">;

/** `--bmc-host` and `--bmc-host=…` are `BMC_HOST`, as in this project's actions. */
export function variableOfFlag(argument: string): string | undefined {
  const match = /^--([a-z][a-z0-9-]*)(=|$)/.exec(argument);
  return match?.[1]?.replaceAll("-", "_").toUpperCase();
}

/** Everything that is set for an action, also where it is empty. A flag's value that looks like a flag counts as one. */
export function givenNames({ command, environment }: Given): readonly GivenName[] {
  const flags = command.flatMap((argument) => {
    const variable = variableOfFlag(argument);
    return variable === undefined ? [] : [{ name: argument.replace(/=.*$/s, ""), variable }];
  });
  return [...Object.keys(environment).map((name) => ({ name, variable: name })), ...flags];
}

/** What says where a BMC is and how to log in; an action takes all of it from one place. */
const CONNECTION_VARIABLE = /^(BMC|REDFISH|IPMI|IPMITOOL|AMT|RPC|HOMEASSISTANT)_/;

/** The variables of a connection of its own that an action brings, by whatever way. An empty one counts as absent. */
export function ownConnection(action: Given): readonly string[] {
  return givenNames(action)
    .filter(({ name, variable }) => CONNECTION_VARIABLE.test(variable) && action.environment[name] !== "")
    .map(({ variable }) => variable);
}

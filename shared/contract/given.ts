/**
 * The input of an action: environment variables and flags. The policy and the actions read both with this parser, so that
 * neither sees a value that the other does not see.
 */
export interface GivenText {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly command: readonly string[];
}

/** A name that a container engine, a shell and `process.env` read in the same way (IEEE Std 1003.1, section 8.1). */
const VARIABLE_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;
const FLAG_NAME = /^--[a-z][a-z0-9]*(-[a-z0-9]+)*$/;
const CONNECTION_VARIABLE = /^(BMC|REDFISH|IPMI|IPMITOOL|AMT|RPC|HOMEASSISTANT|IRONIC)_/;

function isVariableName(name: string): boolean {
  return VARIABLE_NAME.test(name);
}

/** Whether a variable is part of a connection: the address or the login. */
export function isConnectionVariable(name: string): boolean {
  return CONNECTION_VARIABLE.test(name);
}

/** The flag that means the same as a variable: `--bmc-host` for `BMC_HOST`. */
export function flagOfVariable(name: string): string {
  return `--${name.toLowerCase().replaceAll("_", "-")}`;
}

export interface GivenFlag {
  /** The flag as the user wrote it, without its value. */
  readonly flag: string;
  /** The variable with the same meaning; undefined if none exists. */
  readonly variable: string | undefined;
  /** Undefined for a flag without a value. */
  readonly value: string | undefined;
}

export interface ParsedArguments {
  readonly flags: readonly GivenFlag[];
  /** Arguments that are neither a flag nor the value of one. */
  readonly strays: readonly string[];
}

/**
 * Parses `--flag=value`, `--flag value` and `--flag`. An argument that begins with `--` is always a flag and never a value,
 * so that parsing needs no knowledge of the flags. Everything after `--` is a stray.
 */
export function parseArguments(command: readonly string[]): ParsedArguments {
  const flags: GivenFlag[] = [];
  const strays: string[] = [];
  let open: string | undefined;
  const close = (value: string | undefined) => {
    if (open !== undefined) flags.push({ flag: open, variable: variableOf(open), value });
    open = undefined;
  };
  for (const [index, argument] of command.entries()) {
    if (!argument.startsWith("--")) {
      if (open === undefined) strays.push(argument);
      else close(argument);
      continue;
    }
    close(undefined);
    if (argument === "--") {
      strays.push(...command.slice(index + 1));
      break;
    }
    const equals = argument.indexOf("=");
    open = equals < 0 ? argument : argument.slice(0, equals);
    if (equals >= 0) close(argument.slice(equals + 1));
  }
  close(undefined);
  return { flags, strays };
}

function variableOf(flag: string): string | undefined {
  return FLAG_NAME.test(flag) ? flag.slice(2).replaceAll("-", "_").toUpperCase() : undefined;
}

/** A variable or flag in the input of an action. */
export interface GivenName {
  /** The name as the user wrote it: `BMC_HOST` or `--bmc-host`. */
  readonly name: string;
  /** Undefined for a name that no action can read. */
  readonly variable: string | undefined;
  /** Undefined for a flag without a value. */
  readonly value: string | undefined;
  readonly from: "command" | "environment";
}

/** All variables and flags in the input of an action, including empty and repeated ones. */
export function givenNames({ environment, command }: GivenText): readonly GivenName[] {
  const variables = Object.entries(environment).map(([name, value]): GivenName => {
    return { name, variable: isVariableName(name) ? name : undefined, value, from: "environment" };
  });
  const flags = parseArguments(command).flags.map(({ flag, ...given }): GivenName => {
    return { name: flag, ...given, from: "command" };
  });
  return [...variables, ...flags];
}

/** Flags by the variable with the same meaning, and the environment. Flags take precedence. */
export interface ValueSources {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly flags: Readonly<Record<string, string>>;
}

export interface GivenValue {
  readonly text: string;
  /** The flag or variable that the value comes from. */
  readonly from: string;
}

/** The value of a variable. An empty variable counts as not given, an empty flag as given. */
export function givenValue(name: string, { env, flags }: ValueSources): GivenValue | undefined {
  const flag = flags[name];
  if (flag !== undefined) return { text: flag, from: flagOfVariable(name) };
  const text = env[name];
  return text === undefined || text === "" ? undefined : { text, from: name };
}

/** The sources of an action's values. The last of several equal flags counts; a flag without a value is empty. */
export function valueSources({ environment, command }: GivenText): ValueSources {
  const flags = parseArguments(command).flags.flatMap(({ variable, value = "" }) =>
    variable === undefined ? [] : [[variable, value] as const],
  );
  return { env: environment, flags: Object.fromEntries(flags) };
}

/** The connection variables in the input of an action. An empty variable counts as not given. */
export function connectionGiven(given: GivenText): readonly string[] {
  const names = givenNames(given).filter(({ from, value }) => from === "command" || (value ?? "") !== "");
  const variables = names.flatMap(({ variable }) => variable ?? []).filter(isConnectionVariable);
  return [...new Set(variables)];
}

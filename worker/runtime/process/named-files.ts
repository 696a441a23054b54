/** A file that an action is told to read or write. */
export interface NamedFile {
  /** The variable or flag that names it. */
  readonly name: string;
  readonly path: string;
}

/** An action's own text, which comes from a template. */
export interface TemplateText {
  readonly environment: Readonly<Record<string, string>>;
  readonly command: readonly string[];
}

/**
 * Variables that load code into a process, name programs it runs, or say where its connection and secrets are. A
 * child runs with the worker's own rights, so a template that could set them would hold those rights too; in a
 * container they reach no further than what that was given.
 */
const REACHES_OUT =
  /^(NODE_|LD_|DYLD_|OPENSSL_|SSL_CERT_)|_PROGRAM$|^(PATH|HOME|TMPDIR)$|^(BMC|REDFISH|IPMI|IPMITOOL|AMT|RPC|HOMEASSISTANT)_(\w+_)?FILE$/;

const NAMES_FILE = /_FILE$/;

/** The variables and flags that a child of the worker must not be given: `--ipmitool-program` is `IPMITOOL_PROGRAM`. */
export function refusedNames({ environment, command }: TemplateText): readonly string[] {
  const flags = command.flatMap((argument) => flagIn(argument) ?? []);
  return [
    ...Object.keys(environment).filter((name) => REACHES_OUT.test(name)),
    ...flags.filter(({ variable }) => REACHES_OUT.test(variable)).map(({ flag }) => flag),
  ];
}

/** The other files that are named. A flag at the end, without its file, has an empty path. */
export function namedFiles({ environment, command }: TemplateText): readonly NamedFile[] {
  const names = (variable: string) => NAMES_FILE.test(variable) && !REACHES_OUT.test(variable);
  // Every argument is looked at, also one that the action may take for the value of the flag before it.
  const flags = command.flatMap((argument, index) => {
    const found = flagIn(argument);
    if (!found || !names(found.variable)) return [];
    return { name: found.flag, path: found.value ?? command[index + 1] ?? "" };
  });
  const variables = Object.entries(environment).filter(([name]) => names(name));
  return [...variables.map(([name, path]) => ({ name, path })), ...flags];
}

function flagIn(argument: string): { flag: string; variable: string; value: string | undefined } | undefined {
  if (!argument.startsWith("--")) return undefined;
  const equals = argument.indexOf("=");
  const flag = equals < 0 ? argument : argument.slice(0, equals);
  const value = equals < 0 ? undefined : argument.slice(equals + 1);
  return { flag, variable: flag.slice(2).replaceAll("-", "_").toUpperCase(), value };
}

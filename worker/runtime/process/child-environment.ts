/** What a child needs of the worker's environment to find programs, certificates and its language. */
const INHERITED = [
  "PATH",
  "HOME",
  "TMPDIR",
  "TZ",
  "LANG",
  "LC_ALL",
  "NODE_EXTRA_CA_CERTS",
  "SSL_CERT_FILE",
  "SSL_CERT_DIR",
];

/**
 * Variables that load code into a process, or name programs it runs and files it reads and writes. A child runs with the worker's
 * own rights, so a template that could set them would hold those rights too; in a container they are harmless.
 */
const REACHES_OUT = /^(NODE_|LD_|DYLD_|OPENSSL_|SSL_CERT_)|_(FILE|PROGRAM)$|^(PATH|HOME|TMPDIR)$/;

/** The names in an action's environment that a child of the worker must not be given. */
export function refusedVariables(environment: Readonly<Record<string, string>>): readonly string[] {
  return Object.keys(environment).filter((name) => REACHES_OUT.test(name));
}

/** The flags of an action that stand for such variables: `--result-file` is `RESULT_FILE`. */
export function refusedFlags(command: readonly string[]): readonly string[] {
  return command
    .map((argument) => argument.split("=")[0] ?? argument)
    .filter(
      (flag) => flag.startsWith("--") && REACHES_OUT.test(flag.slice(2).replaceAll("-", "_").toUpperCase()),
    );
}

export interface ChildEnvironment {
  /** The worker's environment; only an allow-list of it reaches the child, never its secrets. */
  readonly inherited: Readonly<Record<string, string | undefined>>;
  readonly action: Readonly<Record<string, string>>;
  readonly connectionOnStdin: boolean;
  readonly compileCacheDirectory?: string;
}

export function childEnvironment(from: ChildEnvironment): Record<string, string> {
  const environment: Record<string, string> = {};
  for (const name of INHERITED) {
    const value = from.inherited[name];
    if (value !== undefined) environment[name] = value;
  }
  if (from.compileCacheDirectory) environment["NODE_COMPILE_CACHE"] = from.compileCacheDirectory;
  Object.assign(environment, from.action);
  if (from.connectionOnStdin) environment["BMC_CONNECTION_FILE"] = "-";
  return environment;
}

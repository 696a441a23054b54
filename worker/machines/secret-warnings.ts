import { accessSync, constants } from "node:fs";
import { join } from "node:path";
import { requiredCredentials } from "../../shared/contract/connection.ts";
import { secretDoubt, withoutLineEnd } from "../../shared/contract/secret-doubt.ts";
import { fileProblemOf, type ReadTextFile } from "../../shared/read-text-file.ts";
import { credentialSources, rpcSecretSources } from "./credentials.ts";
import type { MachineEntry } from "./inventory-schema.ts";
import type { Environment } from "./run-secret-command.ts";
import type { SecretSource } from "./secret-source.ts";

interface SecretWarningOptions {
  readonly env: Environment;
  readonly readFile: ReadTextFile;
}

/** The missing sources of a machine's secrets. Runs no command. */
export function secretWarnings(entry: MachineEntry, options: SecretWarningOptions): readonly string[] {
  return [
    ...credentialSources(entry).flatMap((source) => missingAt(source, requiredCredentials(entry), options)),
    ...rpcSecretSources(entry.rpc).flatMap((source) => missingAt(source, [], options)),
  ];
}

function missingAt(
  source: SecretSource,
  files: readonly string[],
  { env, readFile }: SecretWarningOptions,
): readonly string[] {
  const { key } = source;
  if ("variable" in source) {
    const text = env[source.variable];
    return text
      ? doubtsOf(`${key} ${source.variable}`, () => text)
      : [`${key} ${source.variable} is not set`];
  }
  if ("command" in source) {
    const { argv, environment } = source.command;
    const unset = environment.filter((name) => env[name] === undefined);
    return [
      ...problemWith(() => checkProgram(argv[0])).map((problem) => `${key} ${argv[0]} ${problem}`),
      ...unset.map((name) => `${key} ${argv[0]}: its variable ${name} is not set`),
    ];
  }
  const paths = "file" in source ? [source.file] : files.map((name) => join(source.directory, name));
  return paths.flatMap((path) => doubtsOf(`${key} ${path}`, () => readFile(path)));
}

/** Why a secret cannot be read, or is probably not the intended one. */
function doubtsOf(name: string, read: () => string): readonly string[] {
  let doubt: string | undefined;
  const problems = problemWith(() => {
    doubt = secretDoubt(withoutLineEnd(read()));
  });
  return [...problems, ...(doubt === undefined ? [] : [doubt])].map((problem) => `${name} ${problem}`);
}

/** Checks a program. A bare name is looked up in PATH only when it runs. */
function checkProgram(program: string): void {
  if (program.startsWith("/")) accessSync(program, constants.X_OK);
}

function problemWith(look: () => unknown): readonly string[] {
  try {
    look();
    return [];
  } catch (thrown) {
    return [fileProblemOf(thrown)];
  }
}

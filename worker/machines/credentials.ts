import { BmcError } from "../../shared/contract/bmc-error.ts";
import { providersOf, requiredCredentials } from "../../shared/contract/connection.ts";
import { fileProblemOf } from "../../shared/read-text-file.ts";
import type { MachineEntry, RpcEntry, SecretPlace } from "./inventory-schema.ts";
import { type PrintedSecrets, parsePrinted } from "./printed-secrets.ts";
import type { SecretCommand } from "./run-secret-command.ts";
import {
  readDirectory,
  readSecret,
  readWholeDirectory,
  type SecretReading,
  type SecretSource,
  type SingleSource,
} from "./secret-source.ts";

const COMMAND_TIMEOUT_MS = 10_000;

/**
 * Reads only a machine's user name, password and Kg: default credentials may not exist for a machine behind a service.
 * Throws a `BmcError` of class `usage` that contains none of them.
 */
export async function readCredentials(entry: MachineEntry, reading: SecretReading) {
  const required = requiredCredentials(entry);
  const pair = required.length > 0 ? pairSource(entry) : undefined;
  const together = pair === undefined ? undefined : await readPair(pair, entry, reading);
  const one = (source: SingleSource | undefined) => source && readSecret(source, reading);
  const kg = (own: SingleSource | undefined) => (own ? readSecret(own, reading) : together?.kg);
  return {
    username: together
      ? together.username
      : (entry.credentials.username ?? (await one(loginSource("username", entry)))),
    password: together ? together.password : await one(loginSource("password", entry)),
    ipmiKg: await kg(kgSource(entry.ipmi)),
    ipmitoolKg: await kg(kgSource(entry.ipmitool)),
  };
}

/** Reads one entry of a webhook's list of secrets. Throws like `readCredentials`. */
async function readPlace(source: SecretSource, reading: SecretReading): Promise<readonly string[]> {
  if ("directory" in source) return readWholeDirectory(source.key, source.directory, reading.signal);
  if (!("command" in source)) return [await readSecret(source, reading)];
  const { secrets } = await readCommand(source.key, source.command, reading);
  if (!secrets) throw commandError(source.key, source.command, "printed no secrets");
  return secrets;
}

/** The sources of a machine's user name, password and Kg, without those that are not needed. */
export function credentialSources(entry: MachineEntry): readonly SecretSource[] {
  const pair = requiredCredentials(entry).length > 0 ? pairSource(entry) : undefined;
  const sources = [
    ...(pair ? [pair] : [loginSource("username", entry), loginSource("password", entry)]),
    kgSource(entry.ipmi),
    kgSource(entry.ipmitool),
  ];
  return sources.filter((found) => found !== undefined);
}

function placeSource(key: string, place: SecretPlace): SecretSource {
  const { file, env, directory } = place;
  const command = commandOf(place);
  if (command) return { key: `${key} command`, command };
  if (directory !== undefined) return { key: `${key} directory`, directory };
  return file === undefined ? { key: `${key} env`, variable: env ?? "" } : { key: `${key} file`, file };
}

type PairSource = Exclude<SecretSource, SingleSource>;

function pairSource({ credentials }: MachineEntry): PairSource | undefined {
  const command = commandOf(credentials);
  if (command) return { key: "credentials.command", command };
  const { directory } = credentials;
  return directory === undefined ? undefined : { key: "credentials.directory", directory };
}

async function readPair(
  source: PairSource,
  entry: MachineEntry,
  reading: SecretReading,
): Promise<PrintedSecrets> {
  const required = requiredCredentials(entry);
  const optional = providersOf(entry).some((name) => name === "ipmi" || name === "ipmitool") ? ["kg"] : [];
  if ("directory" in source) {
    return readDirectory(source.key, source.directory, { required, optional }, reading.signal);
  }
  const printed = await readCommand(source.key, source.command, reading);
  const missing = required.find((name) => printed[name] === undefined);
  if (missing) throw commandError(source.key, source.command, `printed no ${missing}`);
  return printed;
}

async function readCommand(
  key: string,
  command: SecretCommand,
  { env, commands, signal }: SecretReading,
): Promise<PrintedSecrets> {
  try {
    return parsePrinted(await commands.run(command, env, signal));
  } catch (thrown) {
    signal.throwIfAborted();
    throw commandError(key, command, fileProblemOf(thrown));
  }
}

/** Reports a failed command. Names only the program, because arguments may contain anything. */
function commandError(key: string, { argv: [program] }: SecretCommand, problem: string): BmcError {
  return new BmcError("usage", `${key} ${program} ${problem}`);
}

function commandOf(fields: SecretPlace): SecretCommand | undefined {
  const { command: argv, timeout: timeoutMs = COMMAND_TIMEOUT_MS, environment = [] } = fields;
  return argv && { argv, timeoutMs, environment };
}

function loginSource(name: "username" | "password", entry: MachineEntry): SingleSource | undefined {
  const { [`${name}File` as const]: file, [`${name}Env` as const]: variable } = entry.credentials;
  return requiredCredentials(entry).includes(name) ? singleSource(name, file, variable) : undefined;
}

function kgSource({ kgFile, kgEnv }: MachineEntry["ipmi" | "ipmitool"]): SingleSource | undefined {
  return singleSource("kg", kgFile, kgEnv);
}

function singleSource(
  name: string,
  file: string | undefined,
  variable: string | undefined,
): SingleSource | undefined {
  if (file !== undefined) return { key: `${name}File`, file };
  return variable === undefined ? undefined : { key: `${name}Env`, variable };
}

/** The options of a webhook with its secrets. Throws like `readCredentials`. */
export async function rpcOptions(rpc: RpcEntry, reading: SecretReading) {
  const { sha256, sha512 } = secretPlaces(rpc);
  const secrets = { sha256: await readAll(sha256, reading), sha512: await readAll(sha512, reading) };
  const headers = Object.entries(rpc.headers).map(([name, values]) => {
    return [name, values.map((value) => value.reveal())] as const;
  });
  return { ...rpc, headers: Object.fromEntries(headers), signature: { ...rpc.signature, secrets } };
}

export function rpcSecretSources(rpc: RpcEntry | undefined): readonly SecretSource[] {
  return rpc ? Object.values(secretPlaces(rpc)).flat() : [];
}

function secretPlaces({ signature: { secrets } }: RpcEntry) {
  const sources = (algorithm: "sha256" | "sha512") =>
    (secrets[algorithm] ?? []).map((place) => placeSource(`rpc.signature.secrets.${algorithm}`, place));
  return { sha256: sources("sha256"), sha512: sources("sha512") };
}

async function readAll(sources: readonly SecretSource[], reading: SecretReading): Promise<string[]> {
  const secrets: string[] = [];
  for (const source of sources) secrets.push(...(await readPlace(source, reading)));
  return secrets;
}

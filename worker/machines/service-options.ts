import { placeSource, readPlace } from "./credentials.ts";
import type { HomeAssistantEntry, RpcEntry } from "./schema.ts";
import type { SecretReading, SecretSource } from "./secret-source.ts";

/** A webhook's options for a connection, with its secrets. */
export async function rpcOptions(rpc: RpcEntry, reading: SecretReading) {
  const { sha256, sha512 } = secretPlaces(rpc);
  const secrets = { sha256: await readAll(sha256, reading), sha512: await readAll(sha512, reading) };
  const headers = Object.entries(rpc.headers).map(([name, values]) => {
    return [name, values.map((value) => value.reveal())] as const;
  });
  return { ...rpc, headers: Object.fromEntries(headers), signature: { ...rpc.signature, secrets } };
}

export function homeAssistantOptions({ powerOperationDelay, ...same }: HomeAssistantEntry) {
  return { ...same, powerOperationDelayMs: powerOperationDelay };
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

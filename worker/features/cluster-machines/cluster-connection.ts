import { BmcError } from "../../../shared/contract/bmc-error.ts";
import { Connection } from "../../../shared/contract/connection.ts";
import type { FileReference } from "../../../shared/contract/file-reference.ts";
import type { MountedConnection, MountedFile } from "../../core/ports/runtime.ts";
import type { Cluster } from "../../kubernetes/client/cluster.ts";
import type { ObjectName } from "../../kubernetes/client/kinds.ts";
import type { Machine } from "../../machines/inventory.ts";
import type { ReferenceRefusal } from "../../policy/reference.ts";
import { type ConnectionSource, connectionDocument, type SecretPart } from "./connection-document.ts";
import type { ClusterMachine } from "./machine-index.ts";
import { type Algorithm, loginUse, SIGNING_KEY, signingUses } from "./secret-uses.ts";
import { readSecretKeys } from "./secret-values.ts";

/** A machine whose object has a connection. */
export interface Connectable {
  readonly machine: Machine;
  readonly object: ClusterMachine["object"];
  readonly at: ObjectName;
  readonly source: ConnectionSource;
  /** The policy for references between objects of the cluster. */
  readonly references: ReferenceRefusal;
}

/** Reads the connection with its current secrets. Throws like `readSecrets`. */
export async function readConnection(
  connectable: Connectable,
  cluster: Cluster,
  signal: AbortSignal,
): Promise<Connection> {
  const document = connectionDocument(connectable.source, await readSecrets(connectable, cluster, signal));
  const parsed = Connection.safeParse({ ...document, machine: connectable.machine.name });
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new BmcError("usage", `${issue?.path.join(".")} ${issue?.message}`);
}

/** Reads all secrets of a connection. Throws like `readSecretKeys`, and before any read if the policy forbids one of them. */
async function readSecrets(
  connectable: Connectable,
  cluster: Cluster,
  signal: AbortSignal,
): Promise<SecretPart> {
  const { login, signing } = secretUses(connectable);
  const problem = refusedAccess(connectable);
  if (problem !== undefined) throw new BmcError("usage", problem);
  const [credentials, values] = await Promise.all([
    login ? readSecretKeys(cluster, login.secret, login.keys, signal) : {},
    Promise.all(
      signing.map(async ({ algorithm, secret }) => {
        const { [SIGNING_KEY]: value } = await readSecretKeys(cluster, secret, [SIGNING_KEY], signal);
        return { algorithm, value };
      }),
    ),
  ]);
  return { ...credentials, signing: byAlgorithm(values) };
}

/** Resolves to why the secrets cannot be read yet; undefined if they can, or if the policy forbids it. Throws the signal's reason. */
export async function missingSecret(
  connectable: Connectable,
  cluster: Cluster,
  signal: AbortSignal,
): Promise<string | undefined> {
  if (refusedAccess(connectable) !== undefined) return undefined;
  try {
    await readSecrets(connectable, cluster, signal);
    return undefined;
  } catch (thrown) {
    signal.throwIfAborted();
    return BmcError.from(thrown).message;
  }
}

/** Explains why the policy forbids the object's Secrets or its address; undefined if it allows them. */
export function refusedAccess(connectable: Connectable): string | undefined {
  const { object, at, references } = connectable;
  const { login, signing } = secretUses(connectable);
  const from = { kind: object, namespace: at.namespace, name: at.name };
  const name = addressOf(connectable.source);
  const refused = references({ from, to: { kind: "address", namespace: at.namespace, name } });
  if (refused !== undefined) return refused;
  for (const { secret } of [...(login ? [login] : []), ...signing]) {
    const problem = references({ from, to: { kind: "Secret", ...secret } });
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function addressOf({ connection: { host, providerOptions } }: ConnectionSource): string {
  const url = providerOptions?.rpc?.consumerURL ?? (providerOptions?.homeassistant ? host : undefined);
  return url === undefined ? host : (URL.parse(url)?.hostname ?? url);
}

function secretUses({ source: { connection }, at: { namespace } }: Connectable) {
  return { login: loginUse(connection, namespace), signing: signingUses(connection, namespace) };
}

/** The connection with references to mounted Secrets; undefined unless all of them are in `namespace` and the policy allows them. */
export function mountConnection(connectable: Connectable, namespace: string): MountedConnection | undefined {
  const { machine, source } = connectable;
  // A header may hold a token, which must not appear in a pod's specification.
  if (source.connection.providerOptions?.rpc?.request?.staticHeaders) return undefined;
  const { login, signing } = secretUses(connectable);
  const secrets = [...(login ? [login.secret] : []), ...signing.map(({ secret }) => secret)];
  if (secrets.some((secret) => secret.namespace !== namespace)) return undefined;
  if (refusedAccess(connectable) !== undefined) return undefined;

  const files: MountedFile[] = [];
  const mount = (file: string, secret: string, key: string): FileReference => {
    files.push({ file, secret, key });
    return { $file: file };
  };
  const document = connectionDocument(source, {
    ...Object.fromEntries((login?.keys ?? []).map((key) => [key, mount(key, login?.secret.name ?? "", key)])),
    signing: byAlgorithm(
      signing.map(({ algorithm, secret }, index) => ({
        algorithm,
        value: mount(`signing-${index + 1}`, secret.name, SIGNING_KEY),
      })),
    ),
  });
  return { document: { ...document, machine: machine.name }, files };
}

function byAlgorithm<T>(values: readonly { readonly algorithm: Algorithm; readonly value: T }[]) {
  const of = (wanted: Algorithm) =>
    values.flatMap(({ algorithm, value }) => (algorithm === wanted ? [value] : []));
  return { sha256: of("sha256"), sha512: of("sha512") };
}

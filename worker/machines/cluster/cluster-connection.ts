import { BmcError } from "../../../shared/contract/bmc-error.ts";
import { Connection } from "../../../shared/contract/connection.ts";
import type { FileReference } from "../../../shared/contract/file-reference.ts";
import type { MountedConnection, MountedFile } from "../inventory.ts";
import { type ConnectionSource, connectionDocument } from "./connection-document.ts";
import type { ClusterMachine } from "./machine-index.ts";
import { type Algorithm, loginUse, SIGNING_KEY, signingUses } from "./secret-uses.ts";
import { readSecretKeys, type SecretReader } from "./secret-values.ts";

export interface Connectable extends Pick<ClusterMachine, "machine" | "at"> {
  readonly source: ConnectionSource;
}

/** Reads the connection with its current secrets. Throws as `readSecretKeys` does. */
export async function readConnection(
  { machine: { name }, at, source }: Connectable,
  cluster: SecretReader,
  signal: AbortSignal,
): Promise<Connection> {
  const login = loginUse(source.connection, at.namespace);
  const [credentials, signing] = await Promise.all([
    login ? readSecretKeys(cluster, login.secret, login.keys, signal) : {},
    Promise.all(
      signingUses(source.connection, at.namespace).map(async ({ algorithm, secret }) => {
        const { [SIGNING_KEY]: value } = await readSecretKeys(cluster, secret, [SIGNING_KEY], signal);
        return { algorithm, value };
      }),
    ),
  ]);
  const document = connectionDocument(source, { ...credentials, signing: byAlgorithm(signing) });
  const parsed = Connection.safeParse({ ...document, machine: name });
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new BmcError("usage", `${issue?.path.join(".")} ${issue?.message}`);
}

/** The connection with references to Secrets of `namespace`; undefined unless all of them are there. */
export function mountConnection(
  { machine: { name }, at, source }: Connectable,
  namespace: string,
): MountedConnection | undefined {
  const { connection } = source;
  // A header may hold a token, which must not appear in a pod's specification.
  if (connection.providerOptions?.rpc?.request?.staticHeaders) return undefined;
  const login = loginUse(connection, at.namespace);
  const signing = signingUses(connection, at.namespace);
  const secrets = [...(login ? [login.secret] : []), ...signing.map(({ secret }) => secret)];
  if (secrets.some((secret) => secret.namespace !== namespace)) return undefined;

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
  return { document: { ...document, machine: name }, files };
}

function byAlgorithm<T>(values: readonly { readonly algorithm: Algorithm; readonly value: T }[]) {
  const of = (wanted: Algorithm) =>
    values.flatMap(({ algorithm, value }) => (algorithm === wanted ? [value] : []));
  return { sha256: of("sha256"), sha512: of("sha512") };
}

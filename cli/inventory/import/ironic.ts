import { resolve } from "node:path";
import { readConnection } from "../../../actions/harness/input/read-connection.ts";
import { type ListedNode, listNodes } from "../../../shared/bmc/providers/ironic/list-nodes.ts";
import { BmcError } from "../../../shared/contract/bmc-error.ts";
import type { Connection } from "../../../shared/contract/connection.ts";
import { count } from "../../../shared/count.ts";
import { MachineName } from "../../../worker/machines/inventory-schema.ts";
import { type Imported, type ImportedMachine, refusedInput } from "./imported-machine.ts";

/** The name under which the folder of secrets holds the password of all nodes. */
const IRONIC_SECRET = "ironic";
const TIMEOUT_MS = 300_000;

type Variables = Readonly<Record<string, string | undefined>>;

/**
 * Lists the nodes of the Ironic service that the connection variables name, the same as for an action run by hand. `folder`
 * is the folder of secrets.
 */
export async function listIronic(env: Variables, folder: string): Promise<Imported> {
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const problems: string[] = [];
  // The schema requires a node, although all nodes are listed.
  const asked = { ...env, IRONIC_NODE: "any" };
  const { connection } = await readConnection({ env: asked, flags: {}, stdin: noInput, signal }, problems);
  if (problems.length > 0 || !connection?.ironic) {
    const [first = "IRONIC_URL is missing: the URL of Ironic"] = problems;
    return refusedInput("ironic", first);
  }
  let nodes: readonly ListedNode[];
  try {
    nodes = await listNodes(connection, signal);
  } catch (thrown) {
    return refusedInput("ironic", BmcError.from(thrown).message);
  }
  const { password } = connection;
  const isWritten = password !== undefined && !env["BMC_PASSWORD_FILE"];
  return {
    machines: nodes.map(machineOf),
    defaults: defaultsOf(connection, env, folder),
    ...(isWritten ? { shared: { machine: IRONIC_SECRET, file: "password", secret: password } } : {}),
    skipped: [],
    problems: [],
    notes: [`${connection.ironic.url} lists ${count(nodes.length, "node")}`],
  };
}

/** Converts a node. Its UUID replaces a name that an inventory does not accept. */
function machineOf({ uuid, name }: ListedNode): ImportedMachine {
  const usable = MachineName.safeParse(name?.toLowerCase());
  if (!usable.success) return { source: `node ${uuid}`, name: uuid.toLowerCase(), entry: nodeEntry(uuid) };
  const isSame = usable.data === name;
  return { source: `node ${uuid}`, name: usable.data, entry: isSame ? {} : nodeEntry(uuid) };
}

const nodeEntry = (node: string) => ({ ironic: { node } });

function defaultsOf({ username, password, tls, ironic }: Connection, env: Variables, folder: string) {
  const { BMC_PASSWORD_FILE: file, BMC_TLS_CA_FILE: caFile } = env;
  const { node: _any, ...options } = ironic ?? {};
  const passwordFile = file ? resolve(file) : `${folder}/${IRONIC_SECRET}/password`;
  return {
    tls: {
      verify: tls.verify ? undefined : false,
      fingerprint: tls.fingerprint,
      caFile: caFile ? resolve(caFile) : undefined,
    },
    ironic: options,
    credentials: password && { username, passwordFile },
  };
}

async function* noInput(): AsyncGenerator<Uint8Array> {}

import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execa } from "execa";
import { freePort } from "./free-port.ts";
import type { PythonPackages } from "./python-packages.ts";

export const LOGIN = { username: "admin", password: "ironic-calvin" };
const START_MS = 90_000;
const PAUSE_MS = 250;
const SETTLE_MS = 60_000;

export interface Ironic {
  readonly url: string;
  /** A request to its API, as its operators make them. Resolves to the JSON of the answer. */
  call(method: string, path: string, body?: unknown): Promise<unknown>;
  /** Creates a node, and brings it to the state `manageable`, powered on. */
  manage(node: Readonly<Record<string, unknown>> & { readonly name: string }): Promise<void>;
  /** Asks for a transition of provisioning, and waits until the node is in the state. */
  provision(name: string, target: string, state: string): Promise<void>;
  close(): Promise<void>;
}

/** A whole Ironic in one process: SQLite, no message bus, HTTP basic, hardware types `fake-hardware` and `redfish`. */
export async function startIronic({ python, program }: PythonPackages): Promise<Ironic> {
  const folder = await mkdtemp(join(tmpdir(), "pbnj-ironic-"));
  const port = await freePort();
  const hashing =
    "import bcrypt, sys; print(bcrypt.hashpw(sys.argv[1].encode(), bcrypt.gensalt(4)).decode())";
  const { stdout: hash } = await execa(python, ["-c", hashing, LOGIN.password]);
  const config = join(folder, "ironic.conf");
  await writeFile(join(folder, "htpasswd"), `${LOGIN.username}:${hash}\n`);
  await mkdir(join(folder, "images"));
  await writeFile(config, configuration(folder, port));
  await execa(program("ironic-dbsync"), ["--config-file", config, "create_schema"]);
  const log = join(folder, "ironic.log");
  const child = execa(program("ironic"), ["--config-file", config, "--log-file", log], {
    stdin: "ignore",
    stdout: "ignore",
    stderr: "ignore",
    reject: false,
    forceKillAfterDelay: 2_000,
  });
  const url = `http://127.0.0.1:${port}`;
  const authorization = `Basic ${Buffer.from(`${LOGIN.username}:${LOGIN.password}`).toString("base64")}`;
  const headers = {
    authorization,
    "content-type": "application/json",
    "x-openstack-ironic-api-version": "1.95",
  };

  async function call(method: string, path: string, body?: unknown): Promise<unknown> {
    const sent = body === undefined ? {} : { body: JSON.stringify(body) };
    const answer = await fetch(`${url}/v1${path}`, { method, headers, ...sent });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path} answered ${answer.status}: ${text}`);
    return text === "" ? undefined : JSON.parse(text);
  }

  async function until(name: string, state: string): Promise<void> {
    let found: { provision_state?: string; reservation?: string | null; last_error?: string } = {};
    for (const endMs = Date.now() + SETTLE_MS; Date.now() < endMs; await pause()) {
      found = (await call("GET", `/nodes/${name}`)) as typeof found;
      if (found.provision_state === state && !found.reservation) return;
    }
    throw new Error(`node ${name} is ${found.provision_state}, not ${state}: ${found.last_error}`);
  }

  async function provision(name: string, target: string, state: string): Promise<void> {
    await call("PUT", `/nodes/${name}/states/provision`, { target });
    await until(name, state);
  }

  async function close(): Promise<void> {
    child.kill();
    await child;
    await rm(folder, { recursive: true });
  }

  try {
    for (const endMs = Date.now() + START_MS; ; await pause()) {
      const drivers = await call("GET", "/drivers").catch(() => undefined);
      // The conductor joins after the API answers.
      if ((drivers as { drivers: unknown[] } | undefined)?.drivers.length === 2) break;
      if (Date.now() > endMs) throw new Error("Ironic did not start in time");
    }
  } catch (thrown) {
    await close();
    throw thrown;
  }
  return {
    url,
    call,
    provision,
    close,
    async manage(node) {
      await call("POST", "/nodes", node);
      await provision(node.name, "manage", "manageable");
      // The power of fake hardware is unknown before the first command.
      await call("PUT", `/nodes/${node.name}/states/power`, { target: "power on" });
      await until(node.name, "manageable");
    },
  };
}

const pause = () => new Promise((resolve) => setTimeout(resolve, PAUSE_MS));

function configuration(folder: string, port: number): string {
  return `[DEFAULT]
auth_strategy = http_basic
http_basic_auth_user_file = ${folder}/htpasswd
enabled_hardware_types = fake-hardware,redfish
enabled_boot_interfaces = fake,redfish-virtual-media
enabled_deploy_interfaces = fake,direct
enabled_inspect_interfaces = fake,redfish
enabled_management_interfaces = fake,redfish
enabled_power_interfaces = fake,redfish
enabled_network_interfaces = noop
default_network_interface = noop
enabled_console_interfaces = no-console
enabled_raid_interfaces = no-raid
enabled_bios_interfaces = no-bios
enabled_firmware_interfaces = no-firmware
enabled_vendor_interfaces = no-vendor
enabled_storage_interfaces = noop
rpc_transport = none
state_path = ${folder}
host = localhost
[database]
connection = sqlite:///${folder}/ironic.sqlite
[api]
port = ${port}
host_ip = 127.0.0.1
api_workers = 1
[conductor]
automated_clean = false
[deploy]
http_root = ${folder}/images
http_url = http://127.0.0.1:${port}
iso_master_path = ${folder}/masters
iso_cache_size = 100
[inventory]
data_backend = database
`;
}

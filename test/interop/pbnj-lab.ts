import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { stringify } from "yaml";
import { startIpmiBmc } from "../../simulators/ipmi/bmc.ts";
import { SimulatedMachine } from "../../simulators/machine.ts";
import { startRedfishBmc } from "../../simulators/redfish/bmc.ts";
import { WorkerProgram } from "../support/worker-program.ts";

/** Long enough to be noticed: the action looks once per second. */
const RESTART_MS = 2_500;

export interface PbnjLabOptions {
  /** A free one when absent. */
  readonly apiPort?: number;
  /** Of the BMC. */
  readonly username?: string;
  readonly password?: string;
  /** Where the BMC has the ports that PBnJ expects; when absent, it has free ones on loopback. */
  readonly bmcHost?: string;
}

export type PbnjLab = Awaited<ReturnType<typeof startPbnjLab>>;

/** A machine with Redfish and IPMI, and `pbnj-worker serve`. */
export async function startPbnjLab(options: PbnjLabOptions = {}) {
  const { apiPort = 0, username = "admin", password = "calvin", bmcHost } = options;
  await using open = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), "pbnj-api-"));
  open.defer(() => rm(folder, { recursive: true }));
  const host = bmcHost ?? "127.0.0.1";
  const [redfishPort, ipmiPort] = bmcHost === undefined ? [0, 0] : [443, 623];
  const machine = new SimulatedMachine();
  const redfish = await startRedfishBmc({
    ...{ machines: [machine], profile: "dell-idrac9", host, port: redfishPort },
    ...{ username, password, restartMs: RESTART_MS },
  });
  open.defer(() => redfish.close());
  const users = [{ name: username, password }];
  const ipmi = open.use(
    await startIpmiBmc({ machine, host, port: ipmiPort, users, sol: [1], restartMs: RESTART_MS }),
  );

  const passwordFile = join(folder, "password");
  await writeFile(passwordFile, password);
  const defaults = {
    providers: ["redfish", "ipmi"],
    redfish: { port: redfish.port },
    ipmi: { port: ipmi.port, privilege: "administrator" },
    tls: { fingerprint: redfish.fingerprint },
  };
  const machines = [{ name: "node-01", host, credentials: { username, passwordFile } }];
  const inventory = join(folder, "inventory.yaml");
  await writeFile(inventory, stringify({ defaults, machines }));
  const argv = ["serve", "--pbnj-address", `127.0.0.1:${apiPort}`, "--runtime", "in-process"];
  const worker = open.use(new WorkerProgram([...argv, "--inventory", inventory]));
  const { url } = await worker.untilLogged("serving PBnJ's API");
  const closing = open.move();
  return {
    address: String(url).replace("http://", ""),
    machine,
    worker,
    directAuthn: { directAuthn: { host: { host }, username, password } },
    externalAuthn: { externalAuthn: { host: { host: "node-01" } } },
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  };
}

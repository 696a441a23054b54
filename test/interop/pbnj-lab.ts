import { openRack } from "../support/lab.ts";
import { WorkerProgram } from "../support/worker-program.ts";

/** Long enough to be noticed: the action looks once per second. */
const RESTART_MS = 2_500;

export interface PbnjLabOptions {
  /** A free one when absent. */
  readonly apiPort?: number;
  /** The login of the BMC. */
  readonly username?: string;
  readonly password?: string;
  /** Where the BMC has the ports that PBnJ expects; when absent, it has free ones on loopback. */
  readonly bmcHost?: string;
}

export type PbnjLab = Awaited<ReturnType<typeof startPbnjLab>>;

/** A machine with Redfish and IPMI, and `pbnj-worker serve`. */
export async function startPbnjLab(options: PbnjLabOptions = {}) {
  const { apiPort = 0, username = "admin", password = "calvin", bmcHost } = options;
  const host = bmcHost ?? "127.0.0.1";
  const [redfishPort, ipmiPort] = bmcHost === undefined ? [0, 0] : [443, 623];
  const rack = await openRack({
    providers: ["redfish", "ipmi"],
    machines: { "node-01": { powerOnMs: 40, powerOffMs: 40, softOffMs: 40 } },
    bmc: { profile: "dell-idrac9", tls: undefined, host, port: redfishPort, restartMs: RESTART_MS },
    ipmi: { host, port: ipmiPort, sol: [1], restartMs: RESTART_MS },
    entry: { host },
    ...{ username, password },
  });
  const { defaults, machines } = rack.inventoryOf();
  const { name, host: _, ...itsBmc } = { name: "", host: "", ...machines[0] };
  // A request that brings its own credentials names the host alone: the defaults say how it is reached.
  await rack.write("inventory.yaml", { defaults: itsBmc, machines: [{ name, host, ...defaults }] });
  const argv = ["serve", "--pbnj-address", `127.0.0.1:${apiPort}`, "--runtime", "in-process"];
  const worker = rack.own(new WorkerProgram([...argv, "--inventory", rack.inventoryFile]));
  const { url } = await worker.untilLogged("serving PBnJ's API");
  return {
    address: String(url).replace("http://", ""),
    machine: rack.machine(),
    worker,
    directAuthn: { directAuthn: { host: { host }, username, password } },
    externalAuthn: { externalAuthn: { host: { host: "node-01" } } },
    [Symbol.asyncDispose]: rack[Symbol.asyncDispose],
  };
}

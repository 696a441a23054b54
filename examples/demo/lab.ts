import { randomBytes } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { stringify } from "yaml";
import { fingerprintOf } from "../../simulators/certificate.ts";
import { type IpmiBmc, startIpmiBmc } from "../../simulators/ipmi/bmc.ts";
import { SimulatedMachine } from "../../simulators/machine.ts";
import { type RedfishBmc, startRedfishBmc } from "../../simulators/redfish/bmc.ts";

/** A machine of the lab: what stands behind its BMC, and what its BMC is. */
export interface LabMachine {
  readonly machine: SimulatedMachine;
  readonly bmc: string;
}

/** Three simulated machines with an inventory that a worker can read. */
export interface Lab {
  readonly machines: readonly LabMachine[];
  readonly directory: string;
  readonly inventoryFile: string;
  close(): Promise<void>;
}

/** Slow enough to be watched, fast enough for a demonstration. */
const TIMES = { powerOnMs: 1_500, powerOffMs: 800, softOffMs: 1_200 };
const USERNAME = "admin";

export interface LabOptions {
  /** Real hardware takes time; a test need not. */
  readonly times?: { readonly powerOnMs: number; readonly powerOffMs: number; readonly softOffMs: number };
}

export async function startLab(options: LabOptions = {}): Promise<Lab> {
  const times = options.times ?? TIMES;
  const directory = await mkdtemp(join(tmpdir(), "pbnj-worker-lab-"));
  // IPMI takes 20 bytes at most.
  const password = randomBytes(9).toString("base64url");
  const credentials = { username: USERNAME, password };
  const [first, second, third] = ["node-01", "node-02", "node-03"].map(
    (name) => new SimulatedMachine({ name, ...times }),
  );
  if (!first || !second || !third) throw new Error("the lab has three machines");
  const generic = await startRedfishBmc({ machines: [first], ...credentials });
  const dell = await startRedfishBmc({ machines: [second], profile: "dell-idrac10", ...credentials });
  const ipmi = await startIpmiBmc({
    machine: third,
    users: [{ name: USERNAME, password, privilege: "operator" }],
  });

  await writeFile(join(directory, "bmc-password"), `${password}\n`, { mode: 0o600 });
  const inventoryFile = join(directory, "inventory.yaml");
  await writeFile(inventoryFile, stringify(inventory(generic, dell, ipmi)));

  return {
    machines: [
      { machine: first, bmc: "Redfish" },
      { machine: second, bmc: "Redfish, iDRAC 10" },
      { machine: third, bmc: "IPMI" },
    ],
    directory,
    inventoryFile,
    async close() {
      await Promise.all([generic.close(), dell.close(), ipmi.close()]);
      for (const machine of [first, second, third]) machine.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

function inventory(generic: RedfishBmc, dell: RedfishBmc, ipmi: IpmiBmc) {
  const redfish = (name: string, bmc: RedfishBmc) => ({
    name,
    host: bmc.host,
    providers: ["redfish"],
    tls: { fingerprint: bmc.certificate ? fingerprintOf(bmc.certificate) : "" },
    redfish: { port: bmc.port },
  });
  return {
    defaults: { credentials: { username: USERNAME, passwordFile: "bmc-password" } },
    machines: [
      redfish("node-01", generic),
      redfish("node-02", dell),
      { name: "node-03", host: ipmi.host, providers: ["ipmi"], ipmi: { port: ipmi.port } },
    ],
  };
}

import { mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type IpmiBmc, startIpmiBmc } from "../../simulators/ipmi/bmc.ts";
import { SimulatedMachine, type SimulatedMachineOptions } from "../../simulators/machine.ts";
import { startRedfishBmc } from "../../simulators/redfish/bmc.ts";
import { startTinkServer } from "../../simulators/tink/server.ts";
import type { Workflow } from "../../simulators/tink/workflow.ts";
import { standingWorker } from "../support/standing-worker.ts";

const PASSWORD = "calvin";

export interface Step {
  readonly name: string;
  readonly image?: string;
  readonly environment?: Readonly<Record<string, string>>;
  /** In seconds. */
  readonly timeout?: number;
}

export function template(worker: string, steps: readonly Step[]): string {
  const actions = steps.map(({ name, image, environment = {}, timeout = 60 }) => ({
    name,
    image: image ?? `registry.example/pbnj-worker/${name}:v1`,
    timeout,
    environment,
  }));
  return JSON.stringify({
    version: "0.1",
    name: "t",
    global_timeout: 600,
    tasks: [{ name: "bmc", worker, actions }],
  });
}

export interface FleetOptions {
  readonly machines: Readonly<Record<string, SimulatedMachineOptions>>;
  /** Those that the inventory has in the beginning; all when absent. */
  readonly known?: readonly string[];
  readonly argv?: readonly string[];
  readonly policy?: string;
  /** Whether the machines also have IPMI. */
  readonly ipmi?: boolean;
}

/** A rack, and a worker inside this process that serves it. */
export async function fleetLab(options: FleetOptions) {
  const rack = await openRack(options);
  const worker = await standingWorker(rack.argv);
  return {
    ...rack,
    worker,
    /** The lines of its log with that message. */
    said: (message: string) => worker.log.filter(({ msg }) => msg === message),
    async [Symbol.asyncDispose]() {
      await worker[Symbol.asyncDispose]();
      await rack[Symbol.asyncDispose]();
    },
  };
}

/** A tink server, machines behind Redfish BMCs, and the files of a worker that sees at once when they change. */
export async function openRack(options: FleetOptions) {
  const server = await startTinkServer({ holdMs: 2_000 });
  const folder = await mkdtemp(join(tmpdir(), "pbnj-fleet-"));
  const passwordFile = join(folder, "password");
  await writeFile(passwordFile, PASSWORD);
  const machines = new Map<string, SimulatedMachine>();
  const ports = new Map<string, number>();
  const ipmiBmcs = new Map<string, IpmiBmc>();
  const bmcs = await Promise.all(
    Object.entries(options.machines).map(async ([name, machineOptions]) => {
      const machine = new SimulatedMachine({ name, ...machineOptions });
      const bmc = await startRedfishBmc({ machines: [machine], tls: "http", password: PASSWORD });
      if (options.ipmi) {
        const users = [{ name: "admin", password: PASSWORD }];
        ipmiBmcs.set(name, await startIpmiBmc({ machine, users }));
      }
      machines.set(name, machine);
      ports.set(name, bmc.port);
      return bmc;
    }),
  );
  /** The inventory with these machines; an entry may be under another name: `name=machine`. */
  const inventoryOf = (entries: readonly string[]) =>
    JSON.stringify(
      {
        defaults: {
          credentials: { username: "admin", passwordFile },
          providers: options.ipmi ? ["redfish", "ipmi"] : ["redfish"],
        },
        machines: entries.map((entry) => {
          const [name = "", machine = name] = entry.split("=");
          const ipmi = { port: ipmiBmcs.get(machine)?.port };
          return { name, host: "127.0.0.1", redfish: { port: ports.get(machine), scheme: "http" }, ipmi };
        }),
      },
      undefined,
      1,
    );
  const inventoryFile = join(folder, "inventory.yaml");
  const policyFile = join(folder, "policy.yaml");
  await writeFile(inventoryFile, inventoryOf(options.known ?? [...machines.keys()]));
  if (options.policy !== undefined) await writeFile(policyFile, options.policy);
  const argv = [
    ...["start", "--grpc-server", server.address, "--inventory", inventoryFile, "--reload-interval", "100ms"],
    ...(options.policy === undefined ? [] : ["--policy", policyFile]),
    ...(options.argv ?? []),
  ];
  const replace = async (file: string, text: string) => {
    await writeFile(`${file}.new`, text);
    await rename(`${file}.new`, file);
  };
  return {
    server,
    argv,
    machine(name: string): SimulatedMachine {
      const found = machines.get(name);
      if (!found) throw new Error(`the lab has no machine ${name}`);
      return found;
    },
    submit: (agentId: string, ...steps: readonly Step[]) =>
      server.submit({ template: template(agentId, steps) }),
    /** Another workflow with the ID of this one. */
    submitAs({ id }: Workflow, agentId: string, ...steps: readonly Step[]): Workflow {
      const [namespace = "", name = ""] = id.split("/");
      return server.submit({ namespace, name, template: template(agentId, steps) });
    },
    writeInventory: (...entries: readonly string[]) => replace(inventoryFile, inventoryOf(entries)),
    writeInventoryText: (text: string) => replace(inventoryFile, text),
    writePolicy: (text: string) => replace(policyFile, text),
    async [Symbol.asyncDispose]() {
      await server.close();
      for (const bmc of [...bmcs, ...ipmiBmcs.values()]) await bmc.close();
      await rm(folder, { recursive: true });
    },
  };
}

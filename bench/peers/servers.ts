import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { OPERATIONS, type Operation } from "../../scripts/performance/operations.ts";
import { BmcClient } from "../../shared/bmc/client.ts";
import { Connection } from "../../shared/contract/connection.ts";
import { startIpmiBmc } from "../../simulators/ipmi/bmc.ts";
import { SimulatedMachine } from "../../simulators/machine.ts";
import { startRedfishBmc } from "../../simulators/redfish/bmc.ts";
import { runIpmiSim } from "../../test/interop/ipmi-sim.ts";
import { findProgram } from "../../test/interop/programs.ts";
import { installPythonPackages } from "../../test/interop/python-packages.ts";
import { runFakeEmulator } from "../../test/interop/sushy-emulator.ts";
import type { Protocol } from "./recorder.ts";

/** A BMC that peers are measured against. */
export interface BmcServer {
  readonly title: string;
  readonly protocol: Protocol;
  readonly port: number;
  readonly password: string;
  readonly cipherSuite: 3 | 17;
  /** Brings the machine where the operation has something to do. */
  reset(operation: Operation): Promise<void>;
  close(): Promise<void>;
}

interface ServerKind {
  readonly title: string;
  readonly protocol: Protocol;
  /** Rejects when it is missing. */
  start(): Promise<BmcServer>;
}

const RESET_MS = 60_000;
export const USERNAME = "admin";

export const SERVERS: Readonly<Record<"redfish" | "ipmi" | "sushy-tools" | "ipmi_sim", ServerKind>> = {
  redfish: { title: "Redfish simulator", protocol: "redfish", start: () => simulated("redfish") },
  ipmi: { title: "IPMI simulator", protocol: "ipmi", start: () => simulated("ipmi") },
  "sushy-tools": {
    title: "sushy-tools",
    protocol: "redfish",
    async start() {
      const packages = await installPythonPackages("sushy", ["sushy==5.14.0", "sushy-tools==2.2.0"]);
      const { port, close } = await runFakeEmulator(packages);
      const { title, protocol } = SERVERS["sushy-tools"];
      return controlled({ title, protocol, port, password: "calvin", cipherSuite: 17 }, close);
    },
  },
  ipmi_sim: {
    title: "ipmi_sim",
    protocol: "ipmi",
    async start() {
      if (!findProgram("ipmi_sim")) throw new Error("ipmi_sim is not installed");
      const { port, close } = await runIpmiSim();
      const { title, protocol } = SERVERS.ipmi_sim;
      return controlled({ title, protocol, port, password: "password", cipherSuite: 3 }, close);
    },
  },
};

async function simulated(protocol: Protocol): Promise<BmcServer> {
  const machine = new SimulatedMachine({ power: "on", powerOnMs: 0, powerOffMs: 0 });
  const bmc =
    protocol === "redfish"
      ? await startRedfishBmc({ machines: [machine], tls: "http", password: "calvin" })
      : await startIpmiBmc({ machine, users: [{ name: USERNAME, password: "calvin" }], sessionSlots: 32 });
  const { title } = SERVERS[protocol];
  const server = { title, protocol, port: bmc.port, password: "calvin", cipherSuite: 17 } as const;
  return controlled(server, () => bmc.close(), machine);
}

/** A server whose machine our client resets, past every proxy; or without a detour if the machine is ours. */
function controlled(
  server: Omit<BmcServer, "reset" | "close">,
  close: () => Promise<void>,
  machine?: SimulatedMachine,
): BmcServer {
  const { protocol, port, password } = server;
  const client = new BmcClient(
    Connection.parse({
      host: "127.0.0.1",
      username: USERNAME,
      password,
      providers: [protocol],
      ...(protocol === "redfish"
        ? { redfish: { port, scheme: "http" } }
        : { ipmi: { port, allowSuite3: server.cipherSuite === 3 } }),
    }),
  );
  return {
    ...server,
    async reset(operation) {
      const signal = AbortSignal.timeout(RESET_MS);
      const verb = OPERATIONS[operation].before;
      if (!machine)
        await client.setPower({ verb, mode: "hard", softTimeoutMs: 0, timeoutMs: RESET_MS }, signal);
      else if (machine.power !== verb) {
        machine.do(verb);
        while (machine.power !== verb) await once(machine, "power", { signal });
      }
      if (operation === "pxe-once")
        await client.setBoot({ device: "disk", persistent: false, mode: "uefi" }, signal);
      if (operation === "insert-media") await client.ejectMedia(signal);
    },
    async close() {
      await client.close();
      await close();
    },
  };
}

/** Where the image is that virtual drives fetch. */
export async function startMediaServer(): Promise<{ readonly url: string; close(): void }> {
  const server = createServer((_, response) => response.end(Buffer.alloc(2_048)));
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/boot.iso`, close: () => void server.close() };
}

import { createSocket } from "node:dgram";
import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import { systemClock } from "../../shared/clock.ts";
import { type IpmiBmcOptions, startIpmiBmc } from "../../simulators/ipmi/bmc.ts";
import { SimulatedMachine, type SimulatedMachineOptions } from "../../simulators/machine.ts";
import { type RedfishBmcOptions, startRedfishBmc } from "../../simulators/redfish/bmc.ts";
import { SESSIONS } from "../../simulators/redfish/sessions.ts";
import { type SshConsoleOptions, startSshConsole } from "../../simulators/ssh-console.ts";
import { openFolder } from "../support/folder.ts";

export type TestedProvider = "redfish" | "ipmi";
export const TESTED_PROVIDERS: readonly TestedProvider[] = ["redfish", "ipmi"];

export interface LabOptions {
  readonly machine?: SimulatedMachineOptions;
  readonly redfish?: RedfishBmcOptions;
  readonly ipmi?: Omit<IpmiBmcOptions, "machine">;
  /** A serial console over SSH; none when absent. */
  readonly ssh?: Omit<SshConsoleOptions, "machine">;
}

/** IPMI messages that read, or belong to a session. */
const CHANGES_NOTHING = /^(Get|Read|Reserve|Open Session|RAKP|Set Session Privilege Level|Close Session)/;

/** A machine that both a Redfish and an IPMI BMC stand for, and a folder that goes away with them. */
export async function actionLab(options: LabOptions = {}) {
  // Quick, but off for long enough that a poll sees it.
  const quick = { powerOnMs: 10, powerOffMs: 10, softOffMs: 10, cycleOffMs: 1_000 };
  const machine = new SimulatedMachine({ ...quick, ...options.machine });
  const base = await openFolder();
  const redfish = base.own(await startRedfishBmc({ machines: [machine], tls: "http", ...options.redfish }));
  const ipmi = base.own(await startIpmiBmc({ ...options.ipmi, machine }));
  const ssh = options.ssh && base.own(await startSshConsole({ machine, ...options.ssh }));
  return {
    ...base,
    ...{ machine, redfish, ipmi, ssh },
    /** The variables of a connection through these providers. */
    env: (...providers: TestedProvider[]) => ({
      BMC_HOST: "127.0.0.1",
      BMC_USERNAME: "admin",
      BMC_PASSWORD: "calvin",
      BMC_PROVIDERS: providers.join(","),
      REDFISH_SCHEME: redfish.certificate ? "https" : "http",
      REDFISH_PORT: String(redfish.port),
      IPMI_PORT: String(ipmi.port),
      ...(ssh && { REDFISH_SSH_HOST_KEY: ssh.fingerprint }),
    }),
    /** The connection as the JSON that a worker writes to stdin. */
    connection: (...providers: TestedProvider[]) => ({
      host: "127.0.0.1",
      username: "admin",
      password: "calvin",
      providers,
      redfish: { scheme: redfish.certificate ? "https" : "http", port: redfish.port },
      ipmi: { port: ipmi.port },
    }),
    /** What was done to the machine, in order. */
    done: () => machine.commands.map(({ action }) => action),
    /** How often either BMC was asked for the power. */
    readings: () =>
      redfish.log.filter((line) => line === `GET ${redfish.systemPaths[0]}`).length +
      ipmi.log.filter((name) => name === "Get Chassis Status").length,
    /** What either BMC was asked that would change something, logins and logouts aside. */
    writes: () => [
      ...redfish.log.filter((line) => !line.startsWith("GET ") && !line.includes(SESSIONS)),
      ...ipmi.log.filter((name) => !CHANGES_NOTHING.test(name)),
    ],
    /** Requests and packets that either BMC has seen. */
    traffic: () => redfish.requests.length + ipmi.received,
    /** How often either BMC refused credentials; a message that was sent again is the same attempt. */
    refusals: () =>
      redfish.refusedCredentials +
      ipmi.log.filter((name, index) => name === "RAKP1" && ipmi.log[index - 1] !== "RAKP1").length,
  };
}

/** A TCP port that takes connections and never answers, after it has cut off as many as `cutOff` says. */
export async function tcpBlackHole(cutOff = 0) {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined).resume();
    if (sockets.size <= cutOff) socket.resetAndDestroy();
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  return {
    port: address.port,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}

/** A UDP port that takes packets and never answers. */
export async function udpBlackHole() {
  const socket = createSocket("udp4");
  socket.bind(0, "127.0.0.1");
  await once(socket, "listening");
  return {
    port: socket.address().port,
    async [Symbol.asyncDispose]() {
      socket.close();
      await once(socket, "close");
    },
  };
}

/** A port where nothing listens, neither TCP nor UDP: the system gives out higher ones by itself. */
export const REFUSING_PORT = 1;

/** Waits until `condition` holds; fails the test when it never does. */
export async function eventually(condition: () => boolean, withinMs = 25_000): Promise<void> {
  const endMs = Date.now() + withinMs;
  while (!condition()) {
    if (Date.now() > endMs) throw new Error("the condition never came true");
    await systemClock.sleep(5);
  }
}

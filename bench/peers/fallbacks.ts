import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { startIpmiBmc } from "../../simulators/ipmi/bmc.ts";
import { SimulatedMachine } from "../../simulators/machine.ts";
import { startRedfishBmc } from "../../simulators/redfish/bmc.ts";
import { freeUdpPort } from "../../test/interop/free-port.ts";
import { startSilentPort } from "../../test/support/proxy/silent-port.ts";
import { startUdpProxy } from "../../test/support/proxy/udp-proxy.ts";
import { alternate, type Row, type Sample, type Subject } from "./figures.ts";
import type { Order } from "./peer.ts";
import type { Protocol } from "./recorder.ts";
import { runChild } from "./run-child.ts";
import type { InstalledPeer, Section } from "./section.ts";
import { USERNAME } from "./servers.ts";

const ROUNDS = 3;
const LONGEST_MS = 30_000;
const PASSWORD = "calvin";

/** A protocol that does not work: where it is, and what ends it. */
interface Broken {
  readonly port: number;
  close(): Promise<void>;
}

interface Fault {
  readonly title: string;
  readonly preferred: Protocol;
  readonly scheme?: "https";
  start(): Promise<Broken>;
}

const FAULTS: readonly Fault[] = [
  { title: "Redfish dropped", preferred: "redfish", start: startSilentPort },
  { title: "Redfish refused", preferred: "redfish", start: startRefusing },
  { title: "Redfish hangs after connecting", preferred: "redfish", start: startHanging },
  { title: "Redfish with a wrong certificate", preferred: "redfish", scheme: "https", start: startUntrusted },
  { title: "IPMI dropped", preferred: "ipmi", start: startDropping },
  // Nothing listens there, which ICMP reports.
  {
    title: "IPMI refused",
    preferred: "ipmi",
    start: async () => ({ port: await freeUdpPort(), close: async () => undefined }),
  },
];

/** The power state when the preferred protocol does not work and the other one does. */
export const fallbacks: Section = {
  name: "fallbacks",
  title: "Time to result when the preferred protocol does not work",
  charted: /./,
  async run(context) {
    const machine = new SimulatedMachine({ power: "on" });
    const redfish = await startRedfishBmc({ machines: [machine], tls: "http", password: PASSWORD });
    const ipmi = await startIpmiBmc({ machine, users: [{ name: USERNAME, password: PASSWORD }] });
    const passwordFile = join(context.folder, "password");
    await writeFile(passwordFile, `${PASSWORD}\n`);
    try {
      for (const { title, preferred, scheme, start } of FAULTS) {
        const broken = await start();
        const other = preferred === "redfish" ? "ipmi" : "redfish";
        const order: Order = {
          ...{
            username: USERNAME,
            passwordFile,
            cipherSuite: 17,
            mediaUrl: "",
            operation: "state",
            repeat: 1,
          },
          protocol: preferred,
          port: broken.port,
          ...(scheme && { scheme }),
          fallback: { protocol: other, port: other === "ipmi" ? ipmi.port : redfish.port },
        };
        try {
          const able = context.peers.filter((peer) => peer.protocols.includes(preferred));
          const rows = await alternate(
            able.flatMap((peer) => subjectOf(peer, order)),
            { rounds: context.quick ? 1 : ROUNDS, warmUp: false, deadline: context.deadline },
          );
          const found = new Map(rows.map((row) => [row.subject, row]));
          await context.add(
            title,
            able.map((peer) => explained(peer, found.get(peer.name), scheme === "https")),
          );
        } finally {
          await broken.close();
        }
      }
    } finally {
      await Promise.all([redfish.close(), ipmi.close()]);
    }
  },
};

function subjectOf(peer: InstalledPeer, order: Order): readonly Subject[] {
  const { installed, name, fallsBack } = peer;
  if (!installed) return [];
  const { fallback, ...alone } = order;
  const given = fallsBack && fallback ? { ...alone, fallback } : alone;
  const measure = async (): Promise<Sample> => {
    const run = await runChild(installed.command(given), LONGEST_MS);
    const text = run.lines.at(-1)?.text ?? "";
    if (fallsBack && order.scheme !== "https" && run.exitCode !== 0)
      throw new Error(`exit code ${run.exitCode}: ${run.stderr || text}`);
    // It has no other protocol, or must not send its password by another one: it gives up.
    if ((!fallsBack || order.scheme === "https") && run.exitCode === 0 && text !== "")
      throw new Error(`answered ${text}`);
    return { wallMs: run.wallMs, cpuMs: run.cpuMs };
  };
  return [{ name, measure }];
}

function explained(
  { name, missing, fallsBack }: InstalledPeer,
  row: Row | undefined,
  isUntrusted: boolean,
): Row {
  if (!row) return { subject: name, runs: 0, figures: {}, note: `missing: ${missing}` };
  if (row.note !== undefined) return row;
  if (isUntrusted) return { ...row, note: "refuses to log in: the time until it says so" };
  return fallsBack ? row : { ...row, note: "has one protocol: the time until it gives up" };
}

async function startRefusing(): Promise<Broken> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return { port, close: async () => undefined };
}

async function startHanging(): Promise<Broken> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => sockets.add(socket.on("error", () => undefined).resume()));
  await once(server.listen(0, "127.0.0.1"), "listening");
  return {
    port: (server.address() as AddressInfo).port,
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

/** A certificate of its own, which no peer was told to trust. */
async function startUntrusted(): Promise<Broken> {
  const bmc = await startRedfishBmc({
    machines: [new SimulatedMachine({ power: "on" })],
    password: PASSWORD,
  });
  return { port: bmc.port, close: () => bmc.close() };
}

async function startDropping(): Promise<Broken> {
  const proxy = await startUdpProxy({ port: 9 });
  proxy.cut();
  return { port: proxy.port, close: () => proxy.close() };
}

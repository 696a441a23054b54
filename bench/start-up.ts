import { spawn } from "node:child_process";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execa } from "execa";
import { ACTION_FILE, bundleActions, bundleProgram, PROGRAM_FILE } from "../scripts/bundle/bundle.ts";
import { writeCodeCache } from "../scripts/bundle/code-cache.ts";
import { formatTable } from "../shared/table.ts";
import { startIpmiBmc } from "../simulators/ipmi/bmc.ts";
import { SimulatedMachine } from "../simulators/machine.ts";
import { startRedfishBmc } from "../simulators/redfish/bmc.ts";
import { median } from "./figures.ts";
import { inTurn, type Subject, verdictOf } from "./in-turn.ts";

const RUNS = 20;
const ACTION = "power-status";
/** Runs of which the processor time is summed: a shell reports it in hundredths of a second. */
const CPU_RUNS = 10;
/** Far above any start; a child that has not called by then is broken. */
const GIVE_UP_MS = 10_000;
const LOGIN = { BMC_HOST: "127.0.0.1", BMC_USERNAME: "admin", BMC_PASSWORD: "calvin" };
/** The goals, as multiples of a bare Node. */
const FIRST_PACKET = 1.6;
const PROCESSOR = 2;
const PACKAGE_MS = 300;

/** What Node itself loads of its modules before the first packet can leave: the floor of every Node program that speaks the protocol. */
const FLOORS = {
  redfish:
    "for (const name of ['crypto', 'http', 'net']) require(name); require('tls').createSecureContext()",
  ipmi: "for (const name of ['crypto', 'dgram', 'cluster', 'net']) require(name)",
} as const;

type Environment = Readonly<Record<string, string>>;

interface Listener {
  readonly port: number;
  /** Resolves with the time of the next packet. */
  next(): Promise<number>;
  close(): void;
}

/** What an action costs before and beside its requests, as multiples of what Node itself needs. */
export async function startUpTable(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), "pbnj-worker-bench-"));
  try {
    const actions = await bundleActions([ACTION], join(directory, "actions"));
    await writeCodeCache(actions);
    await bundleProgram(directory);
    const action = join(directory, "actions", ACTION, ACTION_FILE);
    const installed = [join(directory, PROGRAM_FILE), "action", ACTION];
    const own = { NODE_COMPILE_CACHE: join(directory, "compiled") };
    return [await firstPacketTable(action), await wholeActionTable(installed, own)].join("\n\n");
  } finally {
    await rm(directory, { recursive: true });
  }
}

/** From process start to the first packet to the BMC. */
async function firstPacketTable(action: string): Promise<string> {
  const redfish = await listenTcp();
  const ipmi = await listenUdp();
  const toRedfish = { ...LOGIN, BMC_PROVIDERS: "redfish", REDFISH_PORT: String(redfish.port) };
  const toIpmi = { ...LOGIN, BMC_PROVIDERS: "ipmi", IPMI_PORT: String(ipmi.port) };
  try {
    const floors: readonly Subject[] = [
      ["bare node -e 0, to its end", () => timeToExit(["-e", "0"])],
      ["node's modules for redfish, to its end", () => timeToExit(["-e", FLOORS.redfish])],
      ["node's modules for ipmi, to its end", () => timeToExit(["-e", FLOORS.ipmi])],
    ];
    const actions: readonly Subject[] = [
      ["action in its image, redfish", () => timeToPacket([action], toRedfish, redfish)],
      ["action in its image, ipmi", () => timeToPacket([action], toIpmi, ipmi)],
    ];
    const measured = await inTurn(RUNS, [...floors, ...actions]);
    const bare = median(measured[0]?.[1] ?? []);
    const rows = measured.map(([title, times], index) => {
      const middle = median(times);
      const [ratio, verdict] = verdictOf(middle / bare, FIRST_PACKET);
      return [title, `${middle.toFixed(0)} ms`, ratio, ...(index < floors.length ? [] : [verdict])];
    });
    return formatTable(["to the first packet", `median of ${RUNS}`, "bare node", "goal"], rows, [1, 2]);
  } finally {
    redfish.close();
    ipmi.close();
  }
}

/** Whole actions of the installed package, which are also those of the process runtime, against simulated BMCs. */
async function wholeActionTable(installed: readonly string[], env: Environment): Promise<string> {
  const machine = new SimulatedMachine({ power: "on" });
  const redfish = await startRedfishBmc({ machines: [machine], password: LOGIN.BMC_PASSWORD });
  const ipmi = await startIpmiBmc({ machine, users: [{ name: "admin", password: LOGIN.BMC_PASSWORD }] });
  const byRedfish = {
    ...LOGIN,
    ...env,
    BMC_PROVIDERS: "redfish",
    REDFISH_PORT: String(redfish.port),
    BMC_TLS_FINGERPRINT: redfish.fingerprint,
  };
  const byIpmi = { ...LOGIN, ...env, BMC_PROVIDERS: "ipmi", IPMI_PORT: String(ipmi.port) };
  const kinds = [
    ["bare node -e 0", ["-e", "0"], {}],
    ["installed, redfish", installed, byRedfish],
    ["installed, ipmi", installed, byIpmi],
  ] as const;
  const wall = kinds.map(([title, argv, more]): Subject => [title, () => timeToExit(argv, more)]);
  const cpu = kinds.map(([title, argv, more]): Subject => [title, () => processorTime(argv, more)]);
  try {
    const walls = await inTurn(RUNS, wall);
    const cpus = await inTurn(3, cpu);
    const bare = median(cpus[0]?.[1] ?? []);
    const rows = walls.map(([title, times], index) => {
      const [wallMs, cpuMs] = [median(times), median(cpus[index]?.[1] ?? [])];
      const met = index === 0 ? "" : wallMs < PACKAGE_MS ? "met" : "missed";
      const processor = verdictOf(cpuMs / bare, PROCESSOR);
      return [title, `${wallMs.toFixed(0)} ms`, met, `${cpuMs.toFixed(0)} ms`, ...processor];
    });
    const head = ["whole action", `median of ${RUNS}`, `${PACKAGE_MS} ms`, "processor", "bare node", "goal"];
    return formatTable(head, rows, [1, 3, 4]);
  } finally {
    await Promise.all([redfish.close(), ipmi.close()]);
  }
}

/** User and system time of one run in milliseconds, as the shell counts its children's. */
async function processorTime(argv: readonly string[], env: Environment = {}): Promise<number> {
  const loop = `i=0; while [ $i -lt ${CPU_RUNS} ]; do "$@" >/dev/null 2>&1 || exit; i=$((i+1)); done; times`;
  const { stdout } = await execa("sh", ["-c", loop, "sh", process.execPath, ...argv], {
    env,
    extendEnv: false,
    stdin: "ignore",
  });
  const times = [...(stdout.split("\n")[1] ?? "").matchAll(/(\d+)m([\d.]+)s/g)];
  const seconds = times.reduce((sum, [, minutes, rest]) => sum + Number(minutes) * 60 + Number(rest), 0);
  return (seconds * 1_000) / CPU_RUNS;
}

async function timeToExit(argv: readonly string[], env: Environment = {}): Promise<number> {
  const startedMs = performance.now();
  const [code] = await once(spawn(process.execPath, argv, { stdio: "ignore", env }), "exit");
  if (code !== 0) throw new Error(`exit code ${code}`);
  return performance.now() - startedMs;
}

async function timeToPacket(argv: readonly string[], env: Environment, listener: Listener): Promise<number> {
  const packet = listener.next();
  const startedMs = performance.now();
  const child = spawn(process.execPath, argv, { stdio: "ignore", env });
  const exited = once(child, "exit");
  const timer = setTimeout(() => child.kill("SIGKILL"), GIVE_UP_MS);
  try {
    const at = await Promise.race([
      packet,
      exited.then(() => Promise.reject(new Error("the action sent nothing"))),
    ]);
    return at - startedMs;
  } finally {
    clearTimeout(timer);
    child.kill("SIGTERM");
    await exited;
  }
}

async function listenTcp(): Promise<Listener> {
  const waiting = waiters();
  const server = createServer((socket) => {
    waiting.arrived();
    socket.on("error", () => undefined);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the listener has no port");
  return { port: address.port, next: waiting.next, close: () => void server.close() };
}

async function listenUdp(): Promise<Listener> {
  const waiting = waiters();
  const socket = createSocket("udp4", waiting.arrived);
  socket.bind(0, "127.0.0.1");
  await once(socket, "listening");
  return { port: socket.address().port, next: waiting.next, close: () => void socket.close() };
}

function waiters() {
  let resolveNext: ((at: number) => void) | undefined;
  return {
    arrived: () => resolveNext?.(performance.now()),
    next: () =>
      new Promise<number>((resolve) => {
        resolveNext = resolve;
      }),
  };
}

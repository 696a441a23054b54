import { spawn } from "node:child_process";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { ACTION_FILE, bundleActions } from "../scripts/bundle/bundle.ts";
import { formatTable } from "../shared/table.ts";
import { median } from "./figures.ts";

const RUNS = 20;
const ACTION = "power-status";
/** Far above any start; a child that has not called by then is broken. */
const GIVE_UP_MS = 10_000;

interface Listener {
  readonly port: number;
  /** Resolves with the time of the next packet. */
  next(): Promise<number>;
  close(): void;
}

/** From process start to the first packet to the BMC, beside what Node itself needs to start. */
export async function startUpTable(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), "pbnj-worker-bench-"));
  await bundleActions([ACTION], directory);
  const bundled = join(directory, ACTION, ACTION_FILE);
  const source = fileURLToPath(new URL("../actions/main.ts", import.meta.url));
  const redfish = await listenTcp();
  const ipmi = await listenUdp();
  try {
    const toRedfish = { BMC_PROVIDERS: "redfish", REDFISH_PORT: String(redfish.port) };
    const toIpmi = { BMC_PROVIDERS: "ipmi", IPMI_PORT: String(ipmi.port) };
    const measured: [string, number[]][] = [
      ["bare node -e 0, to its end", await repeat(() => timeToExit(["-e", "0"]))],
      [
        "action, redfish, to the first packet",
        await repeat(() => timeToPacket([bundled], toRedfish, redfish)),
      ],
      ["action, ipmi, to the first packet", await repeat(() => timeToPacket([bundled], toIpmi, ipmi))],
      ["from source, redfish", await repeat(() => timeToPacket([source, ACTION], toRedfish, redfish))],
      ["from source, ipmi", await repeat(() => timeToPacket([source, ACTION], toIpmi, ipmi))],
    ];
    const bare = median(measured[0]?.[1] ?? []);
    const rows = measured.map(([name, times]) => {
      const middle = median(times);
      return [name, `${middle.toFixed(0)} ms`, `${(middle / bare).toFixed(1)} x`];
    });
    return formatTable(["start", `median of ${RUNS}`, "bare node"], rows, [1, 2]);
  } finally {
    redfish.close();
    ipmi.close();
    await rm(directory, { recursive: true });
  }
}

async function repeat(measure: () => Promise<number>): Promise<number[]> {
  // The first run fills the caches that every later start of an installed action finds.
  await measure();
  const times: number[] = [];
  for (let run = 0; run < RUNS; run += 1) times.push(await measure());
  return times;
}

async function timeToExit(argv: readonly string[]): Promise<number> {
  const startedMs = performance.now();
  await once(spawn(process.execPath, argv, { stdio: "ignore" }), "exit");
  return performance.now() - startedMs;
}

async function timeToPacket(
  argv: readonly string[],
  connection: Readonly<Record<string, string>>,
  listener: Listener,
): Promise<number> {
  const packet = listener.next();
  const startedMs = performance.now();
  const child = spawn(process.execPath, argv, {
    stdio: "ignore",
    env: {
      BMC_HOST: "127.0.0.1",
      BMC_USERNAME: "bench",
      BMC_PASSWORD: "bench",
      NODE_COMPILE_CACHE: join(tmpdir(), "pbnj-worker-bench-compile-cache"),
      ...connection,
    },
  });
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
    // A clean stop lets the child write its compile cache, as it does after every real run.
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

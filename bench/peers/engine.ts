import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { execa } from "execa";
import { type ContainerEngine, findContainerEngine } from "../../scripts/images/container-engine.ts";
import { ChildProgram } from "../fleet/child-program.ts";
import { stopWorker } from "../fleet/lab.ts";
import { figuresOf } from "../fleet/process-figures.ts";
import { BatchOver, HostReady, LEGACY_API } from "../fleet/tink-host.ts";
import { oneLine, type Row, type Sample, spreads } from "./figures.ts";
import { goProgram } from "./peers.ts";
import type { Section, SectionContext } from "./section.ts";

const HOST = fileURLToPath(new URL("../fleet/tink-host.ts", import.meta.url));
const IMAGE = "localhost/pbnj-worker-bench/nothing:local";
const QUICK_WORKFLOWS = 5;
const ACTIONS = ["first", "second", "third"];
const WITHIN_MS = 1_800_000;
const BY_HAND_RUNS = 20;
/** Lanes of a peer are processes; so many at once are enough to fill this machine. */
const PARALLEL = 20;

/** A worker and the API that it speaks. */
interface Contender {
  readonly subject: string;
  readonly peer: string;
  readonly api: "current" | "legacy";
}

const CONTENDERS: readonly Contender[] = [
  { subject: "pbnj-worker", peer: "pbnj-worker", api: "current" },
  { subject: "tink-agent", peer: "tink-agent", api: "current" },
  { subject: "pbnj-worker, legacy API", peer: "pbnj-worker", api: "legacy" },
  { subject: "tink-worker", peer: "tink-worker", api: "legacy" },
];

const template = JSON.stringify({
  version: "0.1",
  name: "nothing",
  global_timeout: 3_600,
  tasks: [
    {
      name: "nothing",
      worker: "{{ .agent }}",
      // tink-worker names its containers after their actions.
      actions: ACTIONS.map((name) => ({ name: `${name}-{{ .agent }}`, image: IMAGE, timeout: 300 })),
    },
  ],
});

/** A program that does nothing, in an image with nothing else, in every action of many workflows, with Docker. */
export const engine: Section = {
  name: "engine",
  title: "Engine: workflows of three actions that do nothing, with Docker",
  charted: /./,
  async run(context) {
    const count = context.quick ? QUICK_WORKFLOWS : context.workflows;
    const titles = [
      `${count} workflows, one after the other`,
      `${count} workflows, ${PARALLEL} agent IDs at once`,
    ];
    let docker: ContainerEngine;
    try {
      docker = await findContainerEngine();
      await buildNothing(docker, context.folder);
    } catch (thrown) {
      for (const title of titles) await context.add(title, [missing("pbnj-worker", oneLine(thrown))]);
      return;
    }
    await context.add("docker run, by hand", [await byHand(docker)]);
    for (const [index, title] of titles.entries()) {
      const rows: Row[] = [];
      for (const contender of CONTENDERS) {
        rows.push(await measure(contender, context, { count, lanes: index === 0 ? 1 : PARALLEL }));
      }
      await context.add(title, rows);
    }
  },
};

interface Load {
  readonly count: number;
  readonly lanes: number;
}

async function measure(
  { subject, peer: name, api }: Contender,
  { folder, deadline, peers }: SectionContext,
  load: Load,
): Promise<Row> {
  const peer = peers.find((each) => each.name === name);
  const argv = peer?.installed?.argv;
  if (!argv) return missing(subject, peer?.missing ?? "it is no worker");
  if (deadline.aborted) return { subject, runs: 0, figures: {}, note: "not measured: time is up" };
  const own = await mkdtemp(join(folder, "engine-"));
  try {
    const agentIds = Array.from({ length: load.lanes }, (_, index) => `bench-${index}`);
    await using host = new ChildProgram("the tink server", HOST, api === "legacy" ? [LEGACY_API] : []);
    const { address } = await host.hear(HostReady);
    const commands =
      name === "pbnj-worker"
        ? [[...(await ourCommand(argv, own, address, agentIds)), "--grpc-api", api]]
        : agentIds.map((id) => [...argv, id]);
    const workers = commands.map((command) => startWorker(command, own, address));
    try {
      const sample = await runBatch(host, workers, agentIds, load.count);
      return { subject, runs: 1, figures: spreads([sample]) };
    } finally {
      await Promise.all(workers.map(stopWorker));
    }
  } catch (thrown) {
    return { subject, runs: 0, figures: {}, note: `failed: ${oneLine(thrown)}` };
  }
}

async function runBatch(
  host: ChildProgram,
  workers: readonly ChildProcess[],
  lanes: readonly string[],
  count: number,
): Promise<Sample> {
  const pids = workers.map(({ pid }) => pid ?? 0);
  const agentIds = Array.from({ length: count }, (_, index) => lanes[index % lanes.length] ?? "");
  const run = async (name: string, ids: readonly string[]) => {
    const over = host.hear(BatchOver, WITHIN_MS);
    host.tell({ kind: "submit", batch: name, template, agentIds: ids, everyMs: 0 });
    const ended = Promise.race(workers.map((worker) => once(worker, "exit"))).then(([code]): never => {
      throw new Error(`the worker ended with ${code}`);
    });
    ended.catch(() => undefined);
    const { actions } = await Promise.race([over, ended]);
    const failed = actions.find(({ state }) => state !== "SUCCESS");
    if (failed) throw new Error(`an action failed: ${failed.message}`);
    return actions;
  };
  // Every lane polls, and the image is known.
  await run("warm-up", lanes);
  const before = await cpuOf(pids);
  const actions = await run("batch", agentIds);
  const after = await cpuOf(pids);
  const wallMs =
    Math.max(...actions.map(({ endedMs = 0 }) => endedMs)) -
    Math.min(...actions.map(({ readyMs }) => readyMs));
  return {
    wallMs,
    cpuMs: after.cpuMs - before.cpuMs,
    peakBytes: after.peakBytes,
    perActionMs: wallMs / actions.length,
  };
}

/** Total CPU time and peak memory of several processes. */
async function cpuOf(pids: readonly number[]) {
  const figures = await Promise.all(pids.map((pid) => figuresOf(pid)));
  return figures.reduce(
    (sum, each) => ({
      cpuMs: sum.cpuMs + (each?.cpuMs ?? 0),
      peakBytes: sum.peakBytes + (each?.peakBytes ?? 0),
    }),
    { cpuMs: 0, peakBytes: 0 },
  );
}

/** Runs equal containers without a worker, as the lower bound. */
async function byHand({ program }: ContainerEngine): Promise<Row> {
  const samples: Sample[] = [];
  for (let run = 0; run <= BY_HAND_RUNS; run += 1) {
    const startedMs = performance.now();
    await execa(program, ["run", "--rm", "--network", "none", IMAGE], { stdin: "ignore" });
    const wallMs = performance.now() - startedMs;
    if (run > 0) samples.push({ wallMs, perActionMs: wallMs });
  }
  return { subject: "docker run", runs: samples.length, figures: spreads(samples) };
}

async function ourCommand(
  argv: readonly string[],
  folder: string,
  address: string,
  agentIds: readonly string[],
): Promise<readonly string[]> {
  const policy = join(folder, "policy.yaml");
  await writeFile(policy, JSON.stringify({ trustedImages: [], images: [IMAGE] }));
  return [
    ...[...argv, "start", "--grpc-server", address, "--agent-id", agentIds.join(), "--policy", policy],
    ...["--runtime", "docker", "--pull-policy", "never", "--log-level", "warn"],
  ];
}

/** The peer's command gets the address of the tink server, and its agent ID as the last argument. */
function startWorker(
  [program = "", ...argv]: readonly string[],
  folder: string,
  address: string,
): ChildProcess {
  return spawn(program, argv, {
    env: {
      PATH: process.env["PATH"],
      HOME: folder,
      XDG_STATE_HOME: folder,
      XDG_CACHE_HOME: folder,
      PBNJ_HTTP_ADDRESS: "off",
      PEER_GRPC_SERVER: address,
    },
    stdio: ["ignore", "ignore", "inherit"],
  });
}

/** An image of one static program, which ends at once. */
async function buildNothing(docker: ContainerEngine, folder: string): Promise<void> {
  const context = join(folder, "nothing");
  await mkdir(context);
  await writeFile(join(context, "main.go"), "package main\n\nfunc main() {}\n");
  await execa(goProgram(), ["build", "-o", "nothing", "main.go"], {
    cwd: context,
    env: { CGO_ENABLED: "0" },
  });
  await writeFile(
    join(context, "Dockerfile"),
    'FROM scratch\nCOPY nothing /nothing\nENTRYPOINT ["/nothing"]\n',
  );
  await docker.run(["build", "--tag", IMAGE, context]);
}

function missing(subject: string, reason: string): Row {
  return { subject, runs: 0, figures: {}, note: `missing: ${reason}` };
}

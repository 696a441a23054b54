import { appendFileSync } from "node:fs";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { figuresOf } from "../../bench/fleet/process-figures.ts";
import { EXIT_TEMPORARY_FAILURE } from "../../worker/commands/start.ts";
import { dice } from "../support/dice.ts";
import { FaultRunner, STOP_PATIENCE_MS } from "./apply-fault.ts";
import { type FaultTargets, type PlannedFault, planFaults } from "./fault-plan.ts";
import { buildImages, REGISTRY, TAG } from "./images.ts";
import { judgeActions } from "./judge-actions.ts";
import { type Growth, growthOf, judgeGrowth, type Reading } from "./judge-growth.ts";
import { type Lab, type LabWorker, type Records, startLab } from "./lab.ts";
import { descriptorsOf, filesLeft } from "./leftovers.ts";
import type { ChaosOptions } from "./options.ts";
import type { Finding } from "./records.ts";
import { readWorkerLogs, type WorkerLog } from "./worker-log.ts";
import type { WorkerExit } from "./worker-process.ts";
import { planWorkflow } from "./workload.ts";

/** The result of a run. */
export interface ChaosResult {
  readonly findings: readonly Finding[];
  readonly records: Records;
  readonly faults: ReadonlyMap<string, number>;
  readonly exits: ReadonlyMap<string, readonly WorkerExit[]>;
  readonly log: WorkerLog;
  readonly growth: readonly Growth[];
  /** From the end of a worker to the end of what it had begun. */
  readonly longestRecoveryMs: number;
  /** Sessions that actions left open which were ended by force, or with the worker that ran them inside itself. */
  readonly sessionsLost: number;
  /** Faults that cannot be made here, and why. */
  readonly leftOut: ReadonlyMap<string, string>;
  readonly tookMs: number;
}

const WARM_UP_SHARE = 0.15;
const WARM_UP_MOST_MS = 20_000;
/** How long a round lasts before everything settles and is checked. */
const ROUND_MS = 60_000;
/** For the longest action, what comes after it in its workflow, and the reports of them. */
const SETTLE_MS = 240_000;
const CLEAN_UP_MS = 20_000;
const LOOK_MS = 200;
const CRASH_LINES = 8;
const PROGRESS_MS = 15_000;
const SESSIONS_RULE = "no session is left on a BMC";
/** The dice of faults and work are different ones: a fault more must not change the work. */
const WORK_SEED = 0x5eed;

/**
 * Runs workers, a tink server and BMCs, lets things go wrong in rounds, and judges the result. Rejects when
 * `signal` aborts; whatever happens, nothing is left running.
 */
export async function runChaos(
  options: ChaosOptions,
  say: (line: string) => void,
  signal: AbortSignal,
): Promise<ChaosResult> {
  const startedMs = performance.now();
  const images = options.runtimes.includes("docker") ? await buildImages() : [];
  signal.throwIfAborted();
  await using lab = await startLab(options, images);
  for (const [fault, reason] of lab.leftOut) say(`left out: ${fault}: ${reason}`);
  const run = new ChaosRun(options, lab, say, signal);
  await run.work(Math.min(WARM_UP_MOST_MS, options.durationMs * WARM_UP_SHARE));
  await run.settle();
  await run.expectSuccess();
  await run.read();
  const plan = planFaults(dice(options.seed), options.durationMs, targetsOf(lab));
  for (let fromMs = 0; fromMs < options.durationMs && run.isWhole; fromMs += ROUND_MS) {
    const lengthMs = Math.min(ROUND_MS, options.durationMs - fromMs);
    const faults = plan.filter(({ atMs }) => fromMs <= atMs && atMs < fromMs + lengthMs);
    await run.work(lengthMs, faults, fromMs);
    await run.faults.calm();
    await run.settle();
    await run.read();
  }
  const result = await run.conclude();
  return { ...result, tookMs: performance.now() - startedMs };
}

function targetsOf({ workers, engine }: Lab): FaultTargets {
  return {
    mortal: workers.filter(({ mortal }) => mortal).map(({ name }) => name),
    workers: workers.map(({ name }) => name),
    inContainers: workers.filter(({ runtime }) => runtime === "docker").map(({ name }) => name),
    hasEngine: engine !== undefined,
    replicas: workers.filter(({ runtime }) => runtime === "kubernetes").map(({ name }) => name),
    withNames: workers.filter(({ names }) => names !== undefined).map(({ name }) => name),
    withProcesses: workers.filter(({ runtime }) => runtime !== "in-process").map(({ name }) => name),
    withCertificate: workers.flatMap(({ machines }) =>
      machines.filter(({ fingerprint }) => fingerprint !== undefined).map(({ name }) => name),
    ),
    withDisk: workers.filter(({ disk }) => disk !== undefined).map(({ name }) => name),
    machines: workers.flatMap(({ machines }) => machines.map(({ name }) => name)),
  };
}

class ChaosRun {
  readonly faults: FaultRunner;
  readonly #options: ChaosOptions;
  readonly #lab: Lab;
  readonly #say: (line: string) => void;
  readonly #signal: AbortSignal;
  readonly #roll: () => number;
  readonly #targets;
  readonly #readings = new Map<LabWorker, Reading[]>();
  readonly #findings: Finding[] = [];
  #submitted = 0;
  #saidMs = performance.now();

  constructor(options: ChaosOptions, lab: Lab, say: (line: string) => void, signal: AbortSignal) {
    this.#options = options;
    this.#lab = lab;
    this.#say = say;
    this.#signal = signal;
    this.#roll = dice(options.seed ^ WORK_SEED);
    this.faults = new FaultRunner(lab, (line) => appendFileSync(lab.faultLog, `${line}\n`));
    const agentIds = lab.workers.flatMap(({ machines, sharedAgentId }) =>
      machines.map(({ name }) => [name, { own: `pbnj-${name}`, shared: sharedAgentId }] as const),
    );
    this.#targets = { agentIds: new Map(agentIds), registry: REGISTRY, tag: TAG };
  }

  /** False once something hangs, because further rounds would show nothing new. */
  get isWhole(): boolean {
    return this.#findings.length === 0;
  }

  /** Keeps so many workflows under way for that time, while faults happen at theirs. */
  async work(forMs: number, faults: readonly PlannedFault[] = [], offsetMs = 0): Promise<void> {
    const startedMs = performance.now();
    const waiting = faults.toSorted((a, b) => a.atMs - b.atMs);
    for (;;) {
      this.#signal.throwIfAborted();
      const nowMs = performance.now() - startedMs;
      if (nowMs >= forMs) break;
      while (waiting[0] !== undefined && waiting[0].atMs - offsetMs <= nowMs) {
        const fault = waiting.shift();
        if (fault) this.faults.begin(fault);
      }
      const { submitted, over } = await this.#count();
      for (let live = submitted - over; live < this.#options.load * this.#lab.workers.length; live += 1) {
        this.#submitted += 1;
        await this.#lab.tink({ kind: "submit", ...planWorkflow(this.#roll, this.#submitted, this.#targets) });
      }
      await sleep(LOOK_MS, undefined, { signal: this.#signal });
    }
  }

  /** Waits until every workflow is over; after its time that is a finding. */
  async settle(): Promise<void> {
    const giveUpMs = performance.now() + SETTLE_MS;
    for (;;) {
      const { submitted, over } = await this.#count();
      if (submitted === over) return;
      if (performance.now() > giveUpMs) {
        const text = `${submitted - over} workflows are not over ${SETTLE_MS / 1_000} s after the last fault`;
        this.#findings.push({ rule: "every workflow ends", text });
        return;
      }
      await sleep(LOOK_MS, undefined, { signal: this.#signal });
    }
  }

  /** Before anything went wrong: what fails now has another reason, and the rest would tell nothing. */
  async expectSuccess(): Promise<void> {
    const { workflows, actions } = await this.#lab.records();
    const failed = workflows.filter(({ state }) => state !== "SUCCESS");
    const [end] = actions.flatMap(({ ends }) => ends).filter(({ state }) => state !== "SUCCESS");
    if (failed.length === 0) return;
    const text = `${failed.length} of ${workflows.length} failed before the first fault: ${end?.message}`;
    this.#findings.push({ rule: "without faults everything succeeds", text });
  }

  /** Takes the measure of every worker, once its actions are put away. */
  async read(): Promise<void> {
    await this.#untilClean();
    const { actions } = await this.#lab.records();
    for (const worker of this.#lab.workers) {
      const { pid } = worker.process;
      if (pid === undefined) continue;
      const heldBytes = await worker.process.heldBytes();
      const figures = await figuresOf(pid);
      const readings = this.#readings.get(worker) ?? [];
      this.#readings.set(worker, readings);
      readings.push({
        at: Date.now(),
        pid,
        actions: actions.filter(({ ends }) => ends.length > 0).length,
        heldBytes: heldBytes ?? 0,
        residentBytes: figures?.residentBytes ?? 0,
        descriptors: await descriptorsOf(pid),
      });
    }
  }

  /** Judges everything, and stops the workers in between as an operator does. */
  async conclude(): Promise<Omit<ChaosResult, "tookMs">> {
    const { workers } = this.#lab;
    const findings = [...this.#findings, ...(await this.#untilClean())];
    this.#lab.leaveDown();
    await Promise.all(workers.map(async (worker) => findings.push(...(await stopped(worker)))));
    for (const text of await this.#lab.running()) findings.push({ rule: "nothing runs on", text });
    for (const { name, stateDirectory } of workers) findings.push(...(await filesLeft(name, stateDirectory)));
    const records = await this.#lab.records();
    await writeFile(this.#lab.recordsFile, JSON.stringify(records));
    const exits = new Map(workers.map(({ name, process }) => [name, process.exits]));
    const interruptions = new Map(
      workers.flatMap(({ machines, inventory }) => {
        const owners = workers.filter((worker) => worker.inventory === inventory);
        const ends = owners.flatMap(({ process }) => process.exits.map(({ at }) => at));
        return machines.map(({ name }) => [name, ends] as const);
      }),
    );
    const sharing = workers.filter(({ replicas }) => replicas.length > 1);
    const sharedMachines = new Set(sharing.flatMap(({ machines }) => machines.map(({ name }) => name)));
    const logs = await Promise.all(workers.map(({ logFile }) => readFile(logFile, "utf8")));
    const sessions = this.#sessions(records);
    const read = readWorkerLogs(logs);
    findings.push(
      ...judgeActions({
        ...records,
        interruptions,
        sharedMachines,
        pendingReports: new Set(read.pendingReports),
        longJumps: this.faults.longJumps,
      }),
      ...sessions.findings,
      ...this.#lostWithoutReason(records, read),
      ...workers.flatMap((worker, index) => this.#endedByThemselves(worker, logs[index] ?? "")),
      ...workers.flatMap((worker) => judgeGrowth(worker.name, this.#readings.get(worker) ?? [])),
      ...(await this.#passwordTold(records, logs)),
      ...this.faults.findings,
    );
    return {
      findings,
      records,
      exits,
      faults: this.faults.counts,
      log: read,
      growth: workers.flatMap((worker) => growthOf(worker.name, this.#readings.get(worker) ?? []) ?? []),
      longestRecoveryMs: longestRecovery(records, interruptions),
      sessionsLost: sessions.lost,
      leftOut: this.#lab.leftOut,
    };
  }

  /** Cleanup after the final report may take a moment; what remains after that is a leak. */
  async #untilClean(): Promise<readonly Finding[]> {
    const giveUpMs = performance.now() + CLEAN_UP_MS;
    for (;;) {
      const running = await this.#lab.running();
      const files = await Promise.all(
        this.#lab.workers.map(({ name, stateDirectory }) => filesLeft(name, stateDirectory)),
      );
      const left = [...running.map((text) => ({ rule: "nothing runs on", text })), ...files.flat()];
      if (left.length === 0 || performance.now() > giveUpMs) return left;
      await sleep(LOOK_MS, undefined, { signal: this.#signal });
    }
  }

  async #count() {
    const counts = await this.#lab.count();
    if (performance.now() - this.#saidMs > PROGRESS_MS) {
      this.#saidMs = performance.now();
      const faults = [...this.faults.counts.values()].reduce((sum, count) => sum + count, 0);
      this.#say(
        `${counts.submitted} workflows, ${counts.submitted - counts.over} under way, ${faults} faults`,
      );
    }
    return counts;
  }

  /** What dies by force logs out nowhere; the BMC ends such a session by itself after a time. */
  #sessions({ machines }: Records): { readonly findings: readonly Finding[]; readonly lost: number } {
    const findings: Finding[] = [];
    let lost = 0;
    for (const { name, runtime, mortal, inventory, replicas } of this.#lab.workers) {
      if (name !== replicas[0]) continue;
      const left = machines.filter((machine) => machine.sessions > 0 && inventory.has(machine.name));
      const count = left.reduce((sum, { sessions }) => sum + sessions, 0);
      const killed = replicas.reduce((sum, each) => sum + (this.faults.actionsKilled.get(each) ?? 0), 0);
      const diedWithWorker = mortal && runtime === "in-process";
      if (diedWithWorker || count <= killed) lost += count;
      else {
        const text = `${name}: ${left.map((machine) => `${machine.sessions} of ${machine.name}`).join(", ")}`;
        findings.push({ rule: SESSIONS_RULE, text });
      }
    }
    return { findings, lost };
  }

  #endedByThemselves({ name, process }: LabWorker, log: string): readonly Finding[] {
    const lastWords = readWorkerLogs([log]).foreign.slice(-CRASH_LINES).join(" | ");
    return process.exits
      .filter(({ asked }) => !asked)
      .filter(
        ({ at, code }) =>
          !(code === 2 || code === EXIT_TEMPORARY_FAILURE) ||
          !this.faults.troubles.some(
            ({ workers, fromMs, toMs }) => workers.includes(name) && fromMs <= at && at <= toMs + 1_000,
          ),
      )
      .map(({ code, signal, at }) => {
        const text = `${name} ended with ${signal ?? `code ${code}`} at ${new Date(at).toISOString()}: ${lastWords}`;
        return { rule: "a worker lives until it is told to stop", text };
      });
  }

  /** A process or a container outlives its worker, and what it says of its end is lost with a full disk alone. */
  #lostWithoutReason(
    { actions }: Records,
    { lostAndFailed, lostAndRunAgain }: WorkerLog,
  ): readonly Finding[] {
    const lost = new Set([...lostAndFailed, ...lostAndRunAgain]);
    return actions
      .filter(({ workflow, index, name }) => lost.has(`${workflow}/${index + 1}-${name}`))
      .flatMap(({ workflow, index, name, machine, startedAt, ends }) => {
        const worker = this.#lab.workers.find(({ inventory }) => inventory.has(machine));
        const [from, to] = [Math.min(...startedAt), ends[0]?.at ?? Number.POSITIVE_INFINITY];
        const excused =
          worker?.runtime === "in-process" ||
          this.faults.troubles.some(
            ({ workers, fromMs, toMs }) =>
              workers.some((name) => worker?.replicas.includes(name)) && fromMs <= to && from <= toMs,
          );
        const text = `${workflow}/${index + 1}-${name} (${machine}) was lost with ${worker?.name}`;
        return excused ? [] : [{ rule: "an action outlives its worker", text }];
      });
  }

  async #passwordTold({ actions }: Records, logs: readonly string[]): Promise<readonly Finding[]> {
    const { workers, password } = this.#lab;
    const told: string[] = [];
    for (const [index, { name, stateDirectory }] of workers.entries()) {
      if (logs[index]?.includes(password)) told.push(`the log of ${name}`);
      for (const entry of await readdir(stateDirectory, { recursive: true, withFileTypes: true })) {
        if (!entry.isFile()) continue;
        const text = await readFile(join(entry.parentPath, entry.name), "utf8").catch(() => "");
        if (text.includes(password)) told.push(`${name}: ${entry.name}`);
      }
    }
    if (JSON.stringify(actions).includes(password)) told.push("what the server was told");
    return told.map((text) => ({ rule: "no password is told", text }));
  }
}

async function stopped({ name, process }: LabWorker): Promise<readonly Finding[]> {
  const rule = "a worker that is told to stop ends";
  if (!(await process.stop(STOP_PATIENCE_MS))) {
    return [{ rule, text: `${name}, which had nothing to do, did not end after SIGTERM` }];
  }
  const { code, signal } = process.exits.at(-1) ?? {};
  return code === 0 ? [] : [{ rule, text: `${name}, which had nothing to do, ended with ${signal ?? code}` }];
}

function longestRecovery(
  { actions }: Records,
  interruptions: ReadonlyMap<string, readonly number[]>,
): number {
  const recoveries = actions.flatMap(({ machine, startedAt, ends }) => {
    const [from, to] = [Math.min(...startedAt), ends[0]?.at];
    const cut = (interruptions.get(machine) ?? []).filter((at) => to !== undefined && from <= at && at < to);
    return cut.map((at) => (to ?? at) - at);
  });
  return Math.max(0, ...recoveries);
}

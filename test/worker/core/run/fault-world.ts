import { silentLogger } from "../../../../shared/logger.ts";
import type { Workflow } from "../../../../simulators/tink/workflow.ts";
import { type ActionId, type ActionStatus, actionKey } from "../../../../worker/core/action/action.ts";
import { actionEntries } from "../../../../worker/core/action/action-journal.ts";
import { isSettled, type JournalEntry } from "../../../../worker/core/action/entry.ts";
import { Journal } from "../../../../worker/core/journal/journal.ts";
import { dice } from "../../../support/dice.ts";
import { ChangingWeather } from "../../../support/simulation/changing-weather.ts";
import { Host } from "../../../support/simulation/host.ts";
import { LeaseApi } from "../../../support/simulation/lease-api.ts";
import { VirtualTime } from "../../../support/simulation/virtual-time.ts";
import { disk, type PowerLoss } from "../../../support/virtual-disk.ts";
import { agentOf } from "./fault-api.ts";
import { type Fault, Life, unfinished } from "./fault-life.ts";
import { Launches, resultOf } from "./fault-runtime.ts";
import { FaultServer, hasEnded, NO_RUN, runKey } from "./fault-server.ts";

export type { Fault } from "./fault-life.ts";

/** What a crash takes with it: nothing but the worker, its state directory, what it launched, or that and what was not synced. */
export type Crash = "worker" | "state" | "actions" | PowerLoss;

function losesPower(crash: Crash): crash is PowerLoss {
  return crash !== "worker" && crash !== "state" && crash !== "actions";
}

/** What happens to a worker, by the number of the step, or at the first step of that name. */
export type Faults = ReadonlyMap<number | string, Fault>;

interface WorldOptions {
  /** The worker hands the connections over; otherwise an action can do something as soon as it is launched. */
  readonly connected: boolean;
  /** The actions of each workflow. Each workflow has an agent ID of its own. */
  readonly workflows: readonly (readonly string[])[];
  /** BMCs, which the agent IDs have in turn; one without a number. */
  readonly machines?: number;
  /** How long each action takes. */
  readonly takesMs?: number;
  /** The deprecated API: the IDs of a recreated workflow return. */
  readonly legacy?: boolean;
}

export interface FaultOptions extends WorldOptions {
  readonly crash: Crash;
  /** The faults of the first worker, those of the second one, and so on. */
  readonly lives: readonly Faults[];
}

export interface ReplicaOptions extends WorldOptions {
  readonly seed: number;
  /** The faults of each replica: of its first process, of its second one, and so on. */
  readonly replicas: readonly (readonly Faults[])[];
}

/** What remains when the workflows have ended, and what happened until then. */
export interface FaultEnd {
  readonly workflows: readonly Workflow[];
  /** The keys of the actions whose commands a machine carried out. */
  readonly commands: readonly string[];
  /** What must never be, and was seen at a step. */
  readonly broken: readonly string[];
  /** IDs of workflows that were submitted again. */
  readonly recreated: ReadonlySet<string>;
  /** The reports in the order of sending. */
  readonly reports: readonly ActionStatus[];
  /** What is left that should be gone. */
  readonly left: readonly string[];
  /** The names of the steps that each worker took. */
  readonly steps: readonly (readonly string[])[];
  /** The names of those that failed. */
  readonly failed: readonly string[];
  /** In virtual time. */
  readonly tookMs: number;
}

/** Limits of virtual time, for one worker, and for replicas, which keep the processor busy all the time. */
const LONGEST_MS = 100 * 24 * 60 * 60_000;
const LIFE_MS = { alone: 4 * 60 * 60_000, replicas: 60 * 60_000 } as const;
/** A replica's next process starts so long after its death: after `down`, the Jobs of its actions are gone. */
const RESTART_MS = { crash: 1_000, down: 12 * 60_000 } as const;
/** Requests to the cluster's API arrive within that time. */
const LATE_MS = 10_000;
const NONE: Faults = new Map();

/** Runs the workflows to their ends with workers that have these faults, and a last one that has none. */
export async function runWithFaults(options: FaultOptions): Promise<FaultEnd> {
  const world = new World(options);
  for (const faults of [...options.lives, NONE]) {
    const life = new Life(world, { directory: "/journal", faults });
    await runLife(world, life);
    if (life.isDead) world.lose(options.crash);
  }
  return world.end(["/journal"]);
}

/** Resolves when the worker is dead, or when nothing is left to do and it has stopped. */
async function runLife(world: World, life: Life): Promise<void> {
  life.start();
  await world.until(() => life.isDead || life.isStopped || (world.isDone && life.isIdle));
  life.stop();
  await world.until(() => life.isDead || life.isStopped);
}

/** Runs the workflows to their ends with replicas that share the agent IDs. Each one that dies is started again. */
export async function runReplicas(options: ReplicaOptions): Promise<FaultEnd> {
  const world = new World(options, options.seed);
  const { time } = world;
  const replicas = options.replicas.map((lives, index) => {
    const directory = `/journal-${index}`;
    const processes = lives.values();
    let isRetired = false;
    const start = () => {
      isRetired = false;
      const faults = processes.next().value ?? NONE;
      const life = new Life(world, { directory, faults, replica: `replica-${index}` });
      life.onEnd = () => {
        if (isRetired && life.isStopped) return;
        time.after(RESTART_MS[life.isDown ? "down" : "crash"], () => (current = start()));
      };
      life.start();
      return life;
    };
    let current = start();
    const retire = () => {
      isRetired = true;
      current.stop();
      return current;
    };
    return { life: () => current, directory, retire };
  });
  const left = new Set(replicas);
  const isDone = () => world.isDone && [...left].every(({ life }) => life().isIdle);
  await world.until(isDone);
  // Requests of those that died may still arrive.
  const lastMs = time.nowMs + LATE_MS;
  await world.until(() => time.nowMs > lastMs && isDone());
  // Stop the replicas one by one, like a rolling update: each leads in its turn and continues from its journal.
  while (left.size > 0) {
    const leader = () => [...left].find(({ life }) => life().election?.isLeading);
    await world.until(() => isDone() && leader()?.life().isIdle === true);
    const next = leader();
    if (!next) continue;
    const life = next.retire();
    await world.until(() => life.isStopped || life.isDead);
    // One that dies while it stops is started again, and finds what it left.
    if (life.isStopped) left.delete(next);
  }
  return world.end(replicas.map(({ directory }) => directory));
}

/** All that outlives a worker: the servers, the machines, what runs there, and the promises that every step keeps. */
export class World {
  readonly options: WorldOptions;
  readonly time = new VirtualTime();
  readonly random: () => number;
  readonly server: FaultServer;
  readonly api = new LeaseApi(() => this.time.nowMs);
  readonly weather: ChangingWeather;
  readonly launches: Launches;
  readonly lives: Life[] = [];
  readonly reports: ActionStatus[] = [];
  readonly #broken = new Set<string>();
  /** By run, when the server was first told of the end. */
  readonly #endedMs = new Map<string, number>();
  /** Runs of actions whose start arrived after its sender had stopped waiting. */
  readonly #lateStarts = new Set<string>();
  /** By key, the run of its workflow that was served last. */
  readonly #served = new Map<string, number>();
  /** By key, the run of its workflow whose start the server has. */
  readonly #begun = new Map<string, number>();
  /** Runs whose end the server took. */
  readonly #told = new Set<string>();
  /** Number of the state directory, which changes with each loss. */
  generation = 0;

  constructor(options: WorldOptions, seed = 0) {
    disk.format();
    this.options = options;
    this.random = dice(seed);
    this.weather = new ChangingWeather(this.random);
    const { workflows, legacy = false } = options;
    this.server = new FaultServer({
      ...{ time: this.time, random: this.random, workflows, isLegacy: legacy },
      onAccepted: (status, isLate) => this.#accepted(status, isLate),
    });
    this.launches = new Launches(this, options.takesMs ?? 2_000);
  }

  get agentIds(): readonly string[] {
    return this.options.workflows.map((_, index) => agentOf(index));
  }

  /** No workflow is open, and nothing is under way. */
  get isDone(): boolean {
    const { launches, server, weather } = this;
    const isQuiet = server.isQuiet && weather.storms === 0 && launches.left.length === 0;
    return isQuiet && server.workflows.every(hasEnded);
  }

  lockKeyOf(agentId: string): string {
    return `bmc-${this.agentIds.indexOf(agentId) % (this.options.machines ?? 1)}`;
  }

  break(what: string): void {
    this.#broken.add(what);
  }

  /** The run of its workflow that an action belongs to which the server lets begin. */
  begunRunOf(action: ActionId): number {
    return this.#begun.get(actionKey(action)) ?? 0;
  }

  /** The run that a report is about; for an end without a start none, because the worker does not send it to the deprecated API. */
  runOf({ action, state }: ActionStatus): number {
    if (state === "running") return this.server.runOf(action.workflowId);
    return this.options.legacy && !this.#begun.has(actionKey(action)) ? NO_RUN : this.begunRunOf(action);
  }

  /** The answer to a poll. */
  serves(action: ActionId): void {
    this.#served.set(actionKey(action), this.server.runOf(action.workflowId));
  }

  recreate(): void {
    this.server.recreate();
  }

  #accepted({ action, state }: ActionStatus, isLate = false): void {
    const run = this.server.runOf(action.workflowId);
    const key = actionKey(action);
    if (state === "running" && isLate) this.#lateStarts.add(runKey(action, run));
    if (state === "running") this.#begun.set(key, run);
    else this.#told.add(runKey(action, run));
    // Nothing shows the worker that another run with the same IDs came between the answer to its poll and its report.
    const isSeen = this.#served.get(key) === run;
    if (state === "success" && isSeen && !this.launches.wasCarriedOut(action, run) && this.options.legacy)
      this.break(`${action.name} succeeded in a run in which it had no command`);
  }

  /** An end is settled only once the server has it, or if it does not wait for it. */
  checkSettled(journal: Journal<JournalEntry>): void {
    for (const [key, run] of this.#begun) {
      const entry = journal.find(key);
      if (!entry || !isSettled(entry)) continue;
      const { workflowId, name } = entry.action;
      // The server did not know the run or its start, which came late or back from a backup: it then serves the action, and is told.
      const isLate = this.server.recreated.has(workflowId) || this.#lateStarts.has(runKey(entry.action, run));
      if (entry.phase === "dropped" && isLate) continue;
      // A backup brings back a run that the server had forgotten by then: it serves the action, and is told.
      if (this.server.runOf(workflowId) !== run) this.#told.add(runKey(entry.action, run));
      else if (!this.#told.has(runKey(entry.action, run)))
        this.break(`the end of ${name} is ${entry.phase}, and the server waits for it`);
    }
  }

  /**
   * Called with each report as it is sent; `lateMs` until it arrives. An end that arrives after the server has served the action, at
   * `servedMs`, is known to no other replica.
   */
  sees(
    status: ActionStatus,
    { lateMs = 0, servedMs }: { readonly lateMs?: number; readonly servedMs?: number | undefined } = {},
  ): void {
    const { action, state, message } = status;
    const key = actionKey(action);
    const run = runKey(action, this.runOf(status));
    const endedMs = this.#endedMs.get(run);
    const arrivesMs = this.time.nowMs + lateMs;
    if (state !== "running") this.#endedMs.set(run, Math.min(endedMs ?? arrivesMs, arrivesMs));
    if (state === "running" && endedMs !== undefined && (servedMs ?? this.time.nowMs) >= endedMs)
      this.break(`${action.name} was started again after its end`);
    else if (state === "running") this.mayStart(action);
    if (state === "success" && !this.launches.commands.includes(key))
      this.break(`${action.name} succeeded without a command`);
    if (state === "success" && message !== resultOf(action.name))
      this.break(`${action.name} is reported as ${message}`);
    // No report says who leads: the late end of a replica that was paused may differ from that of the next leader.
    if (lateMs === 0 || state === "running" || !this.lives[0]?.election) this.reports.push(status);
  }

  /** For the server the action has not ended, or for a replica that got a late answer: it may start again. */
  mayStart(action: ActionId): void {
    this.#endedMs.delete(runKey(action, this.server.runOf(action.workflowId)));
  }

  async until(condition: () => boolean): Promise<void> {
    try {
      const lifeMs = this.lives[0]?.election ? LIFE_MS.replicas : LIFE_MS.alone;
      const endMs = this.time.nowMs + lifeMs;
      const isOverdue = () => this.time.nowMs > endMs + this.server.absentMs;
      await this.time.until(
        () => condition() || isOverdue(),
        LONGEST_MS,
        () => this.#look(),
      );
      if (isOverdue() && !condition()) throw new Error(`the condition does not hold within ${lifeMs} ms`);
    } catch (cause) {
      const states = this.server.workflows.map(({ state }) => state);
      const last = this.lives.map(({ name, steps }) => `${name}: ${steps.slice(-30).join(", ")}`);
      const entries = this.lives.filter(({ isDead }) => !isDead).flatMap(({ unfinished }) => unfinished);
      const where = [...this.launches.left, ...entries];
      throw new Error(`stuck: ${states}; ${where} after ${last.join("; ")}; ${[...this.#broken]}`, { cause });
    }
  }

  lose(crash: Crash): void {
    this.launches.lose(crash);
    if (crash === "state") {
      disk.format();
      this.generation += 1;
      // The next worker knows of no end.
      this.#endedMs.clear();
    }
    if (losesPower(crash)) disk.losePower(crash);
  }

  async end(directories: readonly string[]): Promise<FaultEnd> {
    this.server.close();
    const left = [...this.launches.left];
    const { clock } = new Host(this.time);
    const failed = this.lives.flatMap((life) => life.failed);
    const isShared = this.lives[0]?.election !== undefined;
    // The next start removes an entry whose removal failed, or records the end that a replica keeps.
    const areAllRemoved = !failed.some(
      (step) => step.startsWith('remove "') || (isShared && /"ended"|sync journal/.test(step)),
    );
    for (const directory of areAllRemoved ? directories : []) {
      const journal = await Journal.open({ directory, kind: actionEntries, clock, log: silentLogger });
      const entries = unfinished(journal, isShared);
      left.push(...entries.map(({ action, phase }) => `entry ${phase} of ${action.name}`));
    }
    left.push(...[...disk.names.keys()].filter((name) => name.endsWith(".part")));
    return {
      workflows: this.server.workflows,
      commands: this.launches.commands,
      broken: [...this.#broken],
      reports: this.reports,
      recreated: this.server.recreated,
      left,
      steps: this.lives.map(({ steps }) => steps),
      failed,
      tookMs: this.time.nowMs,
    };
  }

  /** After each thing that happened: no two lead. That only a leader sends a poll is looked at where it is sent. */
  #look(): void {
    if (this.lives[0]?.election === undefined) return;
    const alive = this.lives.filter(({ isDead, isStopped }) => !isDead && !isStopped);
    if (alive.length < 2) return;
    const leaders = alive.filter(({ election }) => election?.isLeading);
    if (leaders.length > 1) this.break(`${leaders.map(({ name }) => name)} lead`);
  }
}

import { AsyncLocalStorage } from "node:async_hooks";
import type { Clock } from "../../../../shared/clock.ts";
import { silentLogger } from "../../../../shared/logger.ts";
import { raceAbort } from "../../../../shared/race-abort.ts";
import { type ActionStatus, actionKey } from "../../../../worker/core/action/action.ts";
import { actionEntries } from "../../../../worker/core/action/action-journal.ts";
import { isUnreported, type JournalEntry } from "../../../../worker/core/action/entry.ts";
import { noObserver } from "../../../../worker/core/action/observer.ts";
import { Journal } from "../../../../worker/core/journal/journal.ts";
import { type LaneServices, Worker } from "../../../../worker/core/lanes/worker.ts";
import type { Acknowledgement, Poll, WorkflowSet } from "../../../../worker/core/ports/source.ts";
import { ActionQueue, ActionSlots, MachineLocks } from "../../../../worker/core/queue/action-queue.ts";
import { Executor } from "../../../../worker/core/run/executor.ts";
import { LeaderElection } from "../../../../worker/kubernetes/leader/leader-election.ts";
import { LeaderLocks } from "../../../../worker/kubernetes/leader/leader-locks.ts";
import { acknowledgementOfError } from "../../../../worker/sources/grpc/grpc-errors.ts";
import { TinkServer } from "../../../../worker/sources/server/tink-server.ts";
import { pollOfError, type TinkApi } from "../../../../worker/sources/tink/tink-api.ts";
import { Connection } from "../../../support/simulation/connection.ts";
import { Host } from "../../../support/simulation/host.ts";
import { disk } from "../../../support/virtual-disk.ts";
import { testConnection } from "../../runtimes/launch-request.ts";
import { labMachines } from "./executor-lab.ts";
import { FaultRuntime } from "./fault-runtime.ts";
import { NO_RUN } from "./fault-server.ts";
import type { Faults, World } from "./fault-world.ts";

/** What happens at a step. The table in docs/how-to/find-defects.md says what each one does. */
export type Fault = (typeof FAULTS)[number] | (typeof REPLICA_FAULTS)[number];
export const FAULTS = [
  "crash",
  "error",
  "delay",
  "late",
  "twice",
  "away",
  "keep",
  "restore",
  "forward",
  "back",
  "refuse",
  "wall",
  "absent",
  "recreate",
  "delete",
  "store",
  "stop",
] as const;
export const REPLICA_FAULTS = ["down", "pause", "suspend", "cut", "storm"] as const;

interface LifeOptions {
  readonly directory: string;
  readonly faults: Faults;
  /** The name of a replica, if there are several. */
  readonly replica?: string;
}

export const DELAY_MS = 30_000;
const FAULT_MS = 25_000;
/** Longer than anything is remembered or repeated. */
const CLOCK_MS = 8 * 24 * 60 * 60_000;
/** How far the clock of a replica may be off. */
const DRIFT = 0.005;
const UNAVAILABLE = { code: "Unavailable", reason: "the server does not answer" } as const;
const LOST: Acknowledgement = { kind: "retry", ...UNAVAILABLE };

const lives = new AsyncLocalStorage<Life>();
disk.beforeStep = async (name) => {
  if (await lives.getStore()?.fails(name)) throw Object.assign(new Error("ENOSPC"), { code: "ENOSPC" });
};

/** A replica keeps an end that the server may have from another one. */
export function unfinished(journal: Journal<JournalEntry>, isShared: boolean) {
  return journal.unfinished().filter((entry) => !isShared || !isUnreported(entry));
}

/** One worker from its start to its death. After that, nothing it does reaches the world, and nothing reaches it. */
export class Life {
  readonly name: string;
  readonly steps: string[] = [];
  readonly failed: string[] = [];
  readonly host: Host;
  readonly election: LeaderElection | undefined;
  isStopped = false;
  isDown = false;
  onEnd: () => void = () => undefined;
  readonly #world: World;
  readonly #options: LifeOptions;
  readonly #connection: Connection | undefined;
  readonly #locks: LeaderLocks | undefined;
  #journal: Journal<JournalEntry> | undefined;
  #worker: Worker | undefined;
  #isStopping = false;

  constructor(world: World, options: LifeOptions) {
    this.#world = world;
    this.#options = options;
    const { time, random, api, weather } = world;
    const { replica } = options;
    this.name = replica ?? "worker";
    this.host = new Host(time, replica === undefined ? 1 : 1 + DRIFT * (2 * random() - 1));
    world.lives.push(this);
    if (replica === undefined) return;
    const { clock, certainTime } = this.host;
    const cluster = new Connection(api, this.host, time, weather);
    this.#connection = cluster;
    const identity = `${replica}_${world.lives.length}`;
    const log = silentLogger;
    this.election = new LeaderElection({
      cluster,
      lease: "leader",
      identity,
      clock,
      log,
      time: certainTime,
      random,
    });
    void this.election.lost.then(() => this.die());
    this.#locks = new LeaderLocks({ cluster, clock, log });
  }

  /** By key, when the server said that the action has not ended. */
  readonly #servedMs = new Map<string, number>();

  get clock(): Clock {
    return this.host.clock;
  }

  get isDead(): boolean {
    return this.host.state === "dead";
  }

  /** Nothing is in its journal that has not ended, and nothing disturbs it. */
  get isIdle(): boolean {
    const isUndisturbed = this.host.state === "running" && this.#connection?.isCut !== true;
    const isFollower = this.election?.isLeading === false;
    return isUndisturbed && this.#journal !== undefined && (isFollower || this.unfinished.length === 0);
  }

  get unfinished(): readonly string[] {
    const entries = this.#journal ? unfinished(this.#journal, this.election !== undefined) : [];
    return entries.map(({ action, phase }) => `${this.name}: entry ${phase} of ${action.name}`);
  }

  start(): void {
    const { directory } = this.#options;
    lives.run(this, () => {
      void (async () => {
        try {
          this.#journal = await Journal.open({
            directory,
            kind: actionEntries,
            clock: this.clock,
            log: silentLogger,
          });
        } catch {
          // A worker that cannot read its journal does not start.
          this.die();
          return;
        }
        if (this.#isStopping) return this.#end();
        this.#worker = this.#compose(this.#journal);
        await this.#worker.run();
        this.#end();
      })();
    });
  }

  stop(): void {
    this.#isStopping = true;
    this.#worker?.stop();
  }

  die(): void {
    if (this.isDead) return;
    this.host.die();
    this.onEnd();
  }

  /** Called before each step that changes something outside the worker. Resolves to what happens to the step. */
  async step(name: string): Promise<Fault | undefined> {
    await this.#alive();
    const { faults } = this.#options;
    const isFirst = !this.steps.includes(name);
    const fault = faults.get(this.steps.length) ?? (isFirst ? faults.get(name) : undefined);
    this.steps.push(name);
    if (this.#journal) this.#world.checkSettled(this.#journal);
    if (fault) this.#disturb(fault);
    await this.#alive();
    if (fault === "error" || fault === "late") this.failed.push(name);
    return fault;
  }

  /** A step of disk or runtime. Resolves to whether it fails. */
  async fails(name: string): Promise<boolean> {
    const fault = await this.step(name);
    if (fault === "delay") await this.clock.sleep(DELAY_MS);
    return fault === "error" || fault === "late";
  }

  /** For what does not change anything but takes time, in which the worker may die or be stopped. */
  wait<T>(work: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      work.then(
        (value) => this.host.run(() => resolve(value)),
        (reason) => this.host.run(() => reject(reason)),
      );
    });
  }

  async #alive(): Promise<void> {
    if (this.isDead) await new Promise(() => undefined);
  }

  #end(): void {
    this.isStopped = true;
    this.onEnd();
  }

  #disturb(fault: Fault): void {
    const { server, time, weather } = this.#world;
    const after = (end: () => void) => time.after(FAULT_MS, end);
    switch (fault) {
      case "crash":
      case "down":
        this.isDown = fault === "down";
        this.die();
        break;
      case "away":
        server.goAway();
        break;
      case "keep":
        server.keep();
        break;
      case "restore":
        server.restore();
        break;
      case "wall":
        server.wall();
        break;
      case "absent":
        server.goFarAway();
        break;
      case "store":
        server.failStore();
        break;
      case "recreate":
        this.#world.recreate();
        break;
      case "delete":
        this.#world.launches.deleteNewest();
        break;
      case "forward":
      case "back":
        this.host.setClock(fault === "forward" ? CLOCK_MS : -CLOCK_MS);
        break;
      case "pause":
      case "suspend":
        // Not between its last look at its lease and its request: nothing protects from that.
        time.after(0, () => this.host.pause(fault === "pause" ? "stopped" : "suspended"));
        after(() => this.host.goOn());
        break;
      case "cut":
        this.#cut();
        break;
      case "storm":
        weather.storms += 1;
        after(() => {
          weather.storms -= 1;
        });
        break;
      case "stop":
        this.stop();
        break;
      case "error":
      case "delay":
      case "late":
      case "twice":
      case "refuse":
        break;
      default:
        fault satisfies never;
    }
  }

  #cut(): void {
    const connection = this.#connection;
    if (!connection) return;
    connection.isCut = true;
    connection.deafen();
    this.#world.time.after(FAULT_MS, () => {
      connection.isCut = false;
    });
  }

  #compose(journal: Journal<JournalEntry>): Worker {
    const world = this.#world;
    const { clock, election } = this;
    const isLeading = () => election?.isLeading ?? true;
    const api = this.#api();
    const runtime = new FaultRuntime(this, world.launches);
    const connect = world.options.connected ? { connect: async () => testConnection() } : {};
    // Alone, a worker may have to wait for days.
    const maxBackoffMs = election ? 1_000 : 30_000;
    const more = { clock, log: silentLogger, observer: noObserver, maxBackoffMs };
    const source = new TinkServer({
      ...{
        ...more,
        api: world.server.servesSeveral ? "legacy" : "current",
        apis: { current: api, legacy: api },
      },
      speaksLegacy: async () => false,
      connection: { connected: true, close: async () => undefined },
      ...{ isLeading, isShared: election !== undefined },
    });
    const executor = new Executor({
      ...more,
      machines: labMachines({
        locate: ({ agentId }) => {
          const lockKey = world.lockKeyOf(agentId);
          return { ok: true, machine: `node of ${lockKey}`, lockKey, ...connect };
        },
      }),
      runtime,
      sourceOf: () => source,
      queue: new ActionQueue(this.#locks ?? new MachineLocks(), new ActionSlots(4)),
      isLeading,
      journal,
      defaultTimeoutMs: 60_000,
      traceEnvironment: () => ({}),
    });
    const services: LaneServices = {
      agentIds: () => world.agentIds,
      sourceOf: () => source,
      ready: async (stop) => this.#locks?.takeOver(stop),
      run: async () => undefined,
      close: async () => source.close(),
    };
    return new Worker({
      ...more,
      services,
      ...(election && { leadership: election }),
      reload: async () => undefined,
      runtime,
      checkLaunch: () => runtime.check(),
      executor,
      shutdownGraceMs: 60_000,
    });
  }

  #api(): TinkApi {
    return {
      servesSeveral: () => this.#world.server.servesSeveral,
      next: async (agentId, signal, inFlight = new Set()) => {
        if (this.election?.isLeading === false) this.#world.break(`${this.name} polls and does not lead`);
        return this.#poll(agentId, signal, inFlight);
      },
      report: (status, signal) => this.#report(status, signal),
    };
  }

  get #isCut(): boolean {
    return this.#world.server.isAway || this.#connection?.isCut === true;
  }

  async #poll(agentId: string, signal: AbortSignal, inFlight: WorkflowSet): Promise<Poll> {
    const { server } = this.#world;
    const fault = await this.step("poll");
    if (fault === "error" || this.#isCut) return { kind: "failed", ...UNAVAILABLE };
    if (fault === "refuse") return pollOfError(server.refusal());
    const poll = await this.#ask(() => server.poll(agentId, inFlight), signal);
    if (poll.kind === "action") {
      this.#servedMs.set(actionKey(poll.action), this.#world.time.nowMs);
      this.#world.serves(poll.action);
    }
    // It is what the server knew when it was asked.
    if (fault === "delay") {
      await this.clock.sleep(DELAY_MS, signal);
      if (poll.kind === "action") this.#world.mayStart(poll.action);
    }
    if (fault === "late" || this.#isCut) return { kind: "failed", ...UNAVAILABLE };
    if (poll.kind === "idle") await this.clock.sleep(2_500, signal);
    return poll;
  }

  async #report(status: ActionStatus, signal: AbortSignal): Promise<Acknowledgement> {
    const { server } = this.#world;
    const what = `${status.state} of ${status.action.name}`;
    const fault = await this.step(`report ${what}`);
    if (fault === "error" || this.#isCut) return LOST;
    if (fault === "refuse") return acknowledgementOfError(server.refusal());
    const isSent = this.#world.runOf(status) === server.runOf(status.action.workflowId);
    const isLater = isSent && (fault === "delay" || fault === "late");
    if (isLater) this.#world.sees(status, { lateMs: DELAY_MS });
    let arrived: Promise<void> | undefined;
    if (isLater || fault === "twice") {
      arrived = server.expect(status, this.#world.runOf(status), DELAY_MS);
      if (status.state === "running")
        this.#world.time.after(DELAY_MS, () => this.#world.mayStart(status.action));
    }
    if (fault === "late") return LOST;
    // Its clock may be fast: the answer comes after the report has arrived.
    if (isLater && arrived) await this.wait(raceAbort(arrived, signal));
    else if (fault === "delay") await this.clock.sleep(DELAY_MS, signal);
    const arrives = async () => {
      const answer = await server.report(status);
      // The worker itself keeps an end from a run that has not begun, or the server knows no such action. What refuses that end is
      // the question before it.
      const isKept = answer.kind === "gone" || this.#world.runOf(status) === NO_RUN;
      const servedMs = this.#servedMs.get(actionKey(status.action));
      if (answer.kind === "acknowledged" || !isKept) this.#world.sees(status, { servedMs });
      return answer;
    };
    const answer: Acknowledgement = isLater ? { kind: "acknowledged" } : await this.#ask(arrives, signal);
    const lost = await this.step(`answer to ${what}`);
    if (lost === "refuse") return acknowledgementOfError(server.refusal());
    if (lost === "delay") await this.clock.sleep(DELAY_MS, signal);
    return lost === "error" || lost === "late" || this.#isCut ? LOST : answer;
  }

  /** A request that arrives, whatever becomes of its sender; without replicas, at once. */
  async #ask<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    if (!this.election) return work();
    const { time, weather } = this.#world;
    const answered = new Promise<T>((resolve) => {
      time.after(weather.latencyMs(), () => resolve(work()));
    });
    return this.wait(raceAbort(answered, signal));
  }
}

import { AsyncLocalStorage } from "node:async_hooks";
import { silentLogger } from "../../../shared/logger.ts";
import { redactor } from "../../../shared/secret-forms.ts";
import { createWorkflow, isOver, type Workflow } from "../../../simulators/tink/workflow.ts";
import { type Report, WorkflowBoard } from "../../../simulators/tink/workflow-board.ts";
import { type Action, type ActionStatus, actionKey, type Outcome } from "../../../worker/action/action.ts";
import { noObserver } from "../../../worker/action/observer.ts";
import { Executor } from "../../../worker/execution/executor.ts";
import { Reporter } from "../../../worker/execution/report.ts";
import { Journal } from "../../../worker/journal/journal.ts";
import { Worker } from "../../../worker/lanes/worker.ts";
import { AuthGate } from "../../../worker/machines/auth-gate.ts";
import { SecretCommands } from "../../../worker/machines/secret-commands.ts";
import {
  type Adoption,
  type EndedAction,
  LaunchNotRecorded,
  type LaunchRequest,
  type ReturnedAction,
  type Runtime,
} from "../../../worker/runtime/runtime.ts";
import type { Poll, Transport } from "../../../worker/source/source.ts";
import { parseTemplate } from "../../../worker/template/parse-template.ts";
import { ActionSlots } from "../../../worker/turns/action-slots.ts";
import { MachineLocks } from "../../../worker/turns/machine-locks.ts";
import { VirtualClock } from "../../support/virtual-clock.ts";
import { disk, type PowerLoss } from "../../support/virtual-disk.ts";
import { testConnection } from "../runtime/launch-request.ts";

/** What a crash takes with it: nothing but the worker, what it launched as well, or what was not synced, too. */
export type Crash = "worker" | "actions" | PowerLoss;

export interface CrashOptions {
  readonly crash: Crash;
  /** The worker hands the connections over; otherwise an action can do something as soon as it is launched. */
  readonly connected: boolean;
  readonly actions: readonly string[];
  /** At which step the first worker dies, at which one the second, and so on. */
  readonly diesAt: readonly number[];
}

/** What remains when the workflow has ended, and what happened until then. */
export interface CrashEnd {
  readonly workflow: Workflow;
  /** The commands that machines carried out. */
  readonly commands: readonly string[];
  readonly reports: readonly ActionStatus[];
  /** What is left that should be gone. */
  readonly left: readonly string[];
  /** The names of the steps that each worker took. */
  readonly steps: readonly (readonly string[])[];
}

interface Launched {
  readonly action: LaunchRequest["action"];
  state: "created" | "runs" | "ended";
  readonly ended: PromiseWithResolvers<void>;
}

const AGENT = "pbnj-node-01";
/** Of virtual time, for one worker. */
const LIFE_MS = 4 * 60 * 60_000;
const ACTS_AFTER_MS = 1_000;
const ENDS_AFTER_MS = 2_000;

/** What is not idempotent must not be sent twice, whatever happens. */
export const isIdempotent = (name: string) => name !== "power-cycle";

/** Runs one workflow to its end with workers of which each one dies at a step of its own, and the last one lives. */
export async function runWithCrashes(options: CrashOptions): Promise<CrashEnd> {
  disk.format();
  const world = new World(options);
  const steps: (readonly string[])[] = [];
  for (const diesAt of [...options.diesAt, Number.POSITIVE_INFINITY]) {
    const life = new Life(world, diesAt);
    await life.run();
    steps.push(life.steps);
    if (life.isDead) world.lose(options.crash);
  }
  const journal = await Journal.open({ directory: "/journal", clock: world.clock, log: silentLogger });
  world.board.close();
  const left = [
    ...journal.unfinished().map(({ action, phase }) => `entry ${phase} of ${action.name}`),
    ...[...world.launched.values()].map(({ action, state }) => `${action.name} ${state}`),
    ...[...disk.names.keys()].filter((name) => name.endsWith(".part")),
  ];
  return { workflow: world.workflow, commands: world.commands, reports: world.reports, left, steps };
}

/** All that outlives a worker: the server, the machine, and what runs. */
class World {
  readonly options: CrashOptions;
  readonly clock = new VirtualClock();
  readonly board = new WorkflowBoard();
  readonly workflow: Workflow;
  readonly launched = new Map<string, Launched>();
  readonly commands: string[] = [];
  readonly reports: ActionStatus[] = [];

  constructor(options: CrashOptions) {
    this.options = options;
    const actions = options.actions.map((name) => ({
      name,
      image: `registry.example/${name}:v1`,
      timeout: 60,
    }));
    const tasks = [{ name: "bmc", worker: AGENT, actions }];
    const parsed = parseTemplate(
      JSON.stringify({ version: "0.1", name: "t", global_timeout: 600, tasks }),
      {},
    );
    if (!parsed.ok) throw new Error("the template is not sound");
    this.workflow = createWorkflow("default/workflow-1", parsed.template);
    this.board.add(this.workflow);
  }

  lose(crash: Crash): void {
    for (const [key, { state }] of this.launched) {
      const survives = crash === "worker" || (crash === "actions" && state === "ended");
      if (!survives) this.launched.delete(key);
    }
    if (crash === "synced" || crash === "names") disk.losePower(crash);
  }

  start(key: string, launched: Launched): void {
    launched.state = "runs";
    const still = () => this.launched.get(key) === launched;
    void (async () => {
      await this.clock.sleep(ACTS_AFTER_MS);
      if (still()) this.commands.push(launched.action.name);
      await this.clock.sleep(ENDS_AFTER_MS - ACTS_AFTER_MS);
      if (still()) launched.state = "ended";
      launched.ended.resolve();
    })();
  }
}

const lives = new AsyncLocalStorage<Life>();
disk.beforeStep = async (name) => lives.getStore()?.step(name);

/** One worker from its start to its death. After that, nothing it does reaches the world, and nothing reaches it. */
class Life {
  readonly steps: string[] = [];
  isDead = false;
  readonly #world: World;
  readonly #diesAt: number;

  constructor(world: World, diesAt: number) {
    this.#world = world;
    this.#diesAt = diesAt;
  }

  /** Resolves when the worker is dead, or when nothing is left to do and it has stopped. */
  async run(): Promise<void> {
    const { clock, launched, workflow } = this.#world;
    let journal: Journal | undefined;
    let isStopped = false;
    let worker: Worker | undefined;
    lives.run(this, () => {
      void (async () => {
        journal = await Journal.open({ directory: "/journal", clock: this.#clock, log: silentLogger });
        worker = this.#worker(journal);
        await worker.run();
        isStopped = true;
      })();
    });
    const isDone = () => isOver(workflow) && journal?.unfinished().length === 0 && launched.size === 0;
    try {
      await clock.until(() => this.isDead || isDone(), LIFE_MS);
      worker?.stop();
      await clock.until(() => this.isDead || isStopped, LIFE_MS);
    } catch (cause) {
      const where = [...launched.values()].map(({ action, state }) => `${action.name} ${state}`);
      throw new Error(`stuck: ${workflow.state} ${where} after ${this.steps.slice(0, 60).join(", ")}`, {
        cause,
      });
    }
  }

  /** Called before each step that changes something outside the worker: it dies before it, or continues. */
  async step(name: string): Promise<void> {
    await this.#alive();
    if (this.steps.length === this.#diesAt) this.isDead = true;
    this.steps.push(name);
    await this.#alive();
  }

  async #alive(): Promise<void> {
    if (this.isDead) await new Promise(() => undefined);
  }

  /** For what does not change anything but takes time, in which the worker may die. */
  async #wait<T>(work: Promise<T>): Promise<T> {
    try {
      return await work;
    } finally {
      await this.#alive();
    }
  }

  get #clock() {
    const { clock } = this.#world;
    return {
      now: () => clock.now(),
      monotonicMs: () => clock.monotonicMs(),
      sleep: (ms: number, signal?: AbortSignal) => this.#wait(clock.sleep(ms, signal)),
    };
  }

  #worker(journal: Journal): Worker {
    const { options } = this.#world;
    const clock = this.#clock;
    const transport = this.#transport();
    const runtime = this.#runtime();
    const connect = options.connected ? { connect: async () => testConnection() } : {};
    const more = { clock, log: silentLogger, observer: noObserver, maxBackoffMs: 1_000 };
    const executor = new Executor({
      ...more,
      permit: () => ({ allowed: true }),
      locate: () => ({ ok: true, machine: "node-01", lockKey: "bmc.example", ...connect }),
      runtime,
      reporter: new Reporter({ ...more, sink: transport }),
      locks: new MachineLocks(),
      slots: new ActionSlots(4),
      authGate: new AuthGate(),
      secretCommands: new SecretCommands(),
      isOurs: () => true,
      redactorOf: async () => redactor({}),
      journal,
      defaultTimeoutMs: 60_000,
      traceEnvironment: () => ({}),
    });
    return new Worker({
      ...more,
      services: {
        agentIds: () => [AGENT],
        sourceOf: () => transport,
        wakingOf: () => undefined,
        ready: async () => undefined,
        run: async () => undefined,
        close: async () => undefined,
      },
      reload: async () => undefined,
      transport,
      runtime,
      executor,
      facts: {
        machines: () => ["node-01"],
        agentIds: () => [AGENT],
        slots: () => ({ limit: 4, taken: 0 }),
        unfinished: () => journal.unfinished().length,
        connected: () => true,
        checkRuntime: async () => "it is there",
      },
      shutdownGraceMs: 60_000,
    });
  }

  #transport(): Transport {
    const { board, reports } = this.#world;
    return {
      servesSeveral: () => false,
      close: async () => undefined,
      next: async (agentId, signal): Promise<Poll> => {
        await this.step("poll");
        try {
          const { workflow, task, action } = board.assign(agentId);
          const { id, name, image, timeoutMs, command, volumes, environment } = action;
          const ids = { workflowId: workflow.id, taskId: task.id, agentId, actionId: id, name };
          return { kind: "action", action: { ...ids, image, timeoutMs, command, volumes, environment } };
        } catch {
          await this.#clock.sleep(2_500, signal);
          return { kind: "idle", reason: "nothing to do" };
        }
      },
      report: async (status) => {
        await this.step(`report ${status.state} of ${status.action.name}`);
        reports.push(status);
        board.report(reportOf(status));
        await this.step(`answer to ${status.state} of ${status.action.name}`);
        return { kind: "acknowledged" };
      },
    };
  }

  #runtime(): Runtime {
    return {
      name: "virtual",
      run: (request) => this.#runAction(request),
      adopt: (left) => this.#adopt(left),
      sweep: async (keep) => {
        let removed = 0;
        for (const key of this.#world.launched.keys()) {
          if (keep(key) !== false) continue;
          await this.#remove(key);
          removed += 1;
        }
        return removed;
      },
      check: async () => "it is there",
      close: async () => undefined,
    };
  }

  async #runAction({ action, connection, onLaunch }: LaunchRequest): Promise<EndedAction> {
    const world = this.#world;
    const key = actionKey(action);
    const startedAt = new Date(world.clock.now());
    await this.step(`create ${action.name}`);
    const launched: Launched = { action, state: "created", ended: Promise.withResolvers() };
    world.launched.set(key, launched);
    if (!connection) world.start(key, launched);
    try {
      await onLaunch?.({ id: key });
    } catch (thrown) {
      if (thrown instanceof LaunchNotRecorded && connection) await this.#remove(key);
      throw thrown;
    }
    if (connection) {
      await this.step(`start ${action.name}`);
      world.start(key, launched);
    }
    await this.step(`wait for ${action.name}`);
    await this.#wait(launched.ended.promise);
    return this.#ended(key, launched, startedAt);
  }

  async #adopt({ action, connected, handle, damaged, startedAt }: ReturnedAction): Promise<Adoption> {
    const key = actionKey(action);
    await this.step(`adopt ${action.name}`);
    if (connected && !handle && !damaged) {
      await this.#remove(key);
      return { kind: "not-launched" };
    }
    const launched = this.#world.launched.get(key);
    if (!launched) return { kind: "lost", reason: "it is gone", idempotent: isIdempotent(action.name) };
    // The worker died before it handed the connection over.
    if (launched.state === "created") {
      await this.#remove(key);
      return { kind: "not-launched" };
    }
    await this.#wait(launched.ended.promise);
    return { kind: "ended", ended: this.#ended(key, launched, startedAt) };
  }

  #ended(key: string, { action }: Launched, startedAt: Date): EndedAction {
    const stoppedAt = new Date(this.#world.clock.now());
    const outcome: Outcome = {
      ok: true,
      message: resultOf(action.name),
      exitCode: 0,
      ...{ startedAt, stoppedAt, timedOut: false, killed: false },
    };
    return { outcome, remove: () => this.#remove(key) };
  }

  async #remove(key: string): Promise<void> {
    const launched = this.#world.launched.get(key);
    if (!launched) return;
    await this.step(`remove ${launched.action.name}`);
    this.#world.launched.delete(key);
  }
}

/** What the action itself says. */
export const resultOf = (name: Action["name"]) => `${name} done`;

function reportOf({ action, state, message, startedAt, stoppedAt }: ActionStatus): Report {
  return {
    workflowId: action.workflowId,
    agentId: action.agentId,
    taskId: action.taskId,
    actionId: action.actionId,
    actionName: action.name,
    state: ({ running: "RUNNING", success: "SUCCESS", failed: "FAILED", timeout: "TIMEOUT" } as const)[state],
    startedAt,
    ...(stoppedAt && { stoppedAt }),
    duration: "",
    message,
  };
}

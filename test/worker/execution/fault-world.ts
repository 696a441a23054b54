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
import { failedAction } from "../../../worker/runtime/outcome.ts";
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

/** What happens to a step: the worker dies before it, or the other side fails (before it did anything, or with its answer). */
export type Fault = "crash" | "error";

export interface FaultOptions {
  readonly crash: Crash;
  /** The worker hands the connections over; otherwise an action can do something as soon as it is launched. */
  readonly connected: boolean;
  /** The actions of each workflow. Each workflow has an agent ID of its own; the machine of all is the same BMC. */
  readonly workflows: readonly (readonly string[])[];
  /** The faults of the first worker by the number of the step, those of the second one, and so on. */
  readonly lives: readonly ReadonlyMap<number, Fault>[];
}

/** What remains when the workflow has ended, and what happened until then. */
export interface FaultEnd {
  readonly workflows: readonly Workflow[];
  /** The keys of the actions whose commands the machine carried out. */
  readonly commands: readonly string[];
  /** The actions that began while another one ran. */
  readonly together: readonly string[];
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

interface Launched {
  readonly action: LaunchRequest["action"];
  state: "created" | "runs" | "ended";
  readonly ended: PromiseWithResolvers<void>;
  /** Only a later worker takes it for an orphan. */
  readonly by: Life;
}

/** Of virtual time, for one worker. */
const LIFE_MS = 4 * 60 * 60_000;
const ACTS_AFTER_MS = 1_000;
const ENDS_AFTER_MS = 2_000;

/** What is not idempotent must not be sent twice, whatever happens. */
export const isIdempotent = (name: string) => name !== "power-cycle";

/** Runs the workflows to their ends with workers that have these faults, and a last one that has none. */
export async function runWithFaults(options: FaultOptions): Promise<FaultEnd> {
  disk.format();
  const world = new World(options);
  const steps: (readonly string[])[] = [];
  const failed: string[] = [];
  for (const faults of [...options.lives, new Map<number, Fault>()]) {
    const life = new Life(world, faults);
    await life.run();
    steps.push(life.steps);
    failed.push(...life.failed);
    if (life.isDead) world.lose(options.crash);
  }
  const journal = await Journal.open({ directory: "/journal", clock: world.clock, log: silentLogger });
  world.board.close();
  const left = [
    ...journal.unfinished().map(({ action, phase }) => `entry ${phase} of ${action.name}`),
    ...[...world.launched.values()].map(({ action, state }) => `${action.name} ${state}`),
    ...[...disk.names.keys()].filter((name) => name.endsWith(".part")),
  ];
  const { workflows, commands, together, reports } = world;
  const tookMs = world.clock.monotonicMs();
  return { workflows, commands, together, reports, left, steps, failed, tookMs };
}

/** All that outlives a worker: the server, the machine, and what runs. */
class World {
  readonly options: FaultOptions;
  readonly clock = new VirtualClock();
  readonly board = new WorkflowBoard();
  readonly workflows: readonly Workflow[];
  readonly launched = new Map<string, Launched>();
  readonly commands: string[] = [];
  readonly together: string[] = [];
  readonly reports: ActionStatus[] = [];

  constructor(options: FaultOptions) {
    this.options = options;
    this.workflows = options.workflows.map((names, index) => workflowOf(names, index + 1));
    for (const workflow of this.workflows) this.board.add(workflow);
  }

  get agentIds(): readonly string[] {
    return this.options.workflows.map((_, index) => agentOf(index + 1));
  }

  lose(crash: Crash): void {
    for (const [key, { state }] of this.launched) {
      const survives = crash === "worker" || (crash === "actions" && state === "ended");
      if (!survives) this.launched.delete(key);
    }
    if (crash === "synced" || crash === "names") disk.losePower(crash);
  }

  start(key: string, launched: Launched): void {
    const others = [...this.launched.values()].filter(({ state }) => state === "runs");
    this.together.push(...others.map(({ action }) => `${launched.action.name} beside ${action.name}`));
    launched.state = "runs";
    const still = () => this.launched.get(key) === launched;
    void (async () => {
      await this.clock.sleep(ACTS_AFTER_MS);
      if (still()) this.commands.push(key);
      await this.clock.sleep(ENDS_AFTER_MS - ACTS_AFTER_MS);
      if (still()) launched.state = "ended";
      launched.ended.resolve();
    })();
  }
}

const agentOf = (number: number) => `pbnj-node-0${number}`;

/** With the same IDs in every run, because a schedule must be repeatable. */
function workflowOf(names: readonly string[], number: number): Workflow {
  const actions = names.map((name) => ({ name, image: `registry.example/${name}:v1`, timeout: 60 }));
  const template = { version: "0.1", name: "t", global_timeout: 600 };
  const parsed = parseTemplate(
    JSON.stringify({ ...template, tasks: [{ name: "bmc", worker: agentOf(number), actions }] }),
    {},
  );
  if (!parsed.ok) throw new Error("the template is not sound");
  const workflow = createWorkflow(`default/workflow-${number}`, parsed.template);
  const tasks = workflow.tasks.map((task) => ({
    ...task,
    id: `task-${number}`,
    actions: task.actions.map((action, index) => ({ ...action, id: `action-${number}-${index + 1}` })),
  }));
  return { ...workflow, tasks };
}

const lives = new AsyncLocalStorage<Life>();
disk.beforeStep = async (name) => {
  if (await lives.getStore()?.step(name)) throw Object.assign(new Error("ENOSPC"), { code: "ENOSPC" });
};

/** One worker from its start to its death. After that, nothing it does reaches the world, and nothing reaches it. */
class Life {
  readonly steps: string[] = [];
  readonly failed: string[] = [];
  isDead = false;
  readonly #world: World;
  readonly #faults: ReadonlyMap<number, Fault>;

  constructor(world: World, faults: ReadonlyMap<number, Fault>) {
    this.#world = world;
    this.#faults = faults;
  }

  /** Resolves when the worker is dead, or when nothing is left to do and it has stopped. */
  async run(): Promise<void> {
    const { clock, launched, workflows } = this.#world;
    let journal: Journal | undefined;
    let isStopped = false;
    let worker: Worker | undefined;
    lives.run(this, () => {
      void (async () => {
        try {
          journal = await Journal.open({ directory: "/journal", clock: this.#clock, log: silentLogger });
        } catch {
          // A worker that cannot read its journal does not start.
          this.isDead = true;
          return;
        }
        worker = this.#worker(journal);
        await worker.run();
        isStopped = true;
      })();
    });
    const isDone = () => workflows.every(isOver) && journal?.unfinished().length === 0 && launched.size === 0;
    try {
      await clock.until(() => this.isDead || isDone(), LIFE_MS);
      worker?.stop();
      await clock.until(() => this.isDead || isStopped, LIFE_MS);
    } catch (cause) {
      const where = [...launched.values()].map(({ action, state }) => `${action.name} ${state}`);
      const states = workflows.map(({ state }) => state);
      throw new Error(`stuck: ${states} ${where} after ${this.steps.slice(0, 60).join(", ")}`, {
        cause,
      });
    }
  }

  /** Called before each step that changes something outside the worker. Resolves to true if the step is to fail. */
  async step(name: string): Promise<boolean> {
    await this.#alive();
    const fault = this.#faults.get(this.steps.length);
    if (fault === "crash") this.isDead = true;
    this.steps.push(name);
    await this.#alive();
    if (fault === "error") this.failed.push(name);
    return fault === "error";
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
        agentIds: () => this.#world.agentIds,
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
        agentIds: () => this.#world.agentIds,
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
        if (await this.step("poll")) return { kind: "failed", ...UNAVAILABLE };
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
        const what = `${status.state} of ${status.action.name}`;
        if (await this.step(`report ${what}`)) return { kind: "retry", ...UNAVAILABLE };
        reports.push(status);
        board.report(reportOf(status));
        if (await this.step(`answer to ${what}`)) return { kind: "retry", ...UNAVAILABLE };
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
        for (const [key, { by }] of this.#world.launched) {
          if (by === this || keep(key) !== false) continue;
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
    if (await this.step(`create ${action.name}`)) {
      return failedAction("internal", NO_IMAGE, startedAt, new Date(world.clock.now()));
    }
    const launched: Launched = { action, state: "created", ended: Promise.withResolvers(), by: this };
    world.launched.set(key, launched);
    if (!connection) world.start(key, launched);
    try {
      await onLaunch?.({ id: key });
    } catch (thrown) {
      if (!(thrown instanceof LaunchNotRecorded) || connection) {
        await this.#remove(key);
        throw thrown;
      }
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
    if (await this.step(`adopt ${action.name}`)) throw new Error("the runtime does not answer");
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
    if (await this.step(`remove ${launched.action.name}`)) throw new Error("the runtime does not answer");
    this.#world.launched.delete(key);
  }
}

const UNAVAILABLE = { code: "UNAVAILABLE", reason: "the server does not answer" } as const;
/** Of an action that was never created. */
export const NO_IMAGE = "the image is gone";

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

import { randomBytes } from "node:crypto";
import { systemClock } from "../../shared/clock.ts";
import { isDryRun } from "../../shared/contract/dry-run.ts";
import { EXIT_OK, exitCodeOf, type StopSignal } from "../../shared/contract/exit-code.ts";
import { connectionGiven } from "../../shared/contract/given.ts";
import { DATA_FORMATS, type DataFormat, formatData, isDataFormat } from "../../shared/data-format.ts";
import { defined } from "../../shared/defined.ts";
import type { Checked, Problem } from "../../shared/document/problem.ts";
import { formatSeconds } from "../../shared/duration.ts";
import type { Logger } from "../../shared/logger.ts";
import { suggestion } from "../../shared/nearest-name.ts";
import { printable, programLine } from "../../shared/printable.ts";
import { openProgressLines, type ProgressLines, withProgress } from "../../shared/progress-lines.ts";
import type { Action, ActionStatus, Outcome } from "../core/action/action.ts";
import { MemoryJournal } from "../core/action/action-journal.ts";
import { noObserver } from "../core/action/observer.ts";
import type { Runtime } from "../core/ports/runtime.ts";
import type { Acknowledgement, Source } from "../core/ports/source.ts";
import { ActionQueue, ActionSlots, MachineLocks } from "../core/queue/action-queue.ts";
import { Executor } from "../core/run/executor.ts";
import { problemReport } from "../document/problem-report.ts";
import { refusalsBefore } from "../explain/explain.ts";
import type { RunInventory } from "../features/cluster-machines/run-inventory.ts";
import { openHosts, usesHosts } from "../features/metal3/metal3-feature.ts";
import type { Cluster } from "../kubernetes/client/cluster.ts";
import { misspeltAgentIds } from "../machines/agent-id.ts";
import { AuthGate } from "../machines/auth-gate.ts";
import type { Inventory } from "../machines/inventory.ts";
import { SecretCommands } from "../machines/secret-commands.ts";
import { composeMachines } from "../main/compose-machines.ts";
import { composeRuntime, type RuntimeOptions } from "../main/compose-runtime.ts";
import { loadConfig } from "../main/load-config.ts";
import { openCluster } from "../main/open-cluster.ts";
import type { WorkerConfig } from "../main/settings.ts";
import { referenceRefusal } from "../policy/decide.ts";
import type { SelfProgram } from "../runtimes/self-program.ts";
import { LOCAL_NAMESPACE, runnableActions } from "../template/actions.ts";
import { loadTemplate } from "../template/load-template.ts";
import type { Template, TemplateTask } from "../template/template.ts";
import type { CommandProcess } from "./command-process.ts";
import { createLogger, withoutMessages } from "./logger.ts";
import { TemplatePlan } from "./template-plan.ts";

const COMMAND = "pbnj-worker run";

/**
 * `pbnj-worker run`: runs the actions of a template one after the other, with the runtime and policy of `start`. Resolves to the
 * exit code: that of the first action that fails, 2 for invalid input.
 */
export async function runTemplate(
  path: string | undefined,
  flags: Readonly<Record<string, unknown>>,
  unknown: readonly Problem[],
  own: SelfProgram,
  host: CommandProcess,
): Promise<number> {
  const { env, stderr } = host;
  const { dryRun, evenIf, hardware, map, output: asked, task: _task, workflow, ...settingFlags } = flags;
  const output = String(asked ?? "text");
  const isPlan = dryRun === true || isDryRun(env);
  const loaded = loadConfig({ flags: settingFlags, env, actions: own.library.names() }, "run");
  const access = loaded.ok ? loaded.config : undefined;
  const template = await loadTemplate(path, { hardware, map, workflow }, access);
  const chosen = template.ok ? chooseTasks(template.value, flags["task"]) : template;
  const problems = [
    ...unknown,
    ...(OUTPUTS.includes(output) ? [] : [outputProblem(output)]),
    ...[loaded, chosen].flatMap((part) => (part.ok ? [] : part.problems)),
    ...(template.ok && !isPlan ? servedProblem(template.value, evenIf) : []),
  ];
  if (!loaded.ok || !template.ok || !chosen.ok || problems.length > 0) {
    stderr.write(problemReport(COMMAND, problems));
    return exitCodeOf("usage");
  }
  const { config } = loaded;
  const live = stderr.isTTY && config.log.format !== "json" ? openProgressLines(stderr) : undefined;
  const wholeLog = withoutMessages(createLogger(config.log, host), REPORTED);
  const log = live ? withProgress(live, wholeLog, ({ machine, action }) => machine ?? action) : wholeLog;
  for (const { source, message } of loaded.warnings) log.warn({ source }, message);
  const { workflow: served } = template.value;
  if (served && !isPlan) {
    const { namespace, name, state, disabled } = served;
    log.warn({ workflow: `${namespace}/${name}`, state, disabled }, "running a Workflow without its server");
  }
  const opening = await openCluster(config);
  if (!opening.ok) {
    stderr.write(programLine(COMMAND, opening.reason));
    return exitCodeOf("usage");
  }
  const { cluster } = opening;
  const stop = stopSignal(host);
  const machines = cluster && (await openMachines(config, cluster, log, stop.signal));
  const inventory = machines ?? config.inventory;
  const policy = () => config.policy;
  const runtime = await openRuntime(config, { log, own, env, policy, cluster, inventory });
  const report = new RunReport(host.stdout, isDataFormat(output) ? output : undefined, live);
  const terminal = terminalSource(report);
  const composed = composeMachines({
    use: config,
    catalogue: own.library,
    clock: systemClock,
    inventory,
    policy,
    authGate: new AuthGate(),
    secretCommands: new SecretCommands(),
    secretNamespace: runtime.secretNamespace,
  });
  const executor = new Executor({
    machines: composed,
    runtime,
    journal: new MemoryJournal(),
    log,
    clock: systemClock,
    observer: noObserver,
    queue: new ActionQueue(new MachineLocks(), new ActionSlots(config.maxActions)),
    sourceOf: () => terminal,
    isLeading: () => true,
    traceEnvironment: () => ({}),
    defaultTimeoutMs: config.defaultActionTimeoutMs,
    maxBackoffMs: config.backoffMaxIntervalMs,
  });
  // A run keeps no state: the orphans of a killed run are found by their deadline alone.
  void runtime.sweep(() => false, stop.signal).catch(() => undefined);
  if (isPlan)
    report.say("dry run: nothing is changed; power is planned as if the earlier actions had succeeded");
  const plan = isPlan
    ? new TemplatePlan(own.library.names(), (action) => composed.locate(action))
    : undefined;
  let worst: number = EXIT_OK;
  try {
    const actions = actionsToRun(template.value, chosen.value);
    const known = {
      catalogue: own.library,
      clock: systemClock,
      policy: config.policy,
      inventory,
      ...ruleSettings(config),
    };
    const misspelt = (asked: readonly Action[]) => misspeltAgentIds(asked, config.agentIdPattern, inventory);
    const lost = isPlan ? [] : actions.filter(isFoundByAgentId);
    for (const { source, message } of misspelt(actions.filter((action) => !lost.includes(action)))) {
      log.warn({ source }, message);
    }
    // A plan reports each problem at its action.
    const before = isPlan
      ? []
      : [
          ...misspelt(lost).map((problem) => ({ rule: "machine", problem })),
          ...(await problemsBefore(actions, known)),
        ];
    if (before.length > 0) {
      stderr.write(
        problemReport(
          COMMAND,
          before.map(({ problem }) => problem),
        ),
      );
      return exitCodeOf(before.every(({ rule }) => rule === "pausedMachines") ? "state" : "usage");
    }
    for (const [index, asked] of actions.entries()) {
      const action = plan ? plan.planned(asked) : asked;
      if (typeof action === "string") {
        report.skip(asked, `not planned: ${action}`);
        continue;
      }
      let outcome: Outcome | undefined;
      // If the decision on an action has changed since, it is decided again, as if a server served the action again.
      do outcome = await executor.execute(action, { stop: stop.signal, cancel: stop.signal });
      while (!outcome && !stop.signal.aborted);
      if (outcome) {
        plan?.learn(action, outcome);
        report.end(asked, outcome);
      }
      if (outcome?.ok) continue;
      // A plan reports every problem; its exit code is that of the first one.
      if (!isPlan || stop.signal.aborted) {
        const left = actions.slice(outcome ? index + 1 : index);
        report.leave(left);
        return failed(outcome, stop.by());
      }
      worst ||= failed(outcome, stop.by());
    }
    return worst;
  } finally {
    await report.close({ template: template.value.name, dryRun: isPlan });
    await runtime.close();
    await machines?.close();
    await cluster?.close();
  }
}

/** Opens the machines of the inventory file and, if the settings say so, of the cluster. */
async function openMachines(
  { inventory: file, machineSources, managedHosts, policy }: WorkerConfig,
  cluster: Cluster,
  log: Logger,
  stop: AbortSignal,
): Promise<RunInventory | undefined> {
  if (machineSources.length === 0) return undefined;
  const { runInventory } = await import("../features/cluster-machines/run-inventory.ts");
  const references = referenceRefusal(() => policy);
  return runInventory({ file, machineSources, managedHosts, references, cluster, log }, stop);
}

async function openRuntime(
  config: WorkerConfig,
  { inventory, ...options }: RuntimeOptions & { readonly inventory: Inventory },
): Promise<Runtime> {
  const base = await composeRuntime(config, options);
  if (!usesHosts(config)) return base;
  const { log, own } = options;
  const { stopGraceMs } = config;
  const hosts = await openHosts({ inventory, actions: own.library, state: undefined, log, stopGraceMs });
  return hosts(base);
}

function chooseTasks(template: Template, name: unknown): Checked<readonly TemplateTask[]> {
  if (typeof name !== "string") return { ok: true, value: template.tasks, warnings: [] };
  const tasks = template.tasks.filter((task) => task.name === name);
  if (tasks.length > 0) return { ok: true, value: tasks, warnings: [] };
  const names = template.tasks.map((task) => task.name);
  const message = `the template has no task ${name}${suggestion(name, names)}`;
  return { ok: false, problems: [{ source: "--task", message }] };
}

function actionsToRun(template: Template, tasks: readonly TemplateTask[]): readonly Action[] {
  const namespace = template.workflow?.namespace ?? LOCAL_NAMESPACE;
  // A new ID for each run: orphans of an earlier run must not be adopted.
  return runnableActions(tasks, `${namespace}/${randomBytes(6).toString("hex")}`);
}

function titleOf({ taskId, name }: { readonly taskId: string; readonly name: string }): string {
  return `${taskId} / ${name}`;
}

function ruleSettings({ agentIdPattern, runtime }: WorkerConfig) {
  return { agentIdPattern, runtime: runtime.kind };
}

/** Whether only its agent ID names the machine of an action: a misspelt one leaves it without a machine. */
function isFoundByAgentId(action: Action): boolean {
  return action.environment["MACHINE"] === undefined && connectionGiven(action).length === 0;
}

/**
 * Finds every problem that is visible before the first command is sent, so that no template is left half done because of a
 * later action.
 */
async function problemsBefore(actions: readonly Action[], options: Parameters<typeof refusalsBefore>[1]) {
  const found: { readonly rule: string; readonly problem: Problem }[] = [];
  for (const action of actions) {
    for (const { rule, reason } of await refusalsBefore(action, options)) {
      found.push({ rule, problem: { source: titleOf(action), message: reason } });
    }
  }
  return found;
}

/** Rejects a Workflow that a tink server serves or that has already run. */
function servedProblem({ workflow }: Template, evenIf: unknown): readonly Problem[] {
  const given = typeof evenIf === "string" ? evenIf.toUpperCase().replace(/^STATE_/, "") : undefined;
  if (workflow === undefined) {
    if (given === undefined) return [];
    return [{ source: "--even-if", message: "is only for a Workflow: a template has no state" }];
  }
  const { namespace, name, state, disabled } = workflow;
  if (given !== undefined && given !== state) {
    const message = `is ${given}, but the Workflow ${namespace}/${name} is ${state}`;
    return [{ source: "--even-if", message }];
  }
  if (given !== undefined || disabled) return [];
  const why = ENDED.has(state) ? "it has been run already" : "a tink server serves it";
  const message =
    `the Workflow ${namespace}/${name} is ${state}: ${why}. Fix: set its spec.disabled to true before a server serves ` +
    `it, or pass --even-if ${state} if no server does`;
  return [{ source: "command line", message }];
}

const ENDED: ReadonlySet<string> = new Set(["SUCCESS", "FAILED", "TIMEOUT"]);

/** Log messages that would only repeat the printed reports. */
const REPORTED = ["action started", "action succeeded", "action failed", "action refused"];

/** A source that prints the reports. It serves no actions, because the template contains them. */
function terminalSource(report: RunReport): Source {
  return {
    servesSeveral: () => false,
    next: async () => ({ kind: "idle", reason: "the template has the actions" }),
    async report(status: ActionStatus): Promise<Acknowledgement> {
      report.say(reportLine(status));
      return { kind: "acknowledged" };
    },
  };
}

function reportLine({ action, state, startedAt, stoppedAt, message }: ActionStatus): string {
  const name = titleOf(action);
  if (!stoppedAt) return `${name}  ${state}`;
  return `${name}  ${state} in ${formatSeconds(stoppedAt.getTime() - startedAt.getTime())}: ${message}`;
}

/** Prints what the actions do: a line per change, or one value for programs at the end. */
class RunReport {
  readonly #out: NodeJS.WritableStream;
  readonly #format: DataFormat | undefined;
  readonly #live: ProgressLines | undefined;
  readonly #actions: object[] = [];

  constructor(out: NodeJS.WritableStream, format: DataFormat | undefined, live: ProgressLines | undefined) {
    this.#out = out;
    this.#format = format;
    this.#live = live;
  }

  /** Prints a line for people. */
  say(text: string): void {
    if (this.#format) return;
    this.#live?.clear();
    this.#out.write(`${printable(text)}\n`);
  }

  skip(action: Action, reason: string): void {
    this.say(`${titleOf(action)}  ${reason}`);
    this.#actions.push({ ...about(action), state: "skipped", message: reason });
  }

  end(action: Action, { ok, class: errorClass, message, timedOut, ...outcome }: Outcome): void {
    const { startedAt, stoppedAt, exitCode } = outcome;
    this.#actions.push({
      ...about(action),
      state: ok ? "success" : timedOut ? "timeout" : "failed",
      ...defined({ class: errorClass, exitCode }),
      message,
      startedAt: startedAt.toISOString(),
      stoppedAt: stoppedAt.toISOString(),
    });
  }

  /** Names the actions that did not begin. */
  leave(actions: readonly Action[]): void {
    if (actions.length === 0) return;
    this.say(`not run: ${actions.map(titleOf).join(", ")}`);
    for (const action of actions) this.#actions.push({ ...about(action), state: "pending" });
  }

  /** Prints the value for programs. */
  async close(run: { readonly template: string; readonly dryRun: boolean }): Promise<void> {
    if (!this.#format || this.#actions.length === 0) return;
    const text = await formatData(this.#format, { ...run, actions: this.#actions });
    await new Promise<void>((resolve) => this.#out.write(text, () => resolve()));
  }
}

function about({ taskId, name, agentId, image }: Action) {
  return { task: taskId, action: name, agentId, image };
}

const OUTPUTS: readonly string[] = ["text", ...DATA_FORMATS];

function outputProblem(output: string): Problem {
  return {
    source: "--output",
    message: `must be one of ${OUTPUTS.join(", ")}${suggestion(output, OUTPUTS)}`,
  };
}

function failed(outcome: Outcome | undefined, by: StopSignal): number {
  return exitCodeOf(outcome?.class ?? "cancelled", by);
}

/** Returns a signal that aborts on any termination signal: no later worker would adopt the action. */
function stopSignal(host: CommandProcess): { readonly signal: AbortSignal; by(): StopSignal } {
  const controller = new AbortController();
  let received: StopSignal = "SIGTERM";
  const onSignal = (signal: StopSignal) => {
    received = signal;
    controller.abort(new Error(`cancelled by ${signal}`));
  };
  host.on("SIGTERM", () => onSignal("SIGTERM"));
  host.on("SIGINT", () => onSignal("SIGINT"));
  return { signal: controller.signal, by: () => received };
}

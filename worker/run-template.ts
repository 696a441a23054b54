import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { systemClock } from "../shared/clock.ts";
import { EXIT_OK, exitCodeOf, type StopSignal } from "../shared/contract/exit-code.ts";
import type { Problem } from "../shared/document/problem.ts";
import { formatSeconds } from "../shared/duration.ts";
import { suggestion } from "../shared/nearest-name.ts";
import type { Action, ActionStatus, Outcome } from "./action.ts";
import { composeExecutor, composeRuntime } from "./compose.ts";
import { loadExecutionConfig } from "./config/load-config.ts";
import { problemReport } from "./document/problem-report.ts";
import { MemoryJournal } from "./journal/memory-journal.ts";
import { createLogger } from "./logger.ts";
import type { OwnProgram } from "./own-program.ts";
import { actionsOfTask } from "./template/actions.ts";
import { parseTemplate } from "./template/parse-template.ts";
import type { Template, TemplateTask } from "./template/template.ts";
import type { Acknowledgement, StatusSink } from "./transport/transport.ts";

const COMMAND = "pbnj-worker run";

/**
 * `pbnj-worker run`: the actions of a template, here, one after the other, with the runtime and policy that
 * `start` would use. Resolves to the exit code: that of the first action that fails, 2 for bad input.
 */
export async function runTemplate(
  path: string,
  flags: Readonly<Record<string, unknown>>,
  unknown: readonly Problem[],
  own: OwnProgram,
): Promise<number> {
  const { map: _map, task: _task, ...settingFlags } = flags;
  const loaded = loadExecutionConfig({ flags: settingFlags, env: process.env });
  const template = await loadTemplate(path, flags);
  const problems = [...unknown, ...(loaded.ok ? [] : loaded.problems), ...template.problems];
  if (!loaded.ok || problems.length > 0) {
    process.stderr.write(problemReport(COMMAND, problems));
    return exitCodeOf("usage");
  }
  const { config } = loaded;
  const log = createLogger(config.log);
  for (const { source, message } of loaded.warnings) log.warn({ source }, message);
  const runtime = composeRuntime(config, { log, own, policy: () => config.policy });
  const executor = composeExecutor(config, {
    sink: terminalSink(process.stdout),
    runtime,
    journal: new MemoryJournal(),
    log,
    clock: systemClock,
  });
  const stop = stopSignal();
  try {
    for (const action of actionsToRun(template.tasks)) {
      const outcome = await executor.execute(action, { stop: stop.signal, cancel: stop.signal });
      if (!outcome?.ok) return failed(outcome, stop.by());
    }
    return EXIT_OK;
  } finally {
    await runtime.close();
  }
}

interface LoadedTemplate {
  readonly tasks: readonly TemplateTask[];
  readonly problems: readonly Problem[];
}

async function loadTemplate(path: string, flags: Readonly<Record<string, unknown>>): Promise<LoadedTemplate> {
  const { values, problems } = readMap(flags["map"]);
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (thrown) {
    const code = thrown instanceof Error && "code" in thrown ? String(thrown.code) : String(thrown);
    return { tasks: [], problems: [...problems, { source: path, message: `cannot be read (${code})` }] };
  }
  const parsed = parseTemplate(text, values);
  if (!parsed.ok) {
    const wrong = parsed.problems.map(({ line, column, message }) => ({
      source: `${path}:${line}:${column}`,
      message,
    }));
    return { tasks: [], problems: [...problems, ...wrong] };
  }
  const chosen = chooseTasks(parsed.template, flags["task"]);
  return { ...chosen, problems: [...problems, ...chosen.problems] };
}

function readMap(map: unknown): {
  readonly values: Record<string, string>;
  readonly problems: readonly Problem[];
} {
  const pairs = Array.isArray(map) ? map.map(String) : [];
  const values: Record<string, string> = {};
  const problems: Problem[] = [];
  for (const pair of pairs) {
    const at = pair.indexOf("=");
    const key = pair.slice(0, Math.max(at, 0));
    if (at < 1) problems.push({ source: "--map", message: `${JSON.stringify(pair)} is not key=value` });
    else if (Object.hasOwn(values, key)) problems.push({ source: "--map", message: `gives ${key} twice` });
    else values[key] = pair.slice(at + 1);
  }
  return { values, problems };
}

function chooseTasks(template: Template, name: unknown): LoadedTemplate {
  if (typeof name !== "string") return { tasks: template.tasks, problems: [] };
  const tasks = template.tasks.filter((task) => task.name === name);
  const names = template.tasks.map((task) => task.name);
  const message = `the template has no task ${name}${suggestion(name, names)}`;
  return { tasks, problems: tasks.length > 0 ? [] : [{ source: "--task", message }] };
}

function actionsToRun(tasks: readonly TemplateTask[]): readonly Action[] {
  // A run of its own each time: nothing that an earlier one left behind may be taken for this one's.
  const workflowId = `local/${randomBytes(6).toString("hex")}`;
  return tasks.flatMap((task) =>
    actionsOfTask(task).map((action) => ({
      ...action,
      workflowId,
      taskId: task.name,
      actionId: `${task.name}-${action.name}`,
    })),
  );
}

/** Reports go to the terminal, which takes them all. */
function terminalSink(out: NodeJS.WritableStream): StatusSink {
  return {
    async report(status: ActionStatus): Promise<Acknowledgement> {
      out.write(`${reportLine(status)}\n`);
      return { kind: "acknowledged" };
    },
  };
}

function reportLine({ action, state, startedAt, stoppedAt, message }: ActionStatus): string {
  const name = `${action.taskId} / ${action.name}`;
  if (!stoppedAt) return `${name}  ${state}`;
  return `${name}  ${state} in ${formatSeconds(stoppedAt.getTime() - startedAt.getTime())}: ${message}`;
}

function failed(outcome: Outcome | undefined, by: StopSignal): number {
  return exitCodeOf(outcome?.class ?? "cancelled", by);
}

/** Any signal cancels: there is nothing to take up later. */
function stopSignal(): { readonly signal: AbortSignal; by(): StopSignal } {
  const controller = new AbortController();
  let received: StopSignal = "SIGTERM";
  const onSignal = (signal: StopSignal) => {
    received = signal;
    controller.abort(new Error(`cancelled by ${signal}`));
  };
  process.on("SIGTERM", () => onSignal("SIGTERM"));
  process.on("SIGINT", () => onSignal("SIGINT"));
  return { signal: controller.signal, by: () => received };
}

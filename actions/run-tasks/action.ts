import * as z from "zod/mini";
import { BmcError } from "../../shared/contract/bmc-error.ts";
import { type Checked, formatProblem } from "../../shared/document/problem.ts";
import { type ActionReport, defineAction } from "../harness/action.ts";
import { duration, type InputField, textFile } from "../harness/input/input.ts";
import { stateTimeout } from "../harness/input/machine-input.ts";
import type { DryRunData } from "../harness/run/dry-run.ts";
import { parseTasks } from "./parse-tasks.ts";
import { type DoneTasks, planTasks, runTasks } from "./run-tasks.ts";
import type { Task } from "./task.ts";

/** Accepts any text, so that each of its problems is reported separately. */
const taskList = (env: string) =>
  z.pipe(
    z.string(),
    z.transform((text: string) => parseTasks(env, text)),
  );

interface TasksInput {
  readonly tasks: Checked<readonly Task[]> | undefined;
  readonly tasksFile: Checked<readonly Task[]> | undefined;
}

export default defineAction({
  name: "run-tasks",
  summary: "Run a list of Rufio-style power, boot and media tasks in order, with one BMC session",
  // A list may cycle or reset, and its first tasks may undo what its last tasks have done.
  idempotent: false,
  input: {
    tasks: {
      env: "TASKS",
      type: "text",
      description: "The tasks, as a YAML or JSON list; required, directly or as a file",
      schema: taskList("TASKS"),
    } satisfies InputField<Checked<readonly Task[]>>,
    tasksFile: {
      ...textFile({ env: "TASKS_FILE", description: "A file with the tasks, or - for stdin" }),
      schema: taskList("TASKS_FILE"),
    },
    softTimeout: duration({
      env: "SOFT_TIMEOUT",
      description: "Time limit for each graceful shutdown",
      default: "60s",
    }),
    stateTimeout,
  },
  check: ({ tasks, tasksFile }: TasksInput, nameInput) => {
    const [text, file] = [nameInput("TASKS"), nameInput("TASKS_FILE")];
    if (tasks && tasksFile) return [`${text} and ${file} are both set: set only one`];
    const given = tasks ?? tasksFile;
    if (!given) return [`${text} or ${file} is missing: the tasks`];
    if (given.ok) return [];
    return given.problems.map(({ source, message }) =>
      formatProblem({ source: source.replace(/^TASKS(_FILE)?/, (name) => nameInput(name)), message }),
    );
  },
  run: async (context): Promise<ActionReport<DoneTasks | DryRunData>> => {
    const { tasks, tasksFile, softTimeout: softTimeoutMs, stateTimeout: timeoutMs } = context.input;
    const given = tasks ?? tasksFile;
    if (!given?.ok) throw new BmcError("internal", "the tasks were not checked");
    const perform = context.dryRun ? planTasks : runTasks;
    return perform(context, given.value, { softTimeoutMs, timeoutMs });
  },
});

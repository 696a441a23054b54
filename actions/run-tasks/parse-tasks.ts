import * as z from "zod/mini";
import { type RefusedKeys, type ValueProblem, valueProblems } from "../../shared/document/issue-problems.ts";
import { byLine, type Checked } from "../../shared/document/problem.ts";
import { parseYaml } from "../../shared/document/yaml-document.ts";
import { TaskList } from "./rufio-task.ts";
import type { Task } from "./task.ts";

/** A hundred tasks with long URLs take a third of this. */
const LARGEST_CHARACTERS = 65_536;

const SHAPE = "must be a list of tasks, or a document whose tasks or spec.tasks is such a list";

/** A form of the document, and where it holds the list of tasks. */
interface Form {
  readonly listPath: readonly string[];
  readonly schema: z.ZodMiniType<readonly Task[]>;
}

const bare: Form = { listPath: [], schema: TaskList };

const wrapped: Form = {
  listPath: ["tasks"],
  schema: z.pipe(
    z.strictObject({ tasks: TaskList }),
    z.transform(({ tasks }) => tasks),
  ),
};

/** A Job's `machineRef` is ignored, because the connection determines the machine. */
const job: Form = {
  listPath: ["spec", "tasks"],
  schema: z.pipe(
    z.strictObject({
      apiVersion: z.optional(z.literal("bmc.tinkerbell.org/v1alpha1")),
      kind: z.optional(z.literal("Job")),
      metadata: z.optional(z.unknown()),
      spec: z.strictObject({ machineRef: z.optional(z.unknown()), tasks: TaskList }),
      status: z.optional(z.unknown()),
    }),
    z.transform(({ spec }) => spec.tasks),
  ),
};

const refused: RefusedKeys = {
  operations: "belongs to Rufio's v1alpha2: name the list tasks, with the fields of v1alpha1",
};

/** Reads a list of tasks in YAML or JSON. Every problem names `source`, its line and its task. */
export function parseTasks(source: string, text: string): Checked<readonly Task[]> {
  if (text.length > LARGEST_CHARACTERS) {
    return { ok: false, problems: [{ source, message: `is longer than ${LARGEST_CHARACTERS} characters` }] };
  }
  const yaml = parseYaml(source, text);
  if (!yaml.ok) return yaml;
  const { value, sourceOf } = yaml.value;
  const form = formOf(value);
  if (!form) return { ok: false, problems: [{ source, message: SHAPE }] };
  const parsed = form.schema.safeParse(value);
  if (parsed.success) return { ok: true, value: parsed.data, warnings: [] };
  const problems = valueProblems(form.schema, value, parsed.error.issues, refused).map((problem) => ({
    source: sourceOf(problem.path),
    message: inTask(problem, form.listPath.length),
  }));
  return { ok: false, problems: byLine(problems) };
}

function formOf(value: unknown): Form | undefined {
  if (Array.isArray(value)) return bare;
  if (typeof value !== "object" || value === null) return undefined;
  return "spec" in value || "apiVersion" in value ? job : wrapped;
}

function inTask({ path, message }: ValueProblem, before: number): string {
  const index = path[before];
  if (typeof index !== "number") return `${placeOf(path) || "the list of tasks"} ${message}`;
  const place = placeOf(path.slice(before + 1));
  return `task ${index + 1}${place === "" ? "" : `: ${place}`} ${message}`;
}

function placeOf(path: readonly PropertyKey[]): string {
  return path
    .map((key) => (typeof key === "number" ? `[${key}]` : `.${String(key)}`))
    .join("")
    .replace(/^\./, "");
}

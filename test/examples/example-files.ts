import { readdir, readFile } from "node:fs/promises";
import { parseTemplate } from "../../worker/template/parse-template.ts";
import type { Template, TemplateTask } from "../../worker/template/template.ts";

const FOLDER = "examples";

/** A file of the examples, by its path from the project's root. */
export interface ExampleFile {
  readonly path: string;
  readonly text: string;
}

/** Every YAML file below `examples/`, by what is in it. Throws for one that is of no known kind. */
export async function exampleFiles() {
  const paths = (await readdir(FOLDER, { recursive: true })).filter((path) => path.endsWith(".yaml")).sort();
  const files = await Promise.all(
    paths.map(async (path) => ({
      path: `${FOLDER}/${path}`,
      text: await readFile(`${FOLDER}/${path}`, "utf8"),
    })),
  );
  const holding = (key: string) => files.filter(({ text }) => new RegExp(`^${key}:`, "m").test(text));
  const kinds = {
    templates: holding("tasks"),
    inventories: holding("machines"),
    policies: holding("images"),
    settings: holding("grpcServer"),
  };
  const known = Object.values(kinds).flat();
  const strange = files.filter((file) => known.filter((one) => one === file).length !== 1);
  if (strange.length > 0) throw new Error(`of no known kind: ${strange.map(({ path }) => path).join(", ")}`);
  return kinds;
}

/** The command that the comment on top of a template gives to try it, in parts. */
export interface ExampleCommand {
  readonly template: string;
  readonly values: Readonly<Record<string, string>>;
  readonly inventory: string;
  readonly policy: string | undefined;
  /** What is neither of these, such as `--task bmc`. */
  readonly others: readonly string[];
}

export function commandOf({ path, text }: ExampleFile): ExampleCommand {
  const comment = /^(#.*\n)+/.exec(text)?.[0] ?? "";
  const joined = comment.replaceAll(/\\\n# +/g, "").replaceAll(/^# ?/gm, "");
  const line = /^ {2}npm run -s pbnj-worker -- run (.+)$/m.exec(joined)?.[1];
  if (line === undefined) throw new Error(`${path} has no command on top`);
  const [template = "", ...flags] = line.trim().split(/ +/);
  const given = pairs(flags);
  const one = (name: string) => given.find(([flag]) => flag === name)?.[1];
  const maps = given.filter(([flag]) => flag === "--map").map(([, value]) => value.split("=", 2));
  const own = ["--map", "--inventory", "--policy"];
  return {
    template,
    values: Object.fromEntries(maps),
    inventory: one("--inventory") ?? "",
    policy: one("--policy"),
    others: given.filter(([flag]) => !own.includes(flag)).flat(),
  };
}

function pairs(flags: readonly string[]): readonly (readonly [string, string])[] {
  return flags.flatMap((flag, index) => (index % 2 === 0 ? [[flag, flags[index + 1] ?? ""] as const] : []));
}

/** The template with the values of its command; throws with everything that is wrong with it. */
export function templateOf(file: ExampleFile): Template {
  const parsed = parseTemplate(file.text, commandOf(file).values);
  if (parsed.ok) return parsed.template;
  throw new Error(parsed.problems.map(({ line, message }) => `${file.path}:${line}: ${message}`).join("\n"));
}

/** The tasks that pbnj-worker runs, and not the agent on a machine. */
export function bmcTasksOf(template: Template): readonly TemplateTask[] {
  return template.tasks.filter(({ worker }) => worker.startsWith("pbnj"));
}

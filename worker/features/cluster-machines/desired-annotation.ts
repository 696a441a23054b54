import { DesiredState } from "../../../shared/contract/desired-state.ts";
import { valueProblems } from "../../../shared/document/issue-problems.ts";
import { parseYaml } from "../../../shared/document/yaml-document.ts";
import { excessOf, INPUT_LIMITS } from "../../../shared/input-limits.ts";
import { printableLine, shortened } from "../../../shared/printable.ts";

const DESIRED_ANNOTATION = "pbnj-worker/desired";

/** The desired state in an annotation, or why the annotation is invalid. */
export interface AnnotatedState {
  readonly desired?: DesiredState;
  /** All problems of the annotation, in one line. */
  readonly desiredProblem?: string;
}

const MOST_PROBLEMS = 20;
const LONGEST_PROBLEM = 300;

/** Reads the annotation, which is YAML or JSON. Never throws, because an invalid annotation must not stop the machine's actions. */
export function annotatedState(annotations: Readonly<Record<string, string>> | undefined): AnnotatedState {
  const text = annotations?.[DESIRED_ANNOTATION] ?? "";
  if (text.trim() === "") return {};
  const { characters } = INPUT_LIMITS.desiredState;
  if (text.length > characters) return broken([`has more than ${characters} characters`]);
  const yaml = parseYaml("line", text);
  if (!yaml.ok) {
    return broken(yaml.problems.map(({ source, message }) => `${source.replace(":", " ")}: ${message}`));
  }
  const { value } = yaml.value;
  const excess = excessOf(value, "desiredState");
  if (excess !== undefined) return broken([excess]);
  const parsed = DesiredState.safeParse(value);
  if (parsed.success) {
    const images = componentsWithImage(parsed.data);
    if (images.length === 0) return { desired: parsed.data };
    return broken(images.map((name) => `firmware.${name}.image is taken only from an inventory file`));
  }
  const problems = valueProblems(DesiredState, value, parsed.error.issues);
  return broken(problems.map(({ path, message }) => `${path.map(String).join(".")} ${message}`));
}

/**
 * Finds the components with a firmware image. An annotation must not have one: many users may edit an object, but only the
 * operator decides what a BMC installs.
 */
function componentsWithImage({ firmware = {} }: DesiredState): readonly string[] {
  return Object.entries(firmware).flatMap(([name, wanted]) => (typeof wanted === "object" ? name : []));
}

function broken(problems: readonly string[]): AnnotatedState {
  const shown = problems
    .slice(0, MOST_PROBLEMS)
    .map((problem) => shortened(printableLine(problem).trim(), LONGEST_PROBLEM));
  const others = problems.length - shown.length;
  const all = [...shown, ...(others > 0 ? [`and ${others} more`] : [])];
  return { desiredProblem: `metadata.annotations.${DESIRED_ANNOTATION}: ${all.join("; ")}` };
}

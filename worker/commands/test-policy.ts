import { basename } from "node:path";
import { systemClock } from "../../shared/clock.ts";
import { EXIT_OK, exitCodeOf } from "../../shared/contract/exit-code.ts";
import { DATA_FORMATS, formatData, isDataFormat } from "../../shared/data-format.ts";
import { formatProblem, type Problem } from "../../shared/document/problem.ts";
import { suggestion } from "../../shared/nearest-name.ts";
import { printableLine, printableLines } from "../../shared/printable.ts";
import { problemReport } from "../document/problem-report.ts";
import { type ExplainOptions, explain } from "../explain/explain.ts";
import { type ExplainedAction, explanationTable } from "../explain/explanation-text.ts";
import { misspeltAgentIds } from "../machines/agent-id.ts";
import { loadRules, type Rules } from "../main/load-config.ts";
import { unenforced } from "../policy/unenforced.ts";
import type { SelfProgram } from "../runtimes/self-program.ts";
import { LOCAL_NAMESPACE, runnableActions } from "../template/actions.ts";
import { loadTemplate } from "../template/load-template.ts";
import type { Template } from "../template/template.ts";
import type { CommandProcess } from "./command-process.ts";

const OUTPUTS = ["table", ...DATA_FORMATS];
const EXIT_REFUSED = 1;
/** A DNS label (RFC 1123 section 2.1), as in Kubernetes. */
const NAMESPACE = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;

/**
 * Runs `pbnj-worker policy test`: explains for each action of a template whether it is allowed. Reads no secrets, and
 * connects only for --workflow. Resolves to the exit code: 0 if all actions are allowed, 1 if not, 2 for invalid input.
 */
export async function testPolicy(
  path: string | undefined,
  flags: Readonly<Record<string, unknown>>,
  unknown: readonly Problem[],
  own: SelfProgram,
  host: CommandProcess,
): Promise<number> {
  const { hardware, map, namespace: inNamespace, output: asked, workflow, ...settingFlags } = flags;
  const loaded = loadRules({ flags: settingFlags, env: host.env, actions: own.library.names() });
  const access = loaded.ok ? loaded.config.settings : undefined;
  const template = await loadTemplate(path, { hardware, map, workflow }, access);
  const ofTemplate = template.ok ? template.value.workflow?.namespace : undefined;
  const [namespace, output] = [String(inNamespace ?? ofTemplate ?? LOCAL_NAMESPACE), String(asked)];
  const problems = [loaded, template].flatMap((part) => (part.ok ? [] : part.problems));
  const wrong = [...unknown, ...flagProblems(namespace, output), ...problems];
  if (!loaded.ok || !template.ok || wrong.length > 0) {
    host.stderr.write(problemReport("pbnj-worker policy test", wrong));
    return exitCodeOf("usage");
  }
  const { config: rules } = loaded;
  const explained = await explainTemplate(template.value, namespace, explainOptions(rules, own));
  const warnings = [
    ...loaded.warnings,
    ...unenforced(rules.policy, rules.settings.runtime),
    ...misspeltAgentIds(explained, rules.settings.agentIdPattern, rules.inventory),
  ];
  for (const warning of warnings)
    host.stderr.write(`${printableLine(`warning: ${formatProblem(warning)}`)}\n`);
  const allowed = explained.every((action) => action.allowed);
  const { policy, inventory, runtime } = rules.settings;
  const about = { allowed, namespace, runtime, policy: policy ?? null, inventory: inventory ?? null };
  const text = isDataFormat(output)
    ? await formatData(output, { ...about, actions: explained.map(asJson) })
    : printableLines(`${explanationTable(explained)}\n\n${summary(explained, namespace, rules)}\n`);
  await new Promise<void>((resolve) => host.stdout.write(text, () => resolve()));
  return allowed ? EXIT_OK : EXIT_REFUSED;
}

function flagProblems(namespace: string, output: string): readonly Problem[] {
  const problems: Problem[] = [];
  if (!NAMESPACE.test(namespace)) {
    problems.push({ source: "--namespace", message: "must be the name of a namespace, such as team-a" });
  }
  if (!OUTPUTS.includes(output)) {
    const message = `must be one of ${OUTPUTS.join(", ")}${suggestion(output, OUTPUTS)}`;
    problems.push({ source: "--output", message });
  }
  return problems;
}

function explainOptions({ policy, inventory, settings }: Rules, own: SelfProgram): ExplainOptions {
  const { agentIdPattern, runtime, unsafeAnyImage, pullPolicy, memoryLimit, cpuLimit, pidsLimit } = settings;
  return {
    policy,
    catalogue: own.library,
    clock: systemClock,
    unsafeAnyImage,
    inventory,
    agentIdPattern,
    runtime,
    settings: { pull: pullPolicy, memoryBytes: memoryLimit, cpus: cpuLimit, pids: pidsLimit },
  };
}

async function explainTemplate(
  template: Template,
  namespace: string,
  options: ExplainOptions,
): Promise<readonly ExplainedAction[]> {
  const explained: ExplainedAction[] = [];
  for (const action of runnableActions(template.tasks, `${namespace}/${template.name}`)) {
    const { taskId: task, name, agentId, image } = action;
    explained.push({ task, action: name, agentId, image, ...(await explain(action, options)) });
  }
  return explained;
}

/** The explanation as JSON, with null for absent values. */
function asJson({ task, action, agentId, image, machine, container, ...verdict }: ExplainedAction) {
  const about = { task, action, agentId, image, machine: machine ?? null };
  return { ...about, ...verdict, container: container ?? null };
}

function summary(explained: readonly ExplainedAction[], namespace: string, { settings }: Rules): string {
  const refused = explained.filter(({ allowed }) => !allowed).length;
  const allowed = explained.length - refused;
  const by = settings.policy === undefined ? "without a policy" : `by ${basename(settings.policy)}`;
  const machines = settings.inventory === undefined ? ", without an inventory no machine is known" : "";
  return `${allowed} allowed, ${refused} refused ${by}; namespace ${namespace}, runtime ${settings.runtime}${machines}`;
}

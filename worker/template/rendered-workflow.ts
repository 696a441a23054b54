import { z } from "zod";
import { parseImageReference } from "../../shared/contract/image-reference.ts";
import { valueProblems } from "../../shared/document/issue-problems.ts";
import { byLine, type Checked } from "../../shared/document/problem.ts";
import { parseYaml, type YamlDocument } from "../../shared/document/yaml-document.ts";
import { excessOf, INPUT_BYTES } from "../../shared/input-limits.ts";
import type { Template } from "./template.ts";

const Texts = z.array(z.string()).default([]);
const Variables = z.record(z.string(), z.string()).default({});

const Action = z.object({
  name: z.string().min(1),
  image: z.string().refine((image) => parseImageReference(image) !== undefined, "is not an image reference"),
  timeout: z.int().nonnegative().default(0),
  command: Texts,
  volumes: Texts,
  environment: Variables,
  pid: z.string().exactOptional(),
  namespaces: z
    .object({ network: z.string().exactOptional(), pid: z.string().exactOptional() })
    .exactOptional(),
});

const Task = z.object({
  name: z.string().min(1),
  agentID: z.string().min(1),
  volumes: Texts,
  environment: Variables,
  actions: z.array(Action).min(1),
});

/** A template as the tink server rendered it (`api/v1alpha1/tinkerbell/workflow.go`): the tasks in a Workflow's status. */
export const Workflow = z.object({
  metadata: z.object({ name: z.string(), namespace: z.string().min(1).default("default") }),
  spec: z.object({ disabled: z.boolean().nullish() }).nullish(),
  status: z.object({
    state: z.string().default("PENDING"),
    globalTimeout: z.int().nonnegative().default(0),
    tasks: z.array(Task),
  }),
});
const Rendered = z.object({ status: z.object({ tasks: z.array(z.unknown()).nonempty() }) });

/** Only unindented keys of YAML count, because a template's texts may contain objects. In JSON, keys are quoted. */
const IN_YAML = /^kind:[ \t]*["']?Workflow["']?[ \t]*(#.*)?$/m;
const IN_JSON = /^\s*\{[\s\S]*"kind"\s*:\s*"Workflow"/;

/** Whether the text is a Workflow and no template. */
export function isWorkflow(text: string): boolean {
  return IN_YAML.test(text) || IN_JSON.test(text);
}

/** Parses the template that the server rendered for a Workflow in a file. */
export function parseWorkflow(path: string, text: string): Checked<Template> {
  if (text.length > INPUT_BYTES.workflowFile) {
    const message = `the Workflow is longer than ${INPUT_BYTES.workflowFile} characters`;
    return { ok: false, problems: [{ source: path, message }] };
  }
  const yaml = parseYaml(path, text);
  return yaml.ok ? renderedTemplate(yaml.value) : yaml;
}

export function renderedTemplate({ value, sourceOf }: Omit<YamlDocument, "path">): Checked<Template> {
  const excess = excessOf(value, "workflow");
  if (excess !== undefined)
    return { ok: false, problems: [{ source: sourceOf([]), message: `the Workflow ${excess}` }] };
  if (!Rendered.safeParse(value).success) {
    const message = "the Workflow is not rendered: its status has no tasks";
    return { ok: false, problems: [{ source: sourceOf([]), message }] };
  }
  const parsed = Workflow.safeParse(value);
  if (!parsed.success) {
    const problems = valueProblems(Workflow, value, parsed.error.issues).map(({ path: keys, message }) => ({
      source: sourceOf(keys),
      message: `${keys.map(String).join(".")} ${message}`,
    }));
    return { ok: false, problems: byLine(problems) };
  }
  const { metadata, spec, status } = parsed.data;
  const tasks = status.tasks.map(({ agentID, actions, ...task }) => ({
    ...task,
    worker: agentID,
    actions: actions.map(({ timeout, ...action }) => ({
      ...action,
      timeoutSeconds: timeout,
      onTimeout: [],
      onFailure: [],
    })),
  }));
  const workflow = {
    ...metadata,
    state: status.state.replace(/^STATE_/, ""),
    disabled: spec?.disabled === true,
  };
  const template = {
    version: "0.1",
    name: metadata.name,
    globalTimeoutSeconds: status.globalTimeout,
    tasks,
    workflow,
  };
  return { ok: true, value: template, warnings: [] };
}

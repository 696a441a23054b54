import { readFileSync } from "node:fs";
import { parse } from "yaml";
import { z } from "zod";
import { readTextFile } from "../../shared/read-text-file.ts";
import { v1alpha2 } from "../../worker/features/rufio/v1alpha2.ts";
import { parseInventory } from "../../worker/machines/parse-inventory.ts";
import { loadConfig } from "../../worker/main/load-config.ts";
import { parsePolicy } from "../../worker/policy/parse-policy.ts";
import { parseTemplate } from "../../worker/template/parse-template.ts";

const VALUES_SCHEMA = new URL("../../deploy/chart/values.schema.json", import.meta.url);
const POLICY_KEYS = [
  "trustedImages",
  "environment",
  "images",
  "tenants",
  "agents",
  "containers",
  "volumes",
  "references",
  "bmcAddresses",
];
/** A secret, an authority or a program that a manual names is not on this machine. */
const ABSENT = /(does not exist|is not set|cannot be found|not found in PATH)/;

/**
 * What is wrong with a YAML block of a manual, by the parser of whatever it is. A part of an inventory's machine or of a
 * template is put where it belongs. `files` are those that the page has, by name.
 */
export function yamlProblems(text: string, files: ReadonlyMap<string, string>): readonly string[] {
  const content: unknown = parse(quotedPlaceholders(text));
  if (typeof content !== "object" || content === null) return ["it holds nothing"];
  const has = (...names: readonly string[]) => names.some((name) => name in content);
  if (has("tasks")) return templateProblems(has("version") ? text : `${ABOUT_TEMPLATE}${text}`);
  if (has("image") && has("tink")) return chartProblems(content);
  if ("kind" in content && content.kind === "Job") return jobProblems(content);
  if (has("kind")) return tinkerbellProblems(content);
  if (has("scrape_configs")) return issuesOf(ScrapeConfigs, content);
  if (has("grpcServer")) return settingsProblems(text, files);
  if (has("machines")) return inventoryProblems(text);
  if (has("limits")) return inventoryProblems(`${text}\nmachines: []\n`);
  if ("credentials" in content && Array.isArray(content.credentials)) {
    // Output of `pbnj-worker discover`.
    return content.credentials.flatMap((credentials) => inventoryProblems(asMachine({ credentials })));
  }
  if (has("credentials", "rpc", "desired")) return inventoryProblems(asMachine(content));
  if (has(...POLICY_KEYS)) return policyProblems(text);
  return [`of no known kind: ${Object.keys(content).join(", ")}`];
}

/** Problems of one of Rufio's Jobs, v1alpha2. */
function jobProblems(content: object): readonly string[] {
  const metadata = { name: "job", namespace: "default", uid: "1", resourceVersion: "1" };
  const job = v1alpha2.jobOf({ ...content, metadata });
  if (!job || job.finished) return ["it is no open Job"];
  const problems = job.tasks.flatMap((task) => {
    const read = v1alpha2.readTask(task);
    return read.ok ? [] : [read.reason];
  });
  return [...(job.problem === undefined ? [] : [job.problem]), ...problems];
}

/** The fields of Tinkerbell's objects that manuals use. */
const common = {
  apiVersion: z.literal("tinkerbell.org/v1alpha1"),
  metadata: z.strictObject({
    ...{ name: z.string(), namespace: z.string() },
    annotations: z.record(z.string(), z.string()).optional(),
  }),
};
const Hardware = z.strictObject({
  ...common,
  kind: z.literal("Hardware"),
  spec: z.strictObject({ bmcRef: z.strictObject({ kind: z.literal("Machine"), name: z.string() }) }),
});
const Workflow = z.strictObject({
  ...common,
  kind: z.literal("Workflow"),
  spec: z.strictObject({ templateRef: z.string(), hardwareMap: z.record(z.string(), z.string()) }),
});
const Template = z.strictObject({
  ...common,
  kind: z.literal("Template"),
  spec: z.strictObject({ data: z.string() }),
});
const WorkflowRuleSet = z.strictObject({
  ...common,
  kind: z.literal("WorkflowRuleSet"),
  spec: z.strictObject({
    rules: z.array(z.string().transform((rule): unknown => JSON.parse(rule))),
    workflow: z.strictObject({
      namespace: z.string(),
      addAttributes: z.boolean(),
      template: z.strictObject({ ref: z.string(), agentValue: z.string() }),
    }),
  }),
});

const TinkerbellObject = z.discriminatedUnion("kind", [Hardware, Workflow, Template, WorkflowRuleSet]);

function tinkerbellProblems(content: object): readonly string[] {
  const problems = issuesOf(TinkerbellObject, content);
  const template = Template.safeParse(content);
  return [...problems, ...(template.success ? templateProblems(template.data.spec.data) : [])];
}

/** The fields of Prometheus' configuration that manuals use. */
const ScrapeConfigs = z.strictObject({
  scrape_configs: z.array(
    z.strictObject({
      job_name: z.literal("pbnj-worker"),
      scheme: z.enum(["http", "https"]),
      authorization: z.strictObject({ credentials_file: z.string() }),
      tls_config: z.strictObject({ ca_file: z.string() }),
      static_configs: z.array(z.strictObject({ targets: z.array(z.string()) })),
    }),
  ),
});

const ABOUT_TEMPLATE = 'version: "0.1"\nname: part\nglobal_timeout: 3600\n';

/** Braces of a template are YAML's own where no quotes are around them. */
function quotedPlaceholders(text: string): string {
  return text.replaceAll(/: \{\{.*\| toJson \}\}$/gm, ": json").replaceAll(/\{\{ *\.(\w+) *\}\}/g, "$1");
}

/** Problems of values of the Helm chart, whose schema rejects unknown keys. */
function chartProblems(values: object): readonly string[] {
  const schema = z.fromJSONSchema(JSON.parse(readFileSync(VALUES_SCHEMA, "utf8")));
  return issuesOf(schema, values);
}

function issuesOf(schema: z.ZodType, value: unknown): readonly string[] {
  const { error } = schema.safeParse(value);
  return (error?.issues ?? []).map(({ path, message }) => `${path.join(".")}: ${message}`);
}

function templateProblems(text: string): readonly string[] {
  const values = Object.fromEntries(
    [...text.matchAll(/\{\{ *\.(\w+) *\}\}/g)].map(([, key]) => [key, "node-1"]),
  );
  const hardware = { metadata: { annotations: { "example.org/boot-tasks": "[]" } } };
  const parsed = parseTemplate(text, { ...values, hardware });
  return parsed.ok ? [] : parsed.problems.map(({ line, message }) => `${line}: ${message}`);
}

function inventoryProblems(text: string): readonly string[] {
  const read = (path: string) => (path.startsWith("/") ? readTextFile(path) : "secret\n");
  const parsed = parseInventory({ path: "/etc/pbnj-worker/inventory.yaml", text, env: {}, readFile: read });
  const found = parsed.ok ? parsed.warnings : parsed.problems;
  return found.flatMap(({ source, message }) => (ABSENT.test(message) ? [] : [`${source}: ${message}`]));
}

function asMachine(part: object): string {
  return JSON.stringify({ machines: [{ name: "node-1", host: "192.0.2.11", ...part }] });
}

function policyProblems(text: string): readonly string[] {
  const parsed = parsePolicy("policy.yaml", text);
  return parsed.ok ? [] : parsed.problems.map(({ source, message }) => `${source}: ${message}`);
}

function settingsProblems(text: string, files: ReadonlyMap<string, string>): readonly string[] {
  const folder = "/etc/pbnj-worker/";
  const readFile = (path: string) => {
    if (path === `${folder}worker.yaml`) return text;
    return files.get(path.replace(folder, "")) ?? readTextFile(path);
  };
  const loaded = loadConfig({ flags: { config: `${folder}worker.yaml` }, env: {}, readFile });
  return loaded.ok ? [] : loaded.problems.map(({ source, message }) => `${source}: ${message}`);
}

import { basename } from "node:path";
import { valueProblems } from "../../shared/document/issue-problems.ts";
import { byLine, type Checked, type Problem } from "../../shared/document/problem.ts";
import { parseYaml, type YamlDocument } from "../../shared/document/yaml-document.ts";
import { excessOf, INPUT_BYTES } from "../../shared/input-limits.ts";
import { WritableFolders } from "./host-path.ts";
import { Policy } from "./policy.ts";

const refusedKeys: Readonly<Record<string, string>> = {
  environmentDenied:
    "is not known: actions accept only their inputs; write the other variables that images may be given below environment",
  capabilities: "is not known: actions run without capabilities",
  limits: "is not known: limits belong to images, write them below containers",
  pull: "is not known: when to pull belongs to images, write it below containers",
  pullPolicy: "is not known: when to pull belongs to images, write pull below containers",
};

/** Parses a whole policy; every problem has its line. An empty file is the default policy. */
export function parsePolicy(path: string, text: string): Checked<Policy> {
  if (text.length > INPUT_BYTES.policy) {
    const message = `the policy is longer than ${INPUT_BYTES.policy} characters`;
    return { ok: false, problems: [{ source: basename(path), message }] };
  }
  const yaml = parseYaml(path, text);
  if (!yaml.ok) return yaml;
  const value = yaml.value.value ?? {};
  const excess = excessOf(value, "policy");
  if (excess !== undefined)
    return { ok: false, problems: [{ source: yaml.value.sourceOf([]), message: `the policy ${excess}` }] };
  const parsed = Policy.safeParse(value);
  if (parsed.success) return { ok: true, value: parsed.data, warnings: concerns(parsed.data, yaml.value) };
  const problems = valueProblems(Policy, value, parsed.error.issues, refusedKeys).map(
    ({ path: keys, message }) => ({
      source: yaml.value.sourceOf(keys),
      message: `${keys.map(String).join(".") || "the policy"} ${message}`,
    }),
  );
  return { ok: false, problems: byLine(problems) };
}

/** Warns about rules that let tenants reach machines or images of others, and about rules without effect. */
function concerns(policy: Policy, document: YamlDocument): readonly Problem[] {
  const { tenants = [], trustedImages = [], privileged, volumes } = policy;
  const open = (patterns: readonly string[] | undefined) => patterns?.includes("**") ?? true;
  const ownImages = open(trustedImages) ? tenants.findIndex((tenant) => open(tenant.images)) : -1;
  const found: Problem[] = [];
  if (ownImages >= 0) {
    found.push({
      source: document.sourceOf(["tenants", ownImages]),
      message: `tenants.${ownImages} may run any image, and trustedImages gives every image its machine's credentials: name the trusted ones`,
    });
  }
  if (tenants.length > 0 && privileged.length > 0) {
    found.push({
      source: document.sourceOf(["privileged"]),
      message: "privileged gives every tenant who may run such an image the worker's host",
    });
  }
  const writable = new WritableFolders(volumes);
  for (const [index, { path }] of volumes.entries()) {
    const above = writable.above(path);
    if (above === undefined) continue;
    found.push({
      source: document.sourceOf(["volumes", index]),
      message: `volumes.${index} is never mounted: actions may write in ${above}, and so replace ${path} with a link; list ${above}/* to mount the folders in it`,
    });
  }
  return byLine(found);
}

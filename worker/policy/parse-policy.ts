import { valueProblems } from "../../shared/document/issue-problems.ts";
import { byLine, type Checked } from "../../shared/document/problem.ts";
import { parseYaml } from "../../shared/document/yaml-document.ts";
import { Policy } from "./policy.ts";

const refusedKeys: Readonly<Record<string, string>> = {
  privileged: "is not known: no action runs privileged",
  capabilities: "is not known: actions run without capabilities",
};

/** Reads a whole policy; every problem comes with its line. An empty file is the default policy. */
export function parsePolicy(path: string, text: string): Checked<Policy> {
  const yaml = parseYaml(path, text);
  if (!yaml.ok) return yaml;
  const value = yaml.value.value ?? {};
  const parsed = Policy.safeParse(value);
  if (parsed.success) return { ok: true, value: parsed.data, warnings: [] };
  const problems = valueProblems(Policy, value, parsed.error.issues, refusedKeys).map(
    ({ path: keys, message }) => ({
      source: yaml.value.sourceOf(keys),
      message: `${keys.map(String).join(".") || "the policy"} ${message}`,
    }),
  );
  return { ok: false, problems: byLine(problems) };
}

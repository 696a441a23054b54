import { readFile } from "node:fs/promises";
import type { Checked, Problem } from "../../shared/document/problem.ts";
import { suggestion } from "../../shared/nearest-name.ts";
import { fileProblemOf } from "../../shared/read-text-file.ts";
import { fetchWorkflow, type WorkflowCluster } from "./fetch-workflow.ts";
import { hardwareData } from "./hardware-data.ts";
import { type ParsedTemplate, parseTemplate } from "./parse-template.ts";
import { isWorkflow, parseWorkflow } from "./rendered-workflow.ts";
import type { Template } from "./template.ts";

/** Flags from the command line. */
export interface TemplateFlags {
  /** `key=value` texts. */
  readonly map?: unknown;
  /** The file with a Hardware object. */
  readonly hardware?: unknown;
  /** The `namespace/name` of a Workflow in the cluster, which replaces a file. */
  readonly workflow?: unknown;
}

/**
 * Reads a template and renders it, or reads a Workflow that the server has rendered, from a file or the cluster. `cluster`
 * is undefined if the settings have problems.
 */
export async function loadTemplate(
  path: string | undefined,
  { map, hardware: hardwarePath, workflow }: TemplateFlags,
  cluster: WorkflowCluster | undefined,
): Promise<Checked<Template>> {
  if ((path === undefined) === (workflow === undefined)) {
    const message = "name either the file of a template or Workflow, or --workflow <namespace/name>";
    return { ok: false, problems: [{ source: "command line", message }] };
  }
  if (path === undefined) {
    const needless = needlessFlags(map, hardwarePath);
    if (needless.length > 0) return { ok: false, problems: needless };
    return fetchWorkflow(String(workflow), cluster);
  }
  const { values, problems } = readMap(map);
  const hardware = typeof hardwarePath === "string" ? await hardwareData(hardwarePath) : undefined;
  if (hardware?.ok === false) problems.push(...hardware.problems);
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (thrown) {
    const source = path === "" ? "the template" : path;
    return {
      ok: false,
      problems: [...problems, { source, message: path === "" ? "has no file name" : fileProblemOf(thrown) }],
    };
  }
  if (isWorkflow(text)) {
    problems.push(...needlessFlags(map, hardwarePath));
    const template = parseWorkflow(path, text);
    return problems.length === 0 ? template : { ok: false, problems };
  }
  const parsed = parseTemplate(text, { ...values, ...(hardware?.ok && hardware.value) });
  problems.push(...unused(values, parsed));
  if (parsed.ok && problems.length === 0) return { ok: true, value: parsed.template, warnings: [] };
  const wrong = parsed.ok ? [] : parsed.problems;
  const placed = wrong.map(({ line, column, message }) => ({ source: `${path}:${line}:${column}`, message }));
  return { ok: false, problems: [...problems, ...placed] };
}

function needlessFlags(map: unknown, hardware: unknown): readonly Problem[] {
  return Object.entries({ "--map": map, "--hardware": hardware })
    .filter(([, value]) => value !== undefined)
    .map(([source]) => ({ source, message: "is not needed: the Workflow is rendered" }));
}

function unused(values: Readonly<Record<string, string>>, { ok, keys }: ParsedTemplate): readonly Problem[] {
  return Object.keys(values)
    .filter((key) => !keys.has(key))
    .flatMap((key) => {
      const meant = suggestion(
        key,
        [...keys].filter((used) => !Object.hasOwn(values, used)),
      );
      // The keys of an unreadable template are not all known.
      if (!ok && meant === "") return [];
      return [{ source: "--map", message: `gives ${key}, which the template does not use${meant}` }];
    });
}

function readMap(map: unknown): {
  readonly values: Readonly<Record<string, string>>;
  readonly problems: Problem[];
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

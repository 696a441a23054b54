import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { stringify } from "yaml";
import { readManifest } from "./manifest.ts";
import { filePages, iconUrl } from "./project-pages.ts";

const ROOT = join(import.meta.dirname, "..");
/** In the chart's copy of the alerts, which a value replaces. */
const BASE = "RUNBOOK_BASE";

/** The alert rules, whose runbooks are the pages of this version. */
export async function refreshAlerts(current: string): Promise<string> {
  const base = await runbookBase();
  return current.replace(/^( *runbook_url: )\S*(\/docs\/\S+)$/gm, `$1${base}$2`);
}

/** The chart's copy of the alert rules, without the runbooks' base. */
export async function chartAlerts(): Promise<string> {
  const rules = await readFile(join(ROOT, "deploy/prometheus/alerts.yaml"), "utf8");
  return rules.replace(/^( *runbook_url: )\S*(\/docs\/\S+)$/gm, `$1${BASE}$2`);
}

/** The chart's values with the base of this version. */
export async function refreshValues(current: string): Promise<string> {
  return current.replace(/^( *runbookBase: ).*$/m, `$1${await runbookBase()}`);
}

/** The chart's Chart.yaml with version, people and pages of package.json. */
export async function refreshChart(current: string): Promise<string> {
  const manifest = await readManifest(ROOT);
  const { version, repository, homepage, author, bugs } = manifest;
  const lines: Readonly<Record<string, unknown>> = {
    version,
    appVersion: version,
    home: homepage,
    icon: iconUrl(manifest),
    sources: [repository],
    maintainers: [{ name: author?.name, url: homepage }],
    "  artifacthub.io/links": inline([{ name: "support", url: bugs }]),
  };
  return Object.entries(lines).reduce(
    (so, [key, value]) => so.replace(new RegExp(`^${key}: .*$`, "m"), `${key}: ${inline(value)}`),
    current,
  );
}

/** YAML in one line, in the formatter's style. */
function inline(value: unknown): string {
  const text = stringify(value, { collectionStyle: "flow", lineWidth: 0 }).trim();
  return text.replace(/^\[ (.*) \]$/, "[$1]");
}

async function runbookBase(): Promise<string> {
  const { repository, version } = await readManifest(ROOT);
  const pages = repository && filePages(repository, version);
  if (!pages) throw new Error("package.json has no repository on a known host");
  return pages;
}

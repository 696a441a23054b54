import { readFile, writeFile } from "node:fs/promises";
import { catalogue, loadAction } from "../actions/catalogue.ts";
import { fieldNames } from "../actions/harness/input/environment.ts";
import type { ActionReference } from "../actions/harness/input/reference.ts";
import { ProviderName } from "../shared/contract/vocabulary.ts";
import { recordingSchema } from "../shared/recording/recording.ts";
import { textOf } from "../shared/text-of.ts";
import { refreshInputPage } from "./action-readme/action-pages.ts";
import { refreshActionReadme } from "./action-readme/action-readme.ts";
import { type SharedObjects, sharedObjects } from "./action-readme/shared-objects.ts";
import { chartFiles } from "./chart/chart-files.ts";
import { refreshCompatibilityPage } from "./compatibility-page.ts";
import { renderConfigurationPage } from "./configuration-page.ts";
import { refreshAlerts } from "./deploy-files.ts";
import { refreshLibraryPage } from "./library-page.ts";
import { refreshBetweenMarks } from "./marked-part.ts";
import { renderMetricsPage } from "./metrics-page.ts";
import { refreshPerformancePage, refreshReadmeFigures } from "./performance-page.ts";
import { refreshProviderPage, refreshProviderTable } from "./provider-pages.ts";

import { refreshTestedHardware } from "./tested-hardware.ts";

type Render = (current: string) => string | Promise<string>;

/** Generated files, and files with a generated part, by path from the project's root; from their current text. */
export const pages: Readonly<Record<string, Render>> = {
  "README.md": async (current) => refreshReadmeFigures(current),
  "docs/reference/actions.md": refreshActionList,
  "docs/explanation/performance.md": refreshPerformancePage,
  "docs/reference/action-input.md": refreshInputPage,
  "actions/idempotent-names.json": renderIdempotentNames,
  "actions/input-names.json": renderInputNames,
  "docs/reference/bmc-library.md": refreshLibraryPage,
  "docs/reference/compatibility.md": refreshCompatibilityPage,
  "docs/reference/configuration.md": renderConfigurationPage,
  "docs/reference/metrics.md": renderMetricsPage,
  "docs/reference/providers/README.md": refreshProviderTable,
  ...Object.fromEntries(
    ProviderName.options.map((name) => [
      `docs/reference/providers/${name}.md`,
      (current: string) => refreshProviderPage(name, current),
    ]),
  ),
  "docs/reference/tested-hardware.md": refreshTestedHardware,
  "docs/reference/recording.schema.json": () => `${JSON.stringify(recordingSchema(), undefined, 2)}\n`,
  "deploy/prometheus/alerts.yaml": refreshAlerts,
  ...chartFiles,
  ...Object.fromEntries(catalogue.map((name) => [`actions/${name}/README.md`, actionReadme(name)])),
};

export async function loadReference(name: string): Promise<ActionReference> {
  const { reference } = await import(`../actions/${name}/reference.ts`);
  return reference;
}

/** The variables that are inputs of at least one action: a worker need not load the actions to know them. */
async function renderInputNames(): Promise<string> {
  const loaded = await Promise.all(catalogue.map(loadAction));
  const names = new Set(loaded.flatMap((action) => (action ? fieldNames(action) : [])));
  return `${JSON.stringify([...names].toSorted(), undefined, 2)}\n`;
}

/** The actions that a policy may let repeat themselves. */
async function renderIdempotentNames(): Promise<string> {
  const loaded = await Promise.all(catalogue.map(loadAction));
  const names = loaded.flatMap((action) => (action?.idempotent ? [action.name] : []));
  return `${JSON.stringify(names.toSorted(), undefined, 2)}\n`;
}

/** The page that lists all actions. */
async function refreshActionList(current: string): Promise<string> {
  const loaded = await Promise.all(catalogue.map(loadAction));
  const rows = loaded.flatMap((action) =>
    action ? [`| [${action.name}](../../actions/${action.name}/README.md) | ${action.summary} |`] : [],
  );
  const table = ["| action | does |", "| --- | --- |", ...rows].join("\n");
  return refreshBetweenMarks(current, "<!-- generated from the catalogue: npm run docs -->", table);
}

let shared: Promise<SharedObjects> | undefined;

function loadSharedObjects(): Promise<SharedObjects> {
  shared ??= Promise.all(
    catalogue.map(async (name) => [name, (await loadReference(name)).output] as const),
  ).then((outputs) => sharedObjects(Object.fromEntries(outputs)));
  return shared;
}

function actionReadme(name: string): Render {
  return async (current) => {
    const action = await loadAction(name);
    if (!action) throw new Error(`there is no action ${name}`);
    return refreshActionReadme(current, action, await loadReference(name), await loadSharedObjects());
  };
}

if (import.meta.main) {
  for (const [path, render] of Object.entries(pages)) {
    const file = new URL(`../${path}`, import.meta.url);
    const current = await readFile(file, "utf8").catch(() => "");
    try {
      await writeFile(file, await render(current));
    } catch (thrown) {
      throw new Error(`${path}: ${textOf(thrown)}`, { cause: thrown });
    }
  }
}

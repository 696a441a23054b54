import { ProviderName } from "../shared/contract/vocabulary.ts";
import { recordingSchema } from "../shared/recording/recording.ts";
import {
  actionFolders,
  CATALOGUE_FILE,
  loadAction,
  loadReference,
  renderCatalogue,
} from "./action-folders.ts";
import { refreshInputPage } from "./action-readme/action-pages.ts";
import { refreshActionReadme } from "./action-readme/action-readme.ts";
import { type SharedObjects, sharedObjects } from "./action-readme/shared-objects.ts";
import { chartFiles } from "./chart/chart-files.ts";
import { refreshCheckPage } from "./check-page.ts";
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
  [CATALOGUE_FILE]: renderCatalogue,
  "docs/reference/bmc-library.md": refreshLibraryPage,
  "docs/reference/check.md": refreshCheckPage,
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
  ...Object.fromEntries(actionFolders.map((name) => [`actions/${name}/README.md`, actionReadme(name)])),
};

/** The page that lists all actions. */
async function refreshActionList(current: string): Promise<string> {
  const loaded = await Promise.all(actionFolders.map(loadAction));
  const rows = loaded.map(
    ({ name, summary }) => `| [${name}](../../actions/${name}/README.md) | ${summary} |`,
  );
  const table = ["| action | does |", "| --- | --- |", ...rows].join("\n");
  return refreshBetweenMarks(current, "<!-- generated from the catalogue: npm run docs -->", table);
}

let shared: Promise<SharedObjects> | undefined;

function loadSharedObjects(): Promise<SharedObjects> {
  shared ??= Promise.all(
    actionFolders.map(async (name) => [name, (await loadReference(name)).output] as const),
  ).then((outputs) => sharedObjects(Object.fromEntries(outputs)));
  return shared;
}

function actionReadme(name: string): Render {
  return async (current) =>
    refreshActionReadme(
      current,
      await loadAction(name),
      await loadReference(name),
      await loadSharedObjects(),
    );
}

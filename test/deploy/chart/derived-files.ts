import { readFile } from "node:fs/promises";
import { refreshBetweenMarks } from "../../../scripts/marked-part.ts";
import { valuesTable } from "./values-table.ts";

const root = new URL("../../../", import.meta.url);
const textOf = (path: string) => readFile(new URL(path, root), "utf8");

/**
 * Files of the chart that follow from others: by path from the project's root, out of their present text. Helm reads nothing
 * outside of a chart, and links are not kept by every way that charts travel, so that rules and dashboard are there twice.
 */
export const derivedFiles: Readonly<Record<string, (current: string) => Promise<string>>> = {
  "deploy/chart/Chart.yaml": async (current) => {
    const { version } = JSON.parse(await textOf("package.json"));
    return current.replace(/^(version|appVersion): .*$/gm, `$1: ${version}`);
  },
  "deploy/chart/README.md": async (current) =>
    refreshBetweenMarks(
      current,
      "<!-- generated from values.yaml and its schema: npm run docs:chart -->",
      valuesTable(
        await textOf("deploy/chart/values.yaml"),
        JSON.parse(await textOf("deploy/chart/values.schema.json")),
      ),
    ),
  "deploy/chart/files/alerts.yaml": () => textOf("deploy/prometheus/alerts.yaml"),
  "deploy/chart/files/pbnj-worker.json": () => textOf("deploy/grafana/pbnj-worker.json"),
};

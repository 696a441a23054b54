import { readFile } from "node:fs/promises";
import { chartAlerts, refreshChart, refreshValues } from "../deploy-files.ts";
import { refreshValuesSchema, settingPlaces } from "./settings-schema.ts";

const root = new URL("../../", import.meta.url);
const textOf = (path: string) => readFile(new URL(path, root), "utf8");

/**
 * Files of the chart that are made from others, by path from the project's root. Helm reads no file outside a chart, and not
 * every way to copy a chart keeps links, so the chart has copies of the alert rules and the dashboard.
 */
export const chartFiles: Readonly<Record<string, (current: string) => string | Promise<string>>> = {
  "deploy/chart/Chart.yaml": refreshChart,
  "deploy/chart/values.yaml": refreshValues,
  "deploy/chart/files/alerts.yaml": chartAlerts,
  "deploy/chart/files/pbnj-worker.json": () => textOf("deploy/grafana/pbnj-worker.json"),
  "deploy/chart/files/setting-places.yaml": settingPlaces,
  "deploy/chart/values.schema.json": refreshValuesSchema,
};

import { readFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { z } from "zod";
import { definitions, type MetricDefinition } from "../../worker/features/metrics/definitions.ts";
import { labelText, labelValues } from "../../worker/features/metrics/metric-labels.ts";
import { headingAnchors } from "../docs/markdown.ts";
import { readPromql } from "./promql.ts";

const root = new URL("../../", import.meta.url);
const textOf = (path: string) => readFile(new URL(path, root), "utf8");

const Rule = z.strictObject({
  alert: z.string().regex(/^Pbnj[A-Za-z]+$/),
  expr: z.string(),
  for: z
    .string()
    .regex(/^\d+[mh]$/)
    .optional(),
  labels: z.strictObject({ severity: z.enum(["critical", "warning"]) }),
  annotations: z.strictObject({
    summary: z.string().min(20),
    description: z.string().min(60),
    runbook_url: z.url(),
  }),
});
const Rules = z.strictObject({
  groups: z.tuple([z.strictObject({ name: z.literal("pbnj-worker"), rules: z.array(Rule).min(10) })]),
});

const Panel = z.object({
  id: z.number(),
  type: z.enum(["row", "stat", "timeseries"]),
  title: z.string().min(3),
  description: z.string().optional(),
  gridPos: z.object({ x: z.number(), y: z.number(), w: z.number(), h: z.number() }),
  targets: z.array(z.object({ refId: z.string(), expr: z.string(), legendFormat: z.string() })).optional(),
});
const Dashboard = z.object({
  title: z.literal("pbnj-worker"),
  uid: z.literal("pbnj-worker"),
  schemaVersion: z.number(),
  panels: z.array(Panel),
  annotations: z.object({ list: z.array(z.object({ expr: z.string() })) }),
  templating: z.object({
    list: z.array(z.object({ name: z.string(), type: z.string(), query: z.unknown() })),
  }),
});

const rules = Rules.parse(parse(await textOf("deploy/prometheus/alerts.yaml"))).groups[0].rules;
const dashboard = Dashboard.parse(JSON.parse(await textOf("deploy/grafana/pbnj-worker.json")));
const shown = dashboard.panels.flatMap(({ title, targets = [] }) =>
  targets.map((target) => ({ title, ...target })),
);

const metrics: readonly MetricDefinition[] = Object.values(definitions);
/** What Prometheus itself adds to everything that it reads. */
const TARGET_LABELS = ["job", "instance"];

interface Series {
  readonly labels: readonly string[];
  /** The values that a label can have, where they are known. */
  valuesOf(label: string): readonly string[] | undefined;
}

/** What is exported under that name; undefined when nothing is. */
function seriesOf(name: string): Series | undefined {
  if (name === "up") return { labels: TARGET_LABELS, valuesOf: () => undefined };
  const metric = metrics.find(({ type, name: own }) =>
    type === "histogram" ? name.replace(/_(bucket|sum|count)$/, "") === own && name !== own : name === own,
  );
  if (!metric) return undefined;
  const bucket = name.endsWith("_bucket") ? ["le"] : [];
  return {
    labels: [...metric.labels.map(labelText), ...bucket, ...TARGET_LABELS],
    valuesOf(label) {
      const own = metric.labels.find((each) => labelText(each) === label);
      return own && labelValues(own);
    },
  };
}

/** What an expression uses that no worker exports. */
function problemsOf(expr: string): readonly string[] {
  const { selectors, groupedBy } = readPromql(expr);
  const problems: string[] = [];
  for (const { name, matchers } of selectors) {
    const series = seriesOf(name);
    if (!series) problems.push(`no metric ${name}`);
    for (const { label, operator, value } of matchers) {
      if (series && !series.labels.includes(label)) problems.push(`${name} has no label ${label}`);
      const values = series?.valuesOf(label);
      if (operator === "=" && values && !values.includes(value)) problems.push(`${label} is never ${value}`);
    }
    for (const label of groupedBy) {
      if (series && !series.labels.includes(label)) problems.push(`${name} cannot be grouped by ${label}`);
    }
  }
  if (selectors.length === 0) problems.push("selects nothing");
  return problems;
}

describe("what is looked for in the dashboard and the alerts", () => {
  test.each([
    ["pbnj_tasks_totals", ["no metric pbnj_tasks_totals"]],
    ["pbnj_action_duration_seconds", ["no metric pbnj_action_duration_seconds"]],
    ['pbnj_check_passing{check="engine"}', ["check is never engine"]],
    ['pbnj_slots{runtime="docker"}', ["pbnj_slots has no label runtime"]],
    ["sum by (provider) (rate(pbnj_polls_total[5m]))", ["pbnj_polls_total cannot be grouped by provider"]],
    ["time() - 1", ["selects nothing"]],
    ['histogram_quantile(0.9, sum by (le) (rate(pbnj_action_wait_seconds_bucket{job=~"a"}[5m]))) > 1', []],
  ])("%s: %j", (expr, problems) => {
    expect(problemsOf(expr)).toEqual(problems);
  });

  test.each(["sum(pbnj_slots", "label_join(pbnj_slots)", "pbnj_slots{job}", "pbnj_slots ? 1"])(
    "%s is not understood",
    (expr) => {
      expect(() => readPromql(expr)).toThrow();
    },
  );
});

describe("the alert rules", () => {
  test.each(rules.map((rule) => [rule.alert, rule] as const))(
    "%s uses only what workers export",
    (_, rule) => {
      expect(problemsOf(rule.expr)).toEqual([]);
    },
  );

  test.each(rules.map((rule) => [rule.alert, rule] as const))(
    "%s names only labels that it has, and where what to do stands",
    async (alert, { expr, annotations }) => {
      const { selectors, groupedBy } = readPromql(expr);
      const has =
        groupedBy.length > 0 ? groupedBy : selectors.flatMap(({ name }) => seriesOf(name)?.labels ?? []);
      const named = Object.values(annotations).flatMap((text) =>
        [...text.matchAll(/\$labels\.(\w+)/g)].map(([, label = ""]) => label),
      );

      expect(has).toEqual(expect.arrayContaining(named));
      const { homepage, version } = JSON.parse(await textOf("package.json"));
      const [path = "", anchor] = annotations.runbook_url
        .replace(`${homepage}/blob/v${version}/`, "")
        .split("#");
      expect(anchor).toBe(`alert-${alert.toLowerCase()}`);
      expect(headingAnchors(await textOf(path))).toContain(anchor);
    },
  );

  test("are each there once, and cover what liveness and readiness check", () => {
    const checked = rules.flatMap(({ expr }) =>
      readPromql(expr).selectors.flatMap(({ name, matchers }) =>
        name === "pbnj_check_passing" ? matchers.map(({ value }) => value) : [],
      ),
    );

    expect(new Set(rules.map(({ alert }) => alert)).size).toBe(rules.length);
    expect(checked.toSorted()).toEqual(labelValues("check")?.toSorted());
  });
});

describe("the dashboard", () => {
  test.each(shown.map((target) => [`${target.title} ${target.refId}`, target] as const))(
    "%s uses only what workers export, and only labels that it has",
    (_, { expr, legendFormat }) => {
      const { selectors, groupedBy } = readPromql(expr);
      const grouped = /\b(sum|min|max|count)\b/.test(expr);
      const has = grouped ? groupedBy : selectors.flatMap(({ name }) => seriesOf(name)?.labels ?? []);
      const named = [...legendFormat.matchAll(/\{\{(\w+)\}\}/g)].map(([, label = ""]) => label);

      expect(problemsOf(expr)).toEqual([]);
      expect(has).toEqual(expect.arrayContaining(named));
      for (const { matchers } of selectors) {
        expect(matchers.map(({ label, value }) => [label, value])).toEqual(
          expect.arrayContaining([
            ["job", "$job"],
            ["instance", "$instance"],
          ]),
        );
      }
    },
  );

  test("shows every metric but those that stand for others", () => {
    const used = new Set(shown.flatMap(({ expr }) => readPromql(expr).selectors.map(({ name }) => name)));
    const unused = metrics
      .map(({ name, type }) => (type === "histogram" ? `${name}_bucket` : name))
      .filter((name) => !used.has(name));

    expect(unused).toEqual([
      // The duration of polls is how long the server holds them; connected is part of a check; the annotation has the start.
      "pbnj_poll_duration_seconds_bucket",
      "pbnj_tink_server_connected",
      "process_start_time_seconds",
    ]);
  });
});

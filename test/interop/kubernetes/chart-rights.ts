import type { RbacRule } from "../../../simulators/kubernetes/cluster.ts";
import { renderAll } from "../../deploy/chart/helm.ts";
import { allOf, Role } from "../../deploy/chart/manifest.ts";
import { mergeValues, needed, type Values } from "../../deploy/chart/values.ts";

/** What most of the tests use. */
const VALUES = mergeValues(needed, {
  replicas: 2,
  leaderElection: { lease: "pbnj-worker" },
  inventory: { kubernetes: ["machines"] },
  rufio: { enabled: true },
  config: { driftInterval: "1m" },
});

/** What the chart, with these values, lets its ServiceAccount do in its own namespace. */
export async function chartRights(values: Values = {}): Promise<readonly RbacRule[]> {
  const { chart } = await renderAll({ chart: mergeValues(VALUES, values) }, /^Role$/, ["rbac.yaml"]);
  return allOf(chart, ["Role"], Role).flatMap(({ rules }) =>
    rules.map(({ resourceNames, ...rule }) => ({ ...rule, ...(resourceNames && { resourceNames }) })),
  );
}

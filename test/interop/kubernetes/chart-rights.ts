import type { RbacRule } from "../../../simulators/kubernetes/cluster.ts";
import { renderAll } from "../../deploy/chart/helm.ts";
import { allOf, Role } from "../../deploy/chart/manifest.ts";
import { mergeValues, needed } from "../../deploy/chart/values.ts";

/** Everything that the tests use. */
const VALUES = mergeValues(needed, {
  replicas: 2,
  inventory: { kubernetes: ["machines"] },
  rufio: { enabled: true },
  config: { driftInterval: "1m" },
});

/** What the chart lets its ServiceAccount do in its own namespace. */
export async function chartRights(): Promise<readonly RbacRule[]> {
  const { chart } = await renderAll({ chart: VALUES }, /^Role$/, ["rbac.yaml"]);
  return allOf(chart, ["Role"], Role).flatMap(({ rules }) =>
    rules.map(({ resourceNames, ...rule }) => ({ ...rule, ...(resourceNames && { resourceNames }) })),
  );
}

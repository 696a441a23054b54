import type { Cluster } from "../kubernetes/client/cluster.ts";
import { findMissingRights, type RightScopes } from "../kubernetes/client/missing-rights.ts";
import type { NeededRight } from "../kubernetes/client/needed-right.ts";
import { type Finding, findingOf, joinNames } from "./finding.ts";

/** Finds missing permissions; `name` is the part that needs them. */
export async function checkRights(
  name: string,
  rights: readonly NeededRight[],
  cluster: Cluster,
  scopes: RightScopes,
  signal: AbortSignal,
): Promise<readonly Finding[]> {
  const missing = await findMissingRights(cluster, rights, scopes, signal);
  const needed = missing.filter(({ right }) => right.without === undefined);
  const useful = missing.filter(({ right }) => right.without !== undefined);
  const texts = needed.map(({ text }) => text);
  return [
    ...needed
      .slice(0, 1)
      .map(({ right }) =>
        findingOf("cluster-right", joinNames(texts, 20), { subject: name, facts: { why: right.why } }),
      ),
    ...useful.map(({ text, right }) =>
      findingOf("cluster-right-useful", `${text}: without it, ${right.without}`, { subject: name }),
    ),
  ];
}

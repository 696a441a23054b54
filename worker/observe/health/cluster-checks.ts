import type { ClusterFacts } from "../../action/observer.ts";
import type { HealthFinding, NamedHealthFinding } from "./check.ts";

/**
 * Whether the watches of the worker's own cluster work, and whether this replica takes part in sharing lanes. A problem in
 * another cluster is only mentioned, because the worker serves the machines of all others.
 */
export function clusterChecks(facts: ClusterFacts | undefined): readonly NamedHealthFinding[] {
  if (!facts) return [];
  const { problems, sources, replicas } = facts;
  const [first, ...more] = problems;
  const others = more.length === 0 ? "" : `, and ${more.length} more`;
  const cluster: NamedHealthFinding = {
    name: "cluster",
    ok: first === undefined,
    reason: first === undefined ? `sees what it watches${exceptions(sources)}` : `${first}${others}`,
  };
  return replicas ? [cluster, { name: "replicas", ...replicaFinding(replicas) }] : [cluster];
}

function exceptions(sources: ClusterFacts["sources"]): string {
  const names = sources.flatMap(({ name, problems }) => (problems.length > 0 ? [name] : []));
  return names.length === 0 ? "" : `, except machine sources ${names.join(", ")}`;
}

function replicaFinding({
  valid,
  members,
  ownedShards,
  problem,
}: NonNullable<ClusterFacts["replicas"]>): HealthFinding {
  const words = `one of ${members}, with ${ownedShards} shards`;
  if (valid) return { ok: true, reason: problem === undefined ? words : `${words}; ${problem}` };
  return { ok: false, reason: problem ?? "has not joined the others yet" };
}

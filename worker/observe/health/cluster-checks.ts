import type { ClusterFacts } from "../../action/observer.ts";
import type { CheckName, Finding } from "./check.ts";

type NamedFinding = Finding & { readonly name: CheckName };

/** Whether what is used of a cluster can be watched, and whether this replica is one of those that share the lanes. */
export function clusterChecks(facts: ClusterFacts | undefined): readonly NamedFinding[] {
  if (!facts) return [];
  const { problems, replicas } = facts;
  const [first, ...more] = problems;
  const others = more.length === 0 ? "" : `, and ${more.length} more`;
  return [
    {
      name: "cluster",
      ok: first === undefined,
      reason: first === undefined ? "sees what it watches" : `${first}${others}`,
    },
    ...(replicas ? [{ name: "replicas" as const, ...replicaFinding(replicas) }] : []),
  ];
}

function replicaFinding({
  valid,
  members,
  ownedShards,
  problem,
}: NonNullable<ClusterFacts["replicas"]>): Finding {
  const words = `one of ${members}, with ${ownedShards} shards`;
  if (valid) return { ok: true, reason: problem === undefined ? words : `${words}; ${problem}` };
  return { ok: false, reason: problem ?? "has not joined the others yet" };
}

import type { LeaderFacts } from "../../kubernetes/leader/leader-election.ts";
import type { ClusterFacts } from "../shared/facts.ts";
import type { HealthFinding, NamedHealthFinding } from "../shared/health-finding.ts";

/**
 * Whether the watches of the worker's own cluster work, and whether this worker leads or could. A problem in another cluster is only
 * mentioned, because the worker serves the machines of all others.
 */
export function clusterChecks(facts: ClusterFacts | undefined): readonly NamedHealthFinding[] {
  if (!facts) return [];
  const { problems, sources, leader } = facts;
  const [first, ...more] = problems;
  const others = more.length === 0 ? "" : `, and ${more.length} more`;
  const cluster: NamedHealthFinding = {
    name: "cluster",
    ok: first === undefined,
    reason: first === undefined ? `sees what it watches${exceptions(sources)}` : `${first}${others}`,
  };
  return leader ? [cluster, { name: "leader_election", ...leaderFinding(leader) }] : [cluster];
}

function exceptions(sources: ClusterFacts["sources"]): string {
  const names = sources.flatMap(({ name, problems }) => (problems.length > 0 ? [name] : []));
  return names.length === 0 ? "" : `, except machine sources ${names.join(", ")}`;
}

/** A follower is ready, so that a rollout ends. */
function leaderFinding({ isLeading, leader, problem }: LeaderFacts): HealthFinding {
  if (problem !== undefined) return { ok: false, reason: problem };
  if (isLeading) return { ok: true, reason: "leads" };
  return { ok: true, reason: leader === undefined ? "no leader yet" : `${leader} leads` };
}

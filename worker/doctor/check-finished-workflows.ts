import * as z from "zod/mini";
import type { Cluster } from "../cluster/client/cluster.ts";
import { KINDS } from "../cluster/client/kinds.ts";
import { isKubernetesError } from "../cluster/client/kubernetes-error.ts";
import { watchedWorkflow } from "../cluster/wake-up/watched-workflow.ts";
import type { WorkerConfig } from "../config/worker-config.ts";
import { machineNameOf } from "../machines/agent-id.ts";
import { count, type Finding, isWrong, named } from "./finding.ts";

export type AgentIdUse = Pick<WorkerConfig, "fixedAgentIds" | "agentIdPattern">;

/** So many cost a new Workflow less than what its first action takes. */
const MOST_FINISHED = 5;
const MOST_NAMED = 5;

const Blocked = z.pipe(
  z.unknown(),
  z.transform((object) => watchedWorkflow(object).blocked),
);

/**
 * Whether agent IDs of this worker have so many finished Workflows that new ones wait for them. Finds nothing where the worker
 * may not list Workflows, or where there are none.
 */
export async function checkFinishedWorkflows(
  cluster: Pick<Cluster, "list">,
  namespace: string | undefined,
  { fixedAgentIds, agentIdPattern }: AgentIdUse,
  signal: AbortSignal,
): Promise<readonly Finding[]> {
  const fixed = new Set(fixedAgentIds);
  const isOurs = (agentId: string) =>
    fixed.has(agentId) || machineNameOf(agentIdPattern, agentId) !== undefined;
  const finished = new Map<string, number>();
  try {
    const { items } = await cluster.list(KINDS.workflow, { namespace }, Blocked, signal);
    for (const agentId of items) {
      if (agentId !== undefined && isOurs(agentId)) finished.set(agentId, (finished.get(agentId) ?? 0) + 1);
    }
  } catch (thrown) {
    if (isKubernetesError(thrown, "forbidden", "not-found")) return [];
    throw thrown;
  }
  const many = [...finished]
    .filter(([, workflows]) => workflows >= MOST_FINISHED)
    .toSorted(([, one], [, other]) => other - one);
  if (many.length === 0) return [];
  const agents = named(
    many.map(([agentId, workflows]) => `${agentId} (${workflows})`),
    MOST_NAMED,
  );
  const detail = `${count(many.length, "agent ID has", "agent IDs have")} ${MOST_FINISHED} finished Workflows or more: ${agents}`;
  return [isWrong("workflows-finished", detail, { facts: { seconds: many[0]?.[1] ?? 0 } })];
}

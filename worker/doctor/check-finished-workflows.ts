import * as z from "zod/mini";
import { count } from "../../shared/count.ts";
import type { Cluster } from "../cluster/client/cluster.ts";
import { KINDS } from "../cluster/client/kinds.ts";
import { isKubernetesError } from "../cluster/client/kubernetes-error.ts";
import { watchedWorkflow } from "../cluster/wake-up/watched-workflow.ts";
import type { WorkerConfig } from "../config/worker-config.ts";
import { machineNameOf } from "../machines/agent-id.ts";
import { type Finding, findingOf, joinNames } from "./finding.ts";

export type AgentIdUse = Pick<WorkerConfig, "fixedAgentIds" | "agentIdPattern">;

/** Fewer delay a new Workflow by less than its first action takes. */
const MAX_FINISHED = 5;
const MAX_NAMED = 5;

const Blocked = z.pipe(
  z.unknown(),
  z.transform((object) => watchedWorkflow(object).blocked),
);

/**
 * Whether agent IDs of this worker have so many finished Workflows that new ones are delayed. No findings if the worker must
 * not list Workflows.
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
    .filter(([, workflows]) => workflows >= MAX_FINISHED)
    .toSorted(([, one], [, other]) => other - one);
  if (many.length === 0) return [];
  const agents = joinNames(
    many.map(([agentId, workflows]) => `${agentId} (${workflows})`),
    MAX_NAMED,
  );
  const detail = `${count(many.length, "agent ID has", "agent IDs have")} ${MAX_FINISHED} finished Workflows or more: ${agents}`;
  return [findingOf("workflows-finished", detail, { facts: { seconds: many[0]?.[1] ?? 0 } })];
}

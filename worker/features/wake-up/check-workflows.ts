import * as z from "zod/mini";
import { count } from "../../../shared/count.ts";
import { type Finding, findingOf, joinNames } from "../../findings/finding.ts";
import type { Cluster } from "../../kubernetes/client/cluster.ts";
import { KINDS } from "../../kubernetes/client/kinds.ts";
import { isKubernetesError } from "../../kubernetes/client/kubernetes-error.ts";
import { agentIdOf, inOtherCase, machineNameOf } from "../../machines/agent-id.ts";
import type { SharedConfig } from "../feature.ts";
import { type WatchedWorkflow, watchedWorkflow } from "./watched-workflow.ts";

export interface AgentIdUse
  extends Pick<SharedConfig, "agentIds" | "fixedAgentIds" | "agentIdPattern" | "kubernetes"> {
  /** Clusters that machines are read from. */
  readonly machineSources: readonly object[];
}

/** The least number to report. Fewer finished Workflows delay a new one by less than its first action takes. */
const MAX_FINISHED = 5;
const MAX_NAMED = 5;

const Workflow = z.pipe(z.unknown(), z.transform(watchedWorkflow));

/** Checks which agent IDs Workflows use. No findings if the worker must not list Workflows. */
export async function checkWorkflows(
  cluster: Cluster,
  use: AgentIdUse,
  signal: AbortSignal,
): Promise<readonly Finding[]> {
  const watched = use.kubernetes?.watchNamespace ?? cluster.namespace;
  const namespace = watched === "*" ? undefined : watched;
  try {
    const { items } = await cluster.list(KINDS.workflow, { namespace }, Workflow, signal);
    return [...otherCase(items, use), ...manyFinished(items, use)];
  } catch (thrown) {
    if (isKubernetesError(thrown, "forbidden", "not-found", "no-such-kind")) return [];
    throw thrown;
  }
}

/** Agent IDs that differ from one of this worker's only in case. */
function otherCase(
  workflows: readonly WatchedWorkflow[],
  { agentIds, agentIdPattern: pattern, machineSources }: AgentIdUse,
): readonly Finding[] {
  const named = new Set(workflows.flatMap(({ workers }) => workers));
  // Machines of clusters are not read here; their names are always in lower case.
  const isGuessed = machineSources.length > 0 && agentIdOf(pattern, "") !== "";
  const possible = [...(isGuessed ? named : [])].flatMap((agentId) => {
    const machine = machineNameOf(pattern.toLowerCase(), agentId.toLowerCase());
    return machine === undefined ? [] : [agentIdOf(pattern, machine)];
  });
  const found = inOtherCase(named, [...possible, ...agentIds]);
  if (found.length === 0) return [];
  const pairs = found.map((one) => `${one.named}, not ${one.polled}`);
  const detail = `${count(found.length, "agent ID", "agent IDs")} of Workflows in another case: ${joinNames(pairs, MAX_NAMED)}`;
  const facts = {
    agentIds: joinNames(
      found.map(({ polled }) => polled),
      MAX_NAMED,
    ),
  };
  return [findingOf("agent-id-case", detail, { facts })];
}

/** Agent IDs of this worker with so many finished Workflows that new ones are delayed. */
function manyFinished(
  workflows: readonly WatchedWorkflow[],
  { fixedAgentIds, agentIdPattern }: AgentIdUse,
): readonly Finding[] {
  const fixed = new Set(fixedAgentIds);
  const isOurs = (agentId: string) =>
    fixed.has(agentId) || machineNameOf(agentIdPattern, agentId) !== undefined;
  const finished = new Map<string, number>();
  for (const { blocked } of workflows) {
    if (blocked !== undefined && isOurs(blocked)) finished.set(blocked, (finished.get(blocked) ?? 0) + 1);
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

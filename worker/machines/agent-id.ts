import { z } from "zod";
import type { Problem } from "../../shared/document/problem.ts";
import { nearestName } from "../../shared/nearest-name.ts";
import { isInShard, type Shard } from "./shard.ts";

const PLACEHOLDER = "{machine}";

/** The `worker:` of a task. The API accepts any text, but spaces are always a mistake. */
export const AgentId = z
  .string()
  .min(1)
  .max(253)
  .regex(/^[^\s\p{Cc}]*$/u, { error: "must be without spaces" });

/** An agent ID with `{machine}` in place of the machine's name. */
export const AgentIdPattern = AgentId.refine((pattern) => pattern.split(PLACEHOLDER).length === 2, {
  error: `must contain ${PLACEHOLDER} once`,
});

export function agentIdOf(pattern: string, machineName: string): string {
  return pattern.split(PLACEHOLDER).join(machineName);
}

/** Parses the machine's name from an agent ID; the machine need not exist. */
export function machineNameOf(pattern: string, agentId: string): string | undefined {
  const [before = "", after = ""] = pattern.split(PLACEHOLDER);
  const name = agentId.slice(before.length, agentId.length - after.length);
  return name !== "" && agentIdOf(pattern, name) === agentId ? name : undefined;
}

/** An agent ID in the spelling of a Workflow and in that of the worker. */
export interface AgentIdCase {
  readonly named: string;
  readonly polled: string;
}

/** Finds agent IDs that differ from a polled one only in case. The server compares exactly, so no worker polls for them. */
export function inOtherCase(named: Iterable<string>, polled: readonly string[]): readonly AgentIdCase[] {
  const own = new Set(polled);
  const others = [...named].filter((agentId) => !own.has(agentId));
  if (others.length === 0) return [];
  const byLowerCase = new Map(polled.map((agentId) => [agentId.toLowerCase(), agentId]));
  return others.flatMap((agentId) => {
    const meant = byLowerCase.get(agentId.toLowerCase());
    return meant === undefined ? [] : [{ named: agentId, polled: meant }];
  });
}

/** Agent IDs of tasks that are probably misspelt: no machine has the ID, but one has a similar one. */
export function misspeltAgentIds(
  tasks: readonly { readonly agentId: string }[],
  pattern: string,
  inventory: { machines(): readonly { readonly name: string }[] },
): readonly Problem[] {
  const polled = agentIdsOf([], pattern, inventory.machines());
  const own = new Set(polled);
  const others = [...new Set(tasks.map(({ agentId }) => agentId))].filter((agentId) => !own.has(agentId));
  return others.flatMap((agentId) => {
    const meant = nearestName(agentId, polled);
    if (meant === undefined) return [];
    const message = `no machine has the agent ID ${agentId}, did you mean ${meant}? No worker polls for it, so its tasks stay PENDING`;
    return [{ source: "template", message }];
  });
}

/** All agent IDs to poll for: the fixed ones and one per machine, without duplicates. With a shard, only those of the shard. */
export function agentIdsOf(
  fixed: readonly string[],
  pattern: string,
  machines: readonly { readonly name: string }[],
  shard?: Shard,
): readonly string[] {
  const all = [...new Set([...fixed, ...machines.map(({ name }) => agentIdOf(pattern, name))])];
  return shard ? all.filter((agentId) => isInShard(agentId, shard)) : all;
}

/** Settings that determine which agent IDs and machines belong to this worker. */
export interface MachineUse {
  readonly agentIdPattern: string;
  readonly shard?: Shard;
}

/** The agent IDs to poll a tink server for; none without a server. */
export function polledAgentIds(
  {
    server,
    fixedAgentIds,
    agentIdPattern,
    shard,
  }: MachineUse & { readonly server?: object; readonly fixedAgentIds: readonly string[] },
  inventory: { machines(): readonly { readonly name: string }[] },
): readonly string[] {
  return server ? agentIdsOf(fixedAgentIds, agentIdPattern, inventory.machines(), shard) : [];
}

/** Whether a machine belongs to this worker's shard. Other workers use the BMCs of the others. */
export function hasMachine({ agentIdPattern, shard }: MachineUse, machine: string): boolean {
  return shard === undefined || isInShard(agentIdOf(agentIdPattern, machine), shard);
}

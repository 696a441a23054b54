import { suggestion } from "../../shared/nearest-name.ts";
import { agentIdOf, machineNameOf } from "../machines/agent-id.ts";
import type { Policy } from "../policy/policy.ts";
import { agentProblem } from "../policy/tenant-rule.ts";
import { matchesName } from "../policy/wildcard.ts";
import type { Examined } from "./examine.ts";
import { count, type Finding, isSkipped, isWell, isWrong, named } from "./finding.ts";

/** Whether agent IDs, machines and the policy's rules about them know of each other. Looks at names alone. */
export function checkAgentIds({
  inventory,
  policy,
  settings,
  invalid,
  complete,
}: Examined): readonly Finding[] {
  const areKnown = complete && !invalid.has("agentId") && !invalid.has("agentIdPattern");
  if (!inventory || !policy || !areKnown) {
    return [isSkipped("agent-ids", "settings, inventory and policy must be valid first")];
  }
  const machines = inventory.machines().map(({ name }) => name);
  const { agentId: fixed, agentIdPattern: pattern, policy: path = "the policy" } = settings;
  const wrong = [
    ...strayAgentIds(fixed, pattern, machines),
    ...shutOut(machines, pattern, policy, path),
    ...idlePatterns(machines, policy, path),
    ...idleAgentIds(fixed, policy, path),
  ];
  if (wrong.length > 0) return wrong;
  const own = count(machines.length, "machine's", "machines'");
  return [isWell("agent-ids", `${fixed.length} fixed, ${own} own (${pattern})`)];
}

function strayAgentIds(
  fixed: readonly string[],
  pattern: string,
  machines: readonly string[],
): readonly Finding[] {
  return fixed.flatMap((agentId) => {
    const name = machineNameOf(pattern, agentId);
    if (name === undefined || machines.includes(name)) return [];
    const detail = `is that of a machine ${name}, which the inventory does not have${suggestion(name, machines)}`;
    return [isWrong("agent-id-without-machine", detail, { subject: agentId })];
  });
}

/** Machines at which the policy lets nobody act. */
function shutOut(
  machines: readonly string[],
  pattern: string,
  policy: Policy,
  path: string,
): readonly Finding[] {
  const { tenants, agents } = policy;
  const untenanted =
    tenants === undefined
      ? []
      : machines.filter((name) => !tenants.some((tenant) => isAmong(name, tenant.machines)));
  const unserved = machines.filter(
    (name) => agentProblem({ agentId: agentIdOf(pattern, name) }, name, agents) !== undefined,
  );
  const facts = { policy: path };
  return [
    ...(untenanted.length === 0
      ? []
      : [isWrong("machine-without-tenant", `no tenant may use ${named(untenanted)}`, { facts })]),
    ...(unserved.length === 0
      ? []
      : [
          isWrong("machine-without-agent", `their own agent IDs may not act on ${named(unserved)}`, {
            facts,
          }),
        ]),
  ];
}

function idlePatterns(machines: readonly string[], policy: Policy, path: string): readonly Finding[] {
  const rules = [
    ...(policy.tenants ?? []).map((rule, index) => [`tenants.${index}`, rule.machines] as const),
    ...(policy.agents ?? []).map((rule, index) => [`agents.${index}`, rule.machines] as const),
  ];
  return rules.flatMap(([rule, patterns]) =>
    patterns.flatMap((pattern) => {
      if (machines.some((name) => matchesName(pattern, name))) return [];
      const close = suggestion(pattern, machines);
      const detail = `${rule}.machines names ${pattern}, which is not a machine in the inventory${close}`;
      return [isWrong("pattern-without-machine", detail, { facts: { policy: path } })];
    }),
  );
}

function idleAgentIds(
  fixed: readonly string[],
  { agents }: Pick<Policy, "agents">,
  path: string,
): readonly Finding[] {
  if (agents === undefined) return [];
  return fixed
    .filter((agentId) => !agents.some(({ agentIds }) => isAmong(agentId, agentIds)))
    .map((agentId) => {
      const detail = "no rule under agents names it, so its tasks act on no machine";
      return isWrong("agent-id-without-rule", detail, { subject: agentId, facts: { policy: path } });
    });
}

function isAmong(name: string, patterns: readonly string[]): boolean {
  return patterns.some((pattern) => matchesName(pattern, name));
}

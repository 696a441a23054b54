import { count } from "../../shared/count.ts";
import { suggestion } from "../../shared/nearest-name.ts";
import type { LabelledMachine } from "../document/labels.ts";
import { type Finding, findingOf, joinNames, okFinding, skippedFinding } from "../findings/finding.ts";
import { agentIdOf, machineNameOf } from "../machines/agent-id.ts";
import { isAmongMachines, matchesMachine } from "../policy/machine-rule.ts";
import type { Policy } from "../policy/policy.ts";
import { agentProblem } from "../policy/tenant-rule.ts";
import { isAmong } from "../policy/wildcard.ts";
import type { Examined } from "./examine.ts";

/** Whether agent IDs, machines and the policy's rules about them match. Checks names only. */
export function checkAgentIds({
  inventory,
  policy,
  settings,
  invalid,
  complete,
}: Examined): readonly Finding[] {
  const areKnown = complete && !invalid.has("agentId") && !invalid.has("agentIdPattern");
  if (!inventory || !policy || !areKnown) {
    return [skippedFinding("agent-ids", "settings, inventory and policy must be valid first")];
  }
  const machines = inventory.machines();
  const names = machines.map(({ name }) => name);
  const { agentId: fixed, agentIdPattern: pattern, policy: path = "the policy" } = settings;
  const wrong = [
    ...agentIdsWithoutMachine(fixed, pattern, names),
    ...unusableMachines(machines, pattern, policy, path),
    ...unmatchedPatterns(machines, policy, path),
    ...agentIdsWithoutRule(fixed, policy, path),
  ];
  if (wrong.length > 0) return wrong;
  const own = count(machines.length, "machine's", "machines'");
  return [okFinding("agent-ids", `${fixed.length} fixed, ${own} own (${pattern})`)];
}

function agentIdsWithoutMachine(
  fixed: readonly string[],
  pattern: string,
  machines: readonly string[],
): readonly Finding[] {
  return fixed.flatMap((agentId) => {
    const name = machineNameOf(pattern, agentId);
    if (name === undefined || machines.includes(name)) return [];
    const detail = `belongs to a machine ${name}, which the inventory does not have${suggestion(name, machines)}`;
    return [findingOf("agent-id-without-machine", detail, { subject: agentId })];
  });
}

function unusableMachines(
  machines: readonly LabelledMachine[],
  pattern: string,
  policy: Policy,
  path: string,
): readonly Finding[] {
  const { tenants, agents } = policy;
  const namesWhere = (is: (machine: LabelledMachine) => boolean) =>
    machines.filter(is).map(({ name }) => name);
  const untenanted = namesWhere(
    (machine) =>
      tenants !== undefined && !tenants.some((tenant) => isAmongMachines(machine, tenant.machines)),
  );
  const unserved = namesWhere(
    (machine) => agentProblem({ agentId: agentIdOf(pattern, machine.name) }, machine, agents) !== undefined,
  );
  const facts = { policy: path };
  const found: Finding[] = [];
  if (untenanted.length > 0) {
    found.push(findingOf("machine-without-tenant", `no tenant may use ${joinNames(untenanted)}`, { facts }));
  }
  if (unserved.length > 0) {
    const detail = `their own agent IDs may not act on ${joinNames(unserved)}`;
    found.push(findingOf("machine-without-agent", detail, { facts }));
  }
  return found;
}

function unmatchedPatterns(
  machines: readonly LabelledMachine[],
  policy: Policy,
  path: string,
): readonly Finding[] {
  const names = machines.map(({ name }) => name);
  const rules = [
    ...(policy.tenants ?? []).map((rule, index) => [`tenants.${index}`, rule.machines] as const),
    ...(policy.agents ?? []).map((rule, index) => [`agents.${index}`, rule.machines] as const),
  ];
  return rules.flatMap(([rule, patterns]) =>
    patterns.flatMap((pattern) => {
      if (machines.some((machine) => matchesMachine(pattern, machine))) return [];
      const detail =
        typeof pattern === "string"
          ? `${rule}.machines names ${pattern}, which is not a machine in the inventory${suggestion(pattern, names)}`
          : `no machine of the inventory has the labels of ${rule}.machines: ${pattern.selector.text}`;
      return [findingOf("pattern-without-machine", detail, { facts: { policy: path } })];
    }),
  );
}

function agentIdsWithoutRule(fixed: readonly string[], { agents }: Policy, path: string): readonly Finding[] {
  if (agents === undefined) return [];
  return fixed
    .filter((agentId) => !agents.some(({ agentIds }) => isAmong(agentId, agentIds)))
    .map((agentId) => {
      const detail = "no rule under agents names it, so its tasks act on no machine";
      return findingOf("agent-id-without-rule", detail, { subject: agentId, facts: { policy: path } });
    });
}

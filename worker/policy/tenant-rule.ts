import { parseImageReference } from "../../shared/contract/image-reference.ts";
import { namespaceOf, type WorkflowMember } from "../core/action/action.ts";
import type { LabelledMachine } from "../document/labels.ts";
import { matchesAnyImage } from "./image-rule.ts";
import { isAmongMachines } from "./machine-rule.ts";
import type { AgentRule, TenantAction, TenantRule } from "./policy.ts";
import { isAmong } from "./wildcard.ts";

/** Why actions of this namespace may not use any machine; undefined if they may use some. */
export function tenantProblem(
  action: TenantAction,
  tenants: readonly TenantRule[] | undefined,
): string | undefined {
  if (tenants === undefined) return undefined;
  const namespace = namespaceOf(action);
  if (namespace === undefined) return "the workflow has no namespace";
  const own = tenants.filter(({ namespaces }) => isInNamespace(action, namespaces));
  if (own.length === 0) return `namespace ${namespace} does not belong to a tenant`;
  if (!own.some((tenant) => allowsImage(tenant, action))) {
    return `namespace ${namespace} may not run the image ${action.image}`;
  }
  return undefined;
}

/** The tenant of an action by its position in the list; undefined for the worker's own actions. */
export function tenantOf(
  action: WorkflowMember,
  tenants: readonly TenantRule[] | undefined,
): number | undefined {
  const index = tenants?.findIndex(({ namespaces }) => isInNamespace(action, namespaces)) ?? -1;
  return index < 0 ? undefined : index;
}

/** Why an action must not use this machine; undefined if it may. Checks its name and labels only. */
export function tenantMachineProblem(
  action: TenantAction,
  machine: LabelledMachine,
  tenants: readonly TenantRule[] | undefined,
): string | undefined {
  if (tenants === undefined) return undefined;
  const namespace = namespaceOf(action);
  const own = tenants.filter(
    ({ namespaces, machines }) => isInNamespace(action, namespaces) && isAmongMachines(machine, machines),
  );
  if (own.length === 0) return `namespace ${namespace ?? '""'} may not use machine ${machine.name}`;
  if (own.some((tenant) => allowsImage(tenant, action))) return undefined;
  return `namespace ${namespace} may not run the image ${action.image} on machine ${machine.name}`;
}

/** Why a task of this agent ID must not use this machine; undefined if it may. */
export function agentProblem(
  { agentId }: { readonly agentId: string },
  machine: LabelledMachine,
  agents: readonly AgentRule[] | undefined,
): string | undefined {
  if (agents === undefined) return undefined;
  const allowed = agents.some(
    ({ agentIds, machines }) => isAmong(agentId, agentIds) && isAmongMachines(machine, machines),
  );
  return allowed ? undefined : `agent ID ${agentId} may not act on machine ${machine.name}`;
}

function allowsImage({ images }: TenantRule, { image }: TenantAction): boolean {
  const reference = parseImageReference(image);
  return images === undefined || (reference !== undefined && matchesAnyImage(images, reference));
}

/** Whether an action's workflow is in one of the namespaces. */
export function isInNamespace(action: WorkflowMember, patterns: readonly string[]): boolean {
  const namespace = namespaceOf(action);
  return namespace !== undefined && isAmong(namespace, patterns);
}

import type { Clock } from "../../shared/clock.ts";
import { shortened } from "../../shared/printable.ts";
import type { Action, WorkflowMember } from "../core/action/action.ts";
import type { LabelledMachine } from "../document/labels.ts";
import { addressProblem } from "./address-rule.ts";
import type { Catalogue } from "./catalogue.ts";
import { environmentProblems, ownConnectionProblem } from "./environment-rule.ts";
import { eraseMachineProblem, eraseProblem } from "./erase-rule.ts";
import { fileProblem } from "./file-rule.ts";
import { imageProblem } from "./image-rule.ts";
import type { JudgedAction, Policy, TenantAction, VolumeRule } from "./policy.ts";
import type { Reference, ReferenceRefusal } from "./reference.ts";
import { referenceProblem } from "./reference-rule.ts";
import { retryProblem } from "./retry-rule.ts";
import { agentProblem, tenantMachineProblem, tenantProblem } from "./tenant-rule.ts";
import { argumentProblem, trustProblem } from "./trust-rule.ts";
import { holdsFor, overlapProblems, volumeProblem } from "./volume-rule.ts";

const MOST_PROBLEMS = 20;
/** Limits the length of a problem, because it quotes the action. */
const LONGEST_PROBLEM = 500;
const TENANTS_TIMEOUT_MS = 24 * 60 * 60_000;

type PolicyRule = keyof Policy;

/** `reason` is one line that names the rule, such as `policy volumes: /etc:/host is not allowed`. */
export interface Refusal {
  readonly rule: PolicyRule;
  readonly reason: string;
}

export type Decision = { readonly allowed: true } | ({ readonly allowed: false } & Refusal);

/** What rules may need to know beside the policy and the action. */
export interface Circumstances {
  readonly catalogue: Catalogue;
  /** The time of the decision. */
  readonly clock: Pick<Clock, "now">;
}

/** Whether an action may run. The reason names the first rule that it breaks. `decideMachine` checks machines. */
export function decide(policy: Policy, circumstances: Circumstances, action: JudgedAction): Decision {
  return decisionOf(refusals(policy, circumstances, action));
}

/**
 * Whether an action may use a machine. Checks its name and labels: one that is not in the inventory has none, so the answer does not
 * reveal which machines exist.
 */
export function decideMachine(
  policy: Policy,
  action: TenantAction & { readonly agentId: string },
  machine: LabelledMachine,
): Decision {
  return decisionOf([
    ...refusal("tenants", tenantMachineProblem(action, machine, policy.tenants)),
    ...refusal("agents", agentProblem(action, machine, policy.agents)),
    ...refusal("eraseDrives", eraseMachineProblem(action, machine, policy)),
  ]);
}

/** Why the policy forbids an action at a machine, before the action exists; undefined if it allows it. */
export function policyRefusal(
  policy: Policy,
  circumstances: Circumstances,
  action: Action,
  machine: LabelledMachine,
): string | undefined {
  for (const decision of [decide(policy, circumstances, action), decideMachine(policy, action, machine)]) {
    if (!decision.allowed) return decision.reason;
  }
  return undefined;
}

/** Decides references between objects by the current policy. */
export function referenceRefusal(policy: () => Policy): ReferenceRefusal {
  return (reference) => {
    const decision = decideReference(policy(), reference);
    return decision.allowed ? undefined : decision.reason;
  };
}

/**
 * Whether an object may refer to another one or name an address. This is decided before any part of either is written,
 * copied or sent.
 */
export function decideReference({ bmcAddresses, references }: Policy, reference: Reference): Decision {
  const { from, to } = reference;
  if (to.kind === "address") {
    return decisionOf(refusal("bmcAddresses", addressProblem(from.namespace, to.name, bmcAddresses)));
  }
  return decisionOf(refusal("references", referenceProblem(reference, references)));
}

/**
 * Whether an action without a container may use a host file that the variable or flag `name` contains. In a container, the
 * same path belongs to the container and the rule for volumes applies.
 */
export async function decideFile(
  policy: Policy,
  action: WorkflowMember,
  { name, path }: { readonly name: string; readonly path: string },
): Promise<Decision> {
  const problem = await fileProblem(path, volumesFor(policy, action));
  return decisionOf(refusal("volumes", problem && `${name} ${path} ${problem}`));
}

/** Finds all rules that an action breaks. */
export function refusals(
  policy: Policy,
  { catalogue }: Circumstances,
  action: JudgedAction,
): readonly Refusal[] {
  const { networkNamespaces, pidNamespaces } = policy;
  const { networkNamespace, pidNamespace } = action;
  const image = imageProblem(action.image, policy);
  return [
    ...(image ? refusal(image.rule, image.message) : inputRefusals(policy, catalogue, action)),
    ...refusal("tenants", tenantProblem(action, policy.tenants)),
    ...volumeRefusals(policy, action),
    ...refusal("networkNamespaces", namespaceProblem(networkNamespace, networkNamespaces)),
    ...refusal("pidNamespaces", namespaceProblem(pidNamespace, pidNamespaces)),
    ...refusal("ownConnections", ownConnectionProblem(action, policy)),
    ...refusal("eraseDrives", eraseProblem(action, policy)),
    ...refusal("maxTimeout", timeoutProblem(action, policy)),
    ...refusal("maxRetries", retryProblem(action, policy, catalogue)),
  ];
}

/** The refusals of variables, flags and arguments, which depend on the image. */
function inputRefusals(policy: Policy, catalogue: Catalogue, action: JudgedAction): readonly Refusal[] {
  const untrusted = trustProblem(policy, catalogue, action.image);
  if (untrusted !== undefined) return refusal("trustedImages", untrusted);
  const arguing = argumentProblem(policy, catalogue, action);
  if (arguing !== undefined) return refusal("trustedImages", arguing);
  return environmentProblems(action, policy, catalogue).flatMap((problem) => refusal("environment", problem));
}

function volumeRefusals(policy: Policy, action: JudgedAction): readonly Refusal[] {
  const { volumes } = action;
  const problems = volumes.flatMap((volume) => volumeProblem(volume, policy, action) ?? []);
  // Overlaps are only checked for volumes with a target.
  const found = problems.length > 0 ? problems : overlapProblems(volumes);
  return found.flatMap((problem) => refusal("volumes", problem));
}

function volumesFor({ volumes }: Policy, action: WorkflowMember): readonly VolumeRule[] {
  return volumes.filter((rule) => holdsFor(rule, action));
}

function namespaceProblem(asked: string | undefined, allowed: readonly string[]): string | undefined {
  return !asked || allowed.includes(asked) ? undefined : `${asked} is not allowed`;
}

/** A timeout that is too long. A long action holds its slot while others wait. */
function timeoutProblem(
  { timeoutMs = 0 }: JudgedAction,
  { maxTimeout, tenants }: Policy,
): string | undefined {
  const mostMs = maxTimeout ?? (tenants === undefined ? Number.POSITIVE_INFINITY : TENANTS_TIMEOUT_MS);
  if (timeoutMs <= mostMs) return undefined;
  return `the timeout of ${timeoutMs / 1_000} s is more than ${mostMs / 1_000} s`;
}

function refusal(rule: PolicyRule, message: string | undefined): readonly Refusal[] {
  return message === undefined ? [] : [{ rule, reason: reasonFor(rule, message) }];
}

/** The decision for the first broken rule, with all of its problems. */
function decisionOf(found: readonly Refusal[]): Decision {
  const rule = found[0]?.rule;
  if (rule === undefined) return { allowed: true };
  const prefix = reasonFor(rule, "");
  const problems = found
    .filter((refusal) => refusal.rule === rule)
    .map(({ reason }) => shortened(reason.slice(prefix.length), LONGEST_PROBLEM));
  const others = problems.length - MOST_PROBLEMS;
  const shown = [...problems.slice(0, MOST_PROBLEMS), ...(others > 0 ? [`and ${others} more`] : [])];
  return { allowed: false, rule, reason: reasonFor(rule, shown.join("; ")) };
}

function reasonFor(rule: string, message: string): string {
  return `policy ${rule}: ${message}`;
}

import type { Action } from "../../core/action/action.ts";
import type { LaunchTerms } from "../../core/ports/runtime.ts";

interface RestrictedRequest {
  readonly action: Action;
  readonly terms?: LaunchTerms | undefined;
}

/** Finds what an action requests although the restricted Pod Security standard forbids it, with a reason each. */
export function refusedFields({ action, terms }: RestrictedRequest): string[] {
  const reasons: string[] = [];
  if (action.networkNamespace) {
    reasons.push(
      `the network namespace ${quote(action.networkNamespace)}: a pod has its own, and the host's is not given to actions`,
    );
  }
  if (action.pidNamespace) {
    reasons.push(`the PID namespace ${quote(action.pidNamespace)}: a pod has its own`);
  }
  for (const volume of action.volumes) {
    reasons.push(`the volume ${quote(volume)}: a node's files are not given to actions`);
  }
  if (terms?.privileged) {
    reasons.push(
      "to run privileged, as a rule of the policy says: pods of actions have no rights on their node",
    );
  }
  return reasons;
}

/** One line with all reasons; undefined if nothing is refused. */
export function refusal(request: RestrictedRequest): string | undefined {
  const reasons = refusedFields(request);
  return reasons.length === 0 ? undefined : `the runtime kubernetes refuses ${reasons.join("; and ")}`;
}

const quote = (text: string) => JSON.stringify(text);

import type { LaunchRequest } from "../../core/ports/runtime.ts";

/** What an action requests that the restricted Pod Security standard forbids, with a reason each. */
export function refusedFields({ action, terms }: Pick<LaunchRequest, "action" | "terms">): string[] {
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

/** One line; undefined if nothing is refused. */
export function refusal(request: Pick<LaunchRequest, "action" | "terms">): string | undefined {
  const reasons = refusedFields(request);
  return reasons.length === 0 ? undefined : `the runtime kubernetes refuses ${reasons.join("; and ")}`;
}

const quote = (text: string) => JSON.stringify(text);

import type { ReferenceRule } from "./policy.ts";
import { type Reference, referenceText, staysInNamespace } from "./reference.ts";
import { isAmong } from "./wildcard.ts";

/** Why an object must not refer to another one; undefined if it may. References within a namespace are always allowed. */
export function referenceProblem(reference: Reference, rules: readonly ReferenceRule[]): string | undefined {
  if (staysInNamespace(reference) || rules.some((rule) => opens(rule, reference))) return undefined;
  return `${referenceText(reference)}: no entry allows it`;
}

/**
 * Whether a rule allows a reference. Equal namespaces of another cluster need not belong to the same tenant, so a rule
 * counts there only if it names the source.
 */
function opens(rule: ReferenceRule, { from, to, source }: Reference): boolean {
  const isOfSource = source === undefined ? rule.sources === undefined : isAmong(source, rule.sources ?? []);
  return (
    isOfSource &&
    rule.kinds.some((kind) => kind === to.kind) &&
    isAmong(from.namespace, rule.from) &&
    isAmong(to.namespace, rule.to) &&
    isAmong(to.name, rule.names ?? ["*"])
  );
}

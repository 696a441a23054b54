import { type GivenValue, givenValue, valueSources } from "../../shared/contract/given.ts";
import { RETRIES } from "../../shared/contract/retries.ts";
import type { Catalogue } from "./catalogue.ts";
import type { ImageCommand, Policy } from "./policy.ts";
import { ownActionOf } from "./trust-rule.ts";

/** Why an action of this project must not retry. In other images, the variable may have another meaning. */
export function retryProblem(action: ImageCommand, policy: Policy, catalogue: Catalogue): string | undefined {
  const asked = retriesAsked(action, policy, catalogue);
  if (!asked || asked.retries === 0) return undefined;
  const { given, own, retries } = asked;
  if (retries === undefined) return `${given.from} is not a whole number`;
  if (!catalogue.idempotentNames().includes(own))
    return `${own} is not idempotent, so it is never repeated: remove ${given.from} or set it to 0`;
  const { maxRetries } = policy;
  return retries > maxRetries ? `${given.from} is ${retries}, more than ${maxRetries}` : undefined;
}

interface AskedRetries {
  readonly own: string;
  readonly given: GivenValue;
  /** Undefined if the value is not a number. */
  readonly retries: number | undefined;
}

/** The retries that a template requests from an action of this project. */
export function retriesAsked(
  action: ImageCommand,
  policy: Policy,
  catalogue: Catalogue,
): AskedRetries | undefined {
  const own = ownActionOf(policy, catalogue, action.image);
  const given = givenValue(RETRIES, valueSources(action));
  if (own === undefined || given === undefined) return undefined;
  const text = given.text.trim();
  return { own, given, retries: /^\d{1,15}$/.test(text) ? Number(text) : undefined };
}

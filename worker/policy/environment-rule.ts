import type { Action } from "../action.ts";
import { givenNames, ownConnection } from "../given-names.ts";
import type { Policy } from "./policy.ts";
import { matchesName } from "./wildcard.ts";

type Given = Pick<Action, "command" | "environment">;

/** What is wrong with the names that an action sets, by variable or by the flag that means the same. */
export function environmentProblem(action: Given, { environmentDenied }: Pick<Policy, "environmentDenied">) {
  const found = givenNames(action).find(({ variable }) =>
    environmentDenied.some((pattern) => matchesName(pattern, variable)),
  );
  return found && `${found.name} must not be set`;
}

/** Why an action must not bring what it brings of a connection of its own. */
export function ownConnectionProblem(action: Given, policy: Pick<Policy, "ownConnections" | "tenants">) {
  const [first] = ownConnection(action);
  if (first === undefined || ownConnectionsAllowed(policy)) return undefined;
  return `${first} must not be set: name a machine with MACHINE`;
}

/** With tenants, an action that says itself where a BMC is could reach everybody's. */
export function ownConnectionsAllowed({
  ownConnections,
  tenants,
}: Pick<Policy, "ownConnections" | "tenants">): boolean {
  return (ownConnections ?? (tenants === undefined ? "allow" : "deny")) === "allow";
}

import * as z from "zod/mini";
import type { IronicAllowance } from "../../../contract/ironic-options.ts";

const Text = z.optional(z.nullable(z.string()));

/** The fields of a node that are used. Older versions lack the fields after `owner`. */
export const NodeState = z.object({
  power_state: Text,
  target_power_state: Text,
  provision_state: Text,
  maintenance: z.optional(z.boolean()),
  maintenance_reason: Text,
  instance_uuid: Text,
  /** The host of the conductor that locks the node. */
  reservation: Text,
  last_error: Text,
  owner: Text,
  lessee: Text,
  boot_mode: Text,
  secure_boot: z.optional(z.nullable(z.boolean())),
});
export type NodeState = z.infer<typeof NodeState>;

/** States in which Ironic leaves a node alone. In every other state, even an unknown one, it is at work. */
const RESTING = /^(enroll|manageable|available|active|error|rescue|.* failed)$/;
const IN_USE = /^(active|rescue)$/;

/** Why this node must not be changed, as text after its name; undefined if it may be. */
export function refusalOf(state: NodeState, allowed: readonly IronicAllowance[]): string | undefined {
  const reason = reasons(state).find(([kind]) => !allowed.includes(kind));
  if (!reason) return undefined;
  const [kind, what] = reason;
  const { provision_state, owner, lessee } = state;
  const facts = [
    provision_state && `state ${provision_state}`,
    owner && `owner ${owner}`,
    lessee && `lessee ${lessee}`,
  ].filter(Boolean);
  const shown = facts.length > 0 ? ` (${facts.join(", ")})` : "";
  return `is ${what}${shown}: to change it all the same, add ${kind} to ironic.allow`;
}

function reasons(state: NodeState): readonly (readonly [IronicAllowance, string])[] {
  const { provision_state: provision, maintenance, maintenance_reason: why, instance_uuid: instance } = state;
  const isResting = !provision || RESTING.test(provision);
  const isUsed = Boolean(instance) || IN_USE.test(provision ?? "");
  return [
    ...(maintenance ? [["maintenance", `in maintenance${why ? `, "${why}"` : ""}`] as const] : []),
    ...(isResting ? [] : [["transition", "between two provisioning states"] as const]),
    ...(isUsed ? [["instance", `in use as instance${instance ? ` ${instance}` : ""}`] as const] : []),
  ];
}

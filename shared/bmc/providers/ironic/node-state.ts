import * as z from "zod/mini";

const Text = z.optional(z.nullable(z.string()));

/** The fields of a node that are read. Older versions lack the fields after `owner`. */
export const NodeState = z.object({
  power_state: Text,
  target_power_state: Text,
  provision_state: Text,
  maintenance: z.optional(z.boolean()),
  maintenance_reason: Text,
  instance_uuid: Text,
  /** The host of the conductor that holds the node's lock. */
  reservation: Text,
  last_error: Text,
  owner: Text,
  lessee: Text,
  boot_mode: Text,
  secure_boot: z.optional(z.nullable(z.boolean())),
});
export type NodeState = z.infer<typeof NodeState>;

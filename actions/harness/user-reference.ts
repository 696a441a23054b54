import { z } from "zod";
import { USER_ROLES } from "./user-input.ts";

/** A user in the results of several actions, for their references. */
export const bmcUser = z.strictObject({
  id: z.string().describe("The BMC's own: a path with Redfish, a slot's number with IPMI"),
  name: z.string().describe("What it logs in with"),
  role: z
    .enum([...USER_ROLES, "none", "unknown"])
    .describe("What it may do: none is nothing, unknown is a role of the BMC's own"),
  enabled: z.boolean().describe("Whether it may log in"),
});

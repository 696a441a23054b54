import { z } from "zod";
import { USER_ROLES } from "./user-input.ts";

/** A user in the results of several actions, for their references. */
export const bmcUser = z.strictObject({
  id: z.string().describe("The BMC's ID of the user: a path with Redfish, a slot number with IPMI"),
  name: z.string().describe("The login name"),
  role: z
    .enum([...USER_ROLES, "none", "unknown"])
    .describe("The role: none has no permissions, unknown is a role that only the BMC defines"),
  enabled: z.boolean().describe("Whether the user can log in"),
});

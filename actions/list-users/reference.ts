import { z } from "zod";
import { actionReference } from "../harness/input/reference.ts";
import { bmcUser, unread } from "../harness/input/reference-parts.ts";

export const reference = actionReference("list-users", {
  keywords: ["user", "account", "audit"],
  readsOnly: true,
  mostRoundTrips: { redfish: 4, ipmi: 13 },
  output: {
    data: z.strictObject({
      users: z.array(bmcUser).describe("The users that have a name"),
      unread: unread("Accounts that the BMC lists and that could not be read"),
    }),
  },
  result: {
    message: "2 users, 1 disabled via redfish",
    changed: false,
    durationMs: 640,
    roundTrips: 5,
    data: {
      users: [
        { id: "/redfish/v1/AccountService/Accounts/1", name: "admin", role: "administrator", enabled: true },
        { id: "/redfish/v1/AccountService/Accounts/3", name: "deploy", role: "operator", enabled: false },
      ],
    },
  },
});

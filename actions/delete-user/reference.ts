import { actionReference } from "../harness/input/reference.ts";
import { bmcUser } from "../harness/input/reference-parts.ts";

export const reference = actionReference("delete-user", {
  environment: { USER_NAME: "deploy" },
  keywords: ["user", "account", "decommission"],
  mostRoundTrips: { redfish: 8, ipmi: 27 },
  output: { before: bmcUser.describe("The user before; absent if there was none") },
  result: {
    message: "user deploy deleted via redfish",
    before: { id: "/redfish/v1/AccountService/Accounts/3", name: "deploy", role: "operator", enabled: true },
    changed: true,
    durationMs: 1120,
    roundTrips: 8,
  },
});

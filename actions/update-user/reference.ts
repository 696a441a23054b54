import { actionReference } from "../harness/input/reference.ts";
import { bmcUser } from "../harness/input/reference-parts.ts";

export const reference = actionReference("update-user", {
  environment: { USER_NAME: "deploy", PASSWORD_FILE: "/data/deploy" },
  volumes: ["/etc/bmc-passwords/deploy:/data/deploy:ro"],
  keywords: ["user", "account", "password", "rotation"],
  mostRoundTrips: { redfish: 10, ipmi: 26 },
  output: {
    before: bmcUser.describe("The user before"),
    after: bmcUser.describe("The user after"),
  },
  result: {
    message: "user deploy updated, its password works via redfish",
    before: { id: "/redfish/v1/AccountService/Accounts/3", name: "deploy", role: "operator", enabled: true },
    after: { id: "/redfish/v1/AccountService/Accounts/3", name: "deploy", role: "operator", enabled: true },
    changed: true,
    durationMs: 1790,
    roundTrips: 10,
  },
});

import { actionReference } from "../harness/input/reference.ts";
import { bmcUser } from "../harness/input/reference-parts.ts";

export const reference = actionReference("create-user", {
  environment: {
    USER_NAME: "deploy",
    ROLE: "operator",
    PASSWORD_GENERATE: "true",
    PASSWORD_GENERATE_FILE: "/data/passwords/deploy",
  },
  volumes: ["/var/lib/bmc-passwords/node-01:/data/passwords"],
  keywords: ["user", "account", "password"],
  mostRoundTrips: { redfish: 9, ipmi: 39 },
  output: {
    before: bmcUser.describe("The user before; absent if there was none"),
    after: bmcUser.describe("The user after"),
  },
  result: {
    message:
      "user deploy created as operator, its password works, it is in /data/passwords/deploy via redfish",
    after: { id: "/redfish/v1/AccountService/Accounts/3", name: "deploy", role: "operator", enabled: true },
    changed: true,
    durationMs: 1874,
    roundTrips: 9,
  },
});

import { z } from "zod";
import type { ActionReference } from "../harness/input/reference.ts";
import { bmcUser } from "../harness/input/user-reference.ts";

export const reference: ActionReference = {
  environment: {},
  keywords: ["user", "account", "audit"],
  readsOnly: true,
  output: { data: z.strictObject({ users: z.array(bmcUser).describe("The users that have a name") }) },
  result: {
    action: "list-users",
    machine: "node-01",
    ok: true,
    message: "2 users, 1 disabled via redfish",
    provider: "redfish",
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
};

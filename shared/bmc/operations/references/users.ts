import { Secret } from "../../../secret.ts";
import { ok } from "../finding.ts";
import { operationReference } from "../reference.ts";

const USER = {
  id: "/redfish/v1/AccountService/Accounts/3",
  name: "eve",
  role: "operator",
  enabled: true,
} as const;
const PASSWORD = new Secret("canary-new");

export const reference = operationReference("users", {
  check: {
    means: "The users were read, and this one may change them; else a warning",
    roundTrips: { redfish: 2, ipmi: 10 },
    example: { ...ok("1 user"), durationMs: 87 },
  },
  calls: {
    checkUser: (users) => users.checkUser?.(USER),
    checkRights: (users) => users.checkRights?.(),
    list: (users, signal) => users.list(signal),
    hasUnlisted: (users, signal) => users.hasUnlisted?.("eve", signal),
    create: (users, signal) => users.create({ name: "eve", password: PASSWORD, role: "operator" }, signal),
    change: (users, signal) => users.change(USER, { password: PASSWORD, role: "readonly" }, signal),
    remove: (users, signal) => users.remove(USER, signal),
    tryPassword: (users, signal) => users.tryPassword(USER, PASSWORD, signal),
  },
});

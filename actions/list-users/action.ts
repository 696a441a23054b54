import { describeUnread } from "../../shared/bmc/operations/unread.ts";
import { count } from "../../shared/count.ts";
import { formatTable } from "../../shared/table.ts";
import { defineAction } from "../harness/action.ts";

export default defineAction({
  name: "list-users",
  summary: "List the users of a BMC with their roles",
  idempotent: true,
  input: {},
  run: async ({ bmc, signal }) => {
    const listed = await bmc.listUsers(signal);
    const users = listed.filter((user) => user.unread === undefined);
    const unread = listed.flatMap(({ id, unread: reason }) => (reason ? [{ name: id, reason }] : []));
    const disabled = users.filter(({ enabled }) => !enabled).length;
    const counted = count(users.length, "user");
    const summary = disabled === 0 ? counted : `${counted}, ${disabled} disabled`;
    const gaps = describeUnread(unread, "account");
    return { summary: summary + gaps, changed: false, data: { users, ...(gaps ? { unread } : {}) } };
  },
  table: ({ users }) =>
    formatTable(
      ["user", "role", "enabled", "id"],
      users.map(({ id, name, role, enabled }) => [name, role, enabled ? "yes" : "no", id]),
    ),
});

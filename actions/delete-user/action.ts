import { defineAction } from "../harness/action.ts";
import { userName } from "../harness/input/user-input.ts";
import { reportPlan } from "../harness/run/dry-run.ts";
import { describeUser } from "../harness/run/run-user.ts";

export default defineAction({
  name: "delete-user",
  summary: "Delete a BMC user; succeeds if the user does not exist",
  idempotent: true,
  input: { userName },
  run: async ({ bmc, input, dryRun, signal }) => {
    const name = input.userName;
    if (!dryRun) return bmc.deleteUser(name, signal);
    const plan = await bmc.planDeleteUser(name, signal);
    return reportPlan(plan, plan.before ? describeUser(plan.before) : `no user ${name}`);
  },
});

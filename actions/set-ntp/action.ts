import { describeNtp } from "../../shared/bmc/ntp.ts";
import { defineAction } from "../harness/action.ts";
import { reportPlan } from "../harness/dry-run.ts";
import { boolean, list } from "../harness/input.ts";

export default defineAction({
  name: "set-ntp",
  summary: "Set the time servers of a BMC, and see that it kept them",
  idempotent: true,
  input: {
    servers: list({
      env: "NTP_SERVERS",
      description: "Names or addresses, with commas between them; without any, those there are stay",
      pattern: /^[0-9A-Za-z:][0-9A-Za-z.:_-]{0,252}$/,
      expected: "must hold only names and addresses of time servers",
    }),
    enabled: boolean({
      env: "NTP_ENABLED",
      description: "Whether the BMC takes its time from the servers",
      default: "true",
    }),
  },
  run: async ({ bmc, input, dryRun, signal }) => {
    const { enabled, servers = [] } = input;
    const request = servers.length > 0 ? { enabled, servers } : { enabled };
    if (!dryRun) return bmc.setNtp(request, signal);
    const plan = await bmc.planNtp(request, signal);
    return reportPlan(plan, describeNtp(plan.before));
  },
});

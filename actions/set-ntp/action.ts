import { describeNtp } from "../../shared/bmc/operations/ntp.ts";
import { NTP_SERVER } from "../../shared/contract/desired-state.ts";
import { defineAction } from "../harness/action.ts";
import { boolean, list } from "../harness/input/input.ts";
import { reportPlan } from "../harness/run/dry-run.ts";

export default defineAction({
  name: "set-ntp",
  summary: "Set a BMC's time servers, and verify that it kept them",
  idempotent: true,
  input: {
    servers: list({
      env: "NTP_SERVERS",
      description: "Host names or addresses, separated by commas; if not set, the BMC keeps its servers",
      pattern: NTP_SERVER,
      expected: "must hold only names and addresses of time servers",
    }),
    enabled: boolean({
      env: "NTP_ENABLED",
      description: "Whether the BMC uses the time servers",
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

import { describeNtp } from "../../shared/bmc/operations/ntp.ts";
import { defineAction } from "../harness/action.ts";

export default defineAction({
  name: "get-ntp",
  summary: "Show a BMC's time servers",
  idempotent: true,
  input: {},
  run: async ({ bmc, signal }) => {
    const settings = await bmc.getNtp(signal);
    return {
      summary: describeNtp(settings),
      before: settings,
      after: settings,
      changed: false,
      data: settings,
    };
  },
});

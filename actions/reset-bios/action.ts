import { defineAction } from "../harness/action.ts";
import { reportPlan } from "../harness/run/dry-run.ts";

export default defineAction({
  name: "reset-bios",
  summary: "Reset all BIOS attributes to the vendor's defaults at the next boot",
  idempotent: false,
  input: {},
  run: async ({ bmc, dryRun, signal }) =>
    dryRun ? reportPlan(await bmc.planBiosReset(signal), "") : bmc.resetBios(signal),
});

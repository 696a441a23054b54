import { describeSecureBoot } from "../../shared/bmc/operations/secureboot.ts";
import { defineAction } from "../harness/action.ts";
import { boolean } from "../harness/input/input.ts";
import { reportPlan } from "../harness/run/dry-run.ts";

export default defineAction({
  name: "set-secure-boot",
  summary: "Switch UEFI Secure Boot on or off from the next boot, and verify the setting",
  idempotent: true,
  input: {
    enabled: boolean({
      env: "SECURE_BOOT",
      description: "Whether the machine enforces Secure Boot from its next boot",
      default: "true",
    }),
  },
  run: async ({ bmc, input, dryRun, signal }) => {
    if (!dryRun) return bmc.setSecureBoot(input.enabled, signal);
    const plan = await bmc.planSecureBoot(input.enabled, signal);
    return reportPlan(plan, describeSecureBoot(plan.before));
  },
});

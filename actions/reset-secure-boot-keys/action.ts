import { describeSecureBoot } from "../../shared/bmc/operations/secureboot.ts";
import { defineAction } from "../harness/action.ts";
import { choice } from "../harness/input/input.ts";
import { reportPlan } from "../harness/run/dry-run.ts";

export default defineAction({
  name: "reset-secure-boot-keys",
  summary: "Restore or delete the keys of UEFI Secure Boot",
  idempotent: false,
  input: {
    keys: choice(["default", "delete-all", "delete-pk"], {
      env: "SECURE_BOOT_KEYS",
      description:
        "default restores the vendor's keys; delete-all deletes every key; delete-pk deletes the platform key, which leaves setup mode",
      default: "default",
    }),
  },
  run: async ({ bmc, input, dryRun, signal }) => {
    if (!dryRun) return bmc.resetSecureBootKeys(input.keys, signal);
    const plan = await bmc.planSecureBootKeys(input.keys, signal);
    return reportPlan(plan, describeSecureBoot(plan.before));
  },
});

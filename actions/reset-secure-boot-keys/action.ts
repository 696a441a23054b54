import { SECURE_BOOT_DATABASES } from "../../shared/bmc/operations/secure-boot-key.ts";
import { describeSecureBoot } from "../../shared/bmc/operations/secureboot.ts";
import { defineAction } from "../harness/action.ts";
import { choice } from "../harness/input/input.ts";
import { reportPlan } from "../harness/run/dry-run.ts";

const KEYS = "SECURE_BOOT_KEYS";

export default defineAction({
  name: "reset-secure-boot-keys",
  summary: "Restore or delete the keys of UEFI Secure Boot",
  idempotent: false,
  input: {
    keys: choice(["default", "delete-all", "delete-pk"], {
      env: KEYS,
      description:
        "default restores the vendor's keys; delete-all deletes every key; delete-pk deletes the platform key, which leaves setup mode",
      default: "default",
    }),
    database: choice(SECURE_BOOT_DATABASES, {
      env: "DATABASE",
      description: "Only the keys of this database; of all without it",
    }),
  },
  check: ({ keys, database }, nameInput) =>
    keys === "delete-pk" && database !== undefined
      ? [`${nameInput(KEYS, keys)} names its database: remove ${nameInput("DATABASE")}`]
      : [],
  run: async ({ bmc, input, dryRun, signal }) => {
    const { keys, database } = input;
    if (!dryRun) return bmc.resetSecureBootKeys(keys, database, signal);
    const plan = await bmc.planSecureBootKeys(keys, database, signal);
    return reportPlan(plan, describeSecureBoot(plan.before));
  },
});

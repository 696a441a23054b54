import { describeSecureBootKeys } from "../../shared/bmc/operations/securebootkeys.ts";
import { defineAction } from "../harness/action.ts";
import { text } from "../harness/input/input.ts";
import { secureBootKeyInput } from "../harness/input/secure-boot-input.ts";
import { reportPlan } from "../harness/run/dry-run.ts";

const { database, allowUserMode } = secureBootKeyInput;

export default defineAction({
  name: "delete-secure-boot-key",
  summary: "Delete a key of UEFI Secure Boot, and verify that its database lost it",
  // The BMC may give the ID of the deleted key to another one.
  idempotent: false,
  input: {
    database,
    key: text({
      env: "KEY",
      description: "Fingerprint or ID of the key, as list-secure-boot-keys shows them",
      required: true,
      pattern: /^[^*/?#%\s\p{Cc}\p{Cf}]{1,200}$/u,
      expected: "is not a fingerprint or an ID",
    }),
    allowUserMode,
  },
  run: async ({ bmc, input, dryRun, signal }) => {
    const options = { allowUserMode: input.allowUserMode };
    if (!dryRun) return bmc.deleteSecureBootKey(input.database, input.key, options, signal);
    const plan = await bmc.planSecureBootKeyDeletion(input.database, input.key, options, signal);
    return reportPlan(plan, describeSecureBootKeys({ keys: plan.before }));
  },
});

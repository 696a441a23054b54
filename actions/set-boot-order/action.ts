import { describeBootOrder } from "../../shared/bmc/operations/bootorder.ts";
import { defineAction } from "../harness/action.ts";
import { list } from "../harness/input/input.ts";
import { reportPlan } from "../harness/run/dry-run.ts";

export default defineAction({
  name: "set-boot-order",
  summary: "Put options first in a machine's UEFI boot order, and verify it",
  idempotent: true,
  input: {
    order: list({
      env: "BOOT_ORDER",
      description:
        "Titles or IDs of boot options, separated by commas; the others keep their order after them",
      required: true,
      pattern: /^[^\p{Cc}\p{Cf}]{1,200}$/u,
      expected: "must hold only titles or IDs of boot options",
    }),
  },
  run: async ({ bmc, input, dryRun, signal }) => {
    if (!dryRun) return bmc.setBootOrder(input.order, signal);
    const plan = await bmc.planBootOrder(input.order, signal);
    return reportPlan(plan, describeBootOrder(plan.before));
  },
});

import { describePxeSwitches } from "../../shared/bmc/operations/nic-pxe.ts";
import { defineAction } from "../harness/action.ts";
import { boolean, text } from "../harness/input/input.ts";
import { reportPlan } from "../harness/run/dry-run.ts";

export default defineAction({
  name: "set-nic-pxe",
  summary: "Switch the PXE of a network interface on or off, and verify it",
  idempotent: true,
  input: {
    nic: text({
      env: "NIC",
      description: "The BIOS's name of the interface; an unknown name is rejected with the known ones",
      required: true,
      pattern: /^[\w.:-]{1,100}$/,
      expected: "is not the name of a network interface",
    }),
    enabled: boolean({
      env: "PXE_ENABLED",
      description: "Whether the machine may boot from it",
      default: "true",
    }),
  },
  run: async ({ bmc, input, dryRun, signal }) => {
    const { nic, enabled } = input;
    if (!dryRun) return bmc.setNicPxe(nic, enabled, signal);
    const plan = await bmc.planNicPxe(nic, enabled, signal);
    return reportPlan(plan, describePxeSwitches(plan.before));
  },
});

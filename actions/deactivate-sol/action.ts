import { defineAction } from "../harness/action.ts";
import { reportPlan } from "../harness/run/dry-run.ts";

export default defineAction({
  name: "deactivate-sol",
  summary: "End serial-over-LAN sessions that were left open",
  idempotent: true,
  input: {},
  run: async ({ bmc, dryRun, signal }) => {
    if (!dryRun) return bmc.deactivateSol(signal);
    const { before, steps } = await bmc.planSolDeactivation(signal);
    return reportPlan({ before: undefined, steps }, describeActive(before));
  },
});

function describeActive(instances: readonly number[] | undefined): string {
  if (instances === undefined) return "";
  if (instances.length === 0) return "no SOL session active";
  return instances.length === 1 ? "one SOL session active" : `${instances.length} SOL sessions active`;
}

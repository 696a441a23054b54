import { describeHttpBoot } from "../../shared/bmc/operations/httpboot.ts";
import { defineAction } from "../harness/action.ts";
import { boolean, text } from "../harness/input/input.ts";
import { reportPlan } from "../harness/run/dry-run.ts";

export default defineAction({
  name: "set-http-boot",
  summary: "Make a machine boot from a URI with UEFI HTTP boot, and verify both settings",
  idempotent: true,
  input: {
    uri: text({
      env: "HTTP_BOOT_URI",
      description: "URI of the boot program or image; without it, the DHCP server gives one",
      pattern: /^https?:\/\/[^\s/@?#]+\/[^\s@]*$/i,
      expected: "is not an http or https URL, without credentials",
    }),
    persistent: boolean({
      env: "PERSISTENT",
      description: "Every boot instead of the next one",
      default: "false",
    }),
  },
  run: async ({ bmc, input, dryRun, signal }) => {
    const { uri = "", persistent } = input;
    const request = { device: "uefi-http", persistent, mode: "uefi" } as const;
    if (dryRun) {
      const { before, steps } = await bmc.planHttpBootUri(uri, signal);
      const boot = await bmc.planBoot(request, signal);
      return reportPlan({ before: undefined, steps: [...steps, ...boot.steps] }, describeHttpBoot(before));
    }
    const set = await bmc.setHttpBootUri(uri, signal);
    const boot = await bmc.setBoot(request, signal);
    return { after: boot.after, changed: true, summary: `${boot.summary}, ${set.summary}` };
  },
});

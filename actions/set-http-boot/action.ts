import { describeHttpBoot, type HttpBootWay } from "../../shared/bmc/operations/httpboot.ts";
import { defined } from "../../shared/defined.ts";
import { type ActionReport, defineAction } from "../harness/action.ts";
import { boolean, text } from "../harness/input/input.ts";
import { type DryRunData, reportPlan } from "../harness/run/dry-run.ts";

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
    nic: text({
      env: "NIC",
      description: "The BIOS's name of the network interface, where BIOS attributes select it",
      pattern: /^[\w.:-]{1,100}$/,
      expected: "is not the name of a network interface",
    }),
    verifyServer: boolean({
      env: "VERIFY_SERVER",
      description: "Whether the firmware verifies an https server, where BIOS attributes select it",
      default: "true",
    }),
  },
  run: async ({
    bmc,
    input,
    dryRun,
    signal,
  }): Promise<ActionReport<DryRunData | { readonly way: HttpBootWay }>> => {
    const { uri = "", persistent, nic, verifyServer: verifiesServer } = input;
    const request = { uri, verifiesServer, ...defined({ interface: nic }) };
    const device = { device: "uefi-http", persistent, mode: "uefi" } as const;
    if (dryRun) {
      const { before, steps } = await bmc.planHttpBootUri(request, signal);
      const boot = await bmc.planBoot(device, signal);
      return reportPlan({ before: undefined, steps: [...steps, ...boot.steps] }, describeHttpBoot(before));
    }
    const { way, summary } = await bmc.setHttpBootUri(request, signal);
    const boot = await bmc.setBoot(device, signal);
    return { after: boot.after, changed: true, summary: `${boot.summary}, ${summary}`, data: { way } };
  },
});

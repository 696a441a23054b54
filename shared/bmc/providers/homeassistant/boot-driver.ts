import type { BootDriver } from "../../operations/boot.ts";

/**
 * A switch has no boot device. As with Rufio a request succeeds without effect, so that workflows written for BMCs
 * run for such machines too; what is reported says so.
 */
export const homeAssistantBoot: BootDriver = {
  ignored: true,
  async read() {
    return undefined;
  },
  async plan() {
    return "nothing: a switch in Home Assistant has no boot device";
  },
  async write() {},
};

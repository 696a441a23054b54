import { BmcError } from "../../../contract/bmc-error.ts";
import type { BootDriver, BootOverride } from "../../provider.ts";

/**
 * A switch has no boot device. As with Rufio a request succeeds without effect, so that workflows written for BMCs
 * run for such machines too; what is reported says so.
 */
export const homeAssistantBoot: BootDriver = {
  unverified: "ignored",
  async read(): Promise<BootOverride> {
    throw new BmcError("unsupported", "a switch in Home Assistant has no boot device");
  },
  async plan() {
    return "nothing: a switch in Home Assistant has no boot device";
  },
  async write() {},
};

import { describeInfo } from "../../shared/bmc/operations/manager.ts";
import { defineAction } from "../harness/action.ts";

export default defineAction({
  name: "bmc-info",
  summary: "Show a BMC's vendor, model, firmware and serial number",
  idempotent: true,
  input: {},
  run: async ({ bmc, signal }) => {
    const info = await bmc.getInfo(signal);
    return { summary: describeInfo(info), changed: false, data: info };
  },
});

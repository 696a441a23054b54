import { defineAction } from "../harness/action.ts";
import { describeHardware, hardwareTables } from "./describe-hardware.ts";

export default defineAction({
  name: "inventory",
  summary: "List a machine's hardware: processors, memory, disks, NICs, firmware",
  idempotent: true,
  input: {},
  run: async ({ bmc, signal }) => {
    const hardware = await bmc.getHardware(signal);
    return { summary: describeHardware(hardware), changed: false, data: hardware };
  },
  table: hardwareTables,
});

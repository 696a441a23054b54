import { defineAction } from "../harness/action.ts";
import { describeHardware } from "./describe-hardware.ts";
import { hardwareTables } from "./hardware-tables.ts";

export default defineAction({
  name: "inventory",
  summary: "Say what is built into a machine: processors, memory, disks, NICs, firmware",
  idempotent: true,
  input: {},
  run: async ({ bmc, signal }) => {
    const hardware = await bmc.readHardware(signal);
    return { summary: describeHardware(hardware), changed: false, data: hardware };
  },
  table: hardwareTables,
});

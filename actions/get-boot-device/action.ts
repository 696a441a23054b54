import { describeOverride } from "../../shared/bmc/operations/boot-port.ts";
import { defineAction } from "../harness/action.ts";

export default defineAction({
  name: "get-boot-device",
  summary: "Show a machine's boot device",
  idempotent: true,
  input: {},
  run: async ({ bmc, signal }) => {
    const override = await bmc.getBoot(signal);
    return {
      summary: `boot ${describeOverride(override)}`,
      before: override,
      after: override,
      changed: false,
      data: override,
    };
  },
});

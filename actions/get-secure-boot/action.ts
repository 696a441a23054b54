import { describeSecureBoot } from "../../shared/bmc/operations/secureboot.ts";
import { defineAction } from "../harness/action.ts";

export default defineAction({
  name: "get-secure-boot",
  summary: "Show whether UEFI Secure Boot is on",
  idempotent: true,
  input: {},
  run: async ({ bmc, signal }) => {
    const state = await bmc.getSecureBoot(signal);
    return { summary: describeSecureBoot(state), before: state, after: state, changed: false, data: state };
  },
});

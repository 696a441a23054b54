import { describeBios } from "../../shared/bmc/operations/bios.ts";
import { defineAction } from "../harness/action.ts";
import { list } from "../harness/input/input.ts";
import { biosTable, selectAttributes } from "./selection.ts";

export default defineAction({
  name: "get-bios",
  summary: "List a machine's BIOS attributes and those that wait for its next boot",
  idempotent: true,
  input: {
    attributes: list({
      env: "ATTRIBUTES",
      description: "Names of the attributes to list, separated by commas; * matches any characters",
      default: "*",
      pattern: /^[^\p{Cc}\p{Cf}]{1,200}$/u,
      expected: "must hold only names of BIOS attributes",
    }),
  },
  run: async ({ bmc, input, signal }) => {
    const state = selectAttributes(await bmc.getBios(signal), input.attributes);
    return { summary: describeBios(state), changed: false, data: state };
  },
  table: biosTable,
});

import { defineAction } from "../harness/action.ts";

export default defineAction({
  name: "power-status",
  summary: "Show whether a machine is on",
  idempotent: true,
  input: {},
  run: async ({ bmc, signal }) => {
    const power = await bmc.readPower(signal);
    return { summary: power, before: power, after: power, changed: false, data: { power } };
  },
});

import { defineAction } from "../harness/action.ts";

export default defineAction({
  name: "power-status",
  summary: "Show whether a machine is on",
  idempotent: true,
  input: {},
  run: async ({ bmc, signal }) => {
    const { state: power, name } = await bmc.describePower(signal);
    const summary = power === "unknown" && name !== undefined ? `${power} (${name})` : power;
    return { summary, before: power, after: power, changed: false, data: { power } };
  },
});

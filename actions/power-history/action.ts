import { describeHistory } from "../../shared/bmc/operations/powerhistory.ts";
import { defineAction } from "../harness/action.ts";
import { boolean, duration, integer } from "../harness/input/input.ts";
import { historyTable } from "./history-table.ts";

export default defineAction({
  name: "power-history",
  summary: "Show when and why a machine last restarted, and the events around it",
  idempotent: true,
  input: {
    window: duration({
      env: "WINDOW",
      description: "How long before and after the last restart to list events; 0 means all",
      default: "24h",
    }),
    limit: integer({
      env: "LIMIT",
      description: "Maximum number of events, those next to the last restart first; 0 means all",
      default: "100",
      min: 0,
      max: 100_000,
    }),
    sensorNames: boolean({
      env: "SENSOR_NAMES",
      description: "Whether to name sensors with IPMI, which costs up to one round trip per sensor",
      default: "true",
    }),
  },
  run: async ({ bmc, input: { window: windowMs, limit, sensorNames }, signal }) => {
    const history = await bmc.getPowerHistory({ windowMs, limit, sensorNames }, signal);
    return { summary: describeHistory(history), changed: false, data: history };
  },
  table: historyTable,
});

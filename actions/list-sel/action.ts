import { defineAction } from "../harness/action.ts";
import { boolean, choice, integer } from "../harness/input/input.ts";
import { describeSelection, SEVERITIES, select, selTable } from "./selection.ts";

export default defineAction({
  name: "list-sel",
  summary: "List the entries of a machine's system event log",
  idempotent: true,
  input: {
    limit: integer({
      env: "LIMIT",
      description: "Maximum number of entries, newest first; 0 means all",
      default: "100",
      min: 0,
      max: 100_000,
    }),
    severity: choice(SEVERITIES, {
      env: "SEVERITY",
      description: "Minimum severity of the entries to list; ok includes entries without a severity",
      default: "ok",
    }),
    sensorNames: boolean({
      env: "SENSOR_NAMES",
      description: "Whether to name sensors with IPMI, which costs up to one round trip per sensor",
      default: "true",
    }),
  },
  run: async ({ bmc, input, signal }) => {
    const selection = select(await bmc.listSel(signal, input), input);
    return {
      summary: describeSelection(selection, input.severity),
      changed: false,
      data: { total: selection.total, critical: selection.critical, entries: selection.entries },
    };
  },
  table: ({ entries }) => selTable(entries),
});

import { defineAction } from "../harness/action.ts";
import { choice, integer } from "../harness/input.ts";
import { describeSelection, SEVERITIES, select, selTable } from "./selection.ts";

export default defineAction({
  name: "list-sel",
  summary: "List what is in a machine's system event log",
  idempotent: true,
  input: {
    limit: integer({
      env: "LIMIT",
      description: "How many entries at most, the newest; 0 is all",
      default: "100",
      min: 0,
      max: 100_000,
    }),
    severity: choice(SEVERITIES, {
      env: "SEVERITY",
      description: "The least severe entries to list; with ok, those without a severity, too",
      default: "ok",
    }),
  },
  run: async ({ bmc, input, signal }) => {
    const selection = select(await bmc.listSel(signal), input);
    return {
      summary: describeSelection(selection, input.severity),
      changed: false,
      data: { total: selection.total, critical: selection.critical, entries: selection.entries },
    };
  },
  table: ({ entries }) => selTable(entries),
});

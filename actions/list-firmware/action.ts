import { describeUnread } from "../../shared/bmc/operations/unread.ts";
import { count } from "../../shared/count.ts";
import { formatTable } from "../../shared/table.ts";
import { defineAction } from "../harness/action.ts";

export default defineAction({
  name: "list-firmware",
  summary: "List a machine's firmware with its versions",
  idempotent: true,
  input: {},
  run: async ({ bmc, signal }) => {
    const listed = await bmc.listFirmware(signal);
    const firmware = listed.filter((item) => item.unread === undefined);
    const unread = listed.flatMap(({ id, unread: reason }) => (reason ? [{ name: id, reason }] : []));
    const updateable = firmware.filter((item) => item.updateable === true).length;
    const counted = count(firmware.length, "firmware entry", "firmware entries");
    const gaps = describeUnread(unread, "entry");
    return {
      summary: `${counted}, ${updateable} updateable${gaps}`,
      changed: false,
      data: { firmware, ...(gaps ? { unread } : {}) },
    };
  },
  table: ({ firmware }) =>
    formatTable(
      ["id", "version", "updateable", "name", "related"],
      firmware.map(({ id, name, version = "", updateable, related }) => [
        id,
        version,
        updateable === undefined ? "" : updateable ? "yes" : "no",
        name,
        related.join(" "),
      ]),
    ),
});

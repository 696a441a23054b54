import { count } from "../../shared/count.ts";
import { formatTable } from "../../shared/table.ts";
import { defineAction } from "../harness/action.ts";

export default defineAction({
  name: "list-firmware",
  summary: "List a machine's firmware with its versions",
  idempotent: true,
  input: {},
  run: async ({ bmc, signal }) => {
    const firmware = await bmc.listFirmware(signal);
    const updateable = firmware.filter((item) => item.updateable === true).length;
    const counted = count(firmware.length, "firmware entry", "firmware entries");
    return { summary: `${counted}, ${updateable} updateable`, changed: false, data: { firmware } };
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

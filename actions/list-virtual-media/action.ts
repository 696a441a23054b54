import { describeDrives } from "../../shared/bmc/operations/media.ts";
import { formatTable } from "../../shared/table.ts";
import { defineAction } from "../harness/action.ts";

export default defineAction({
  name: "list-virtual-media",
  summary: "List a BMC's virtual drives and what is in them",
  idempotent: true,
  input: {},
  run: async ({ bmc, signal }) => {
    const list = await bmc.listMedia(signal);
    return { summary: describeDrives(list), changed: false, data: list };
  },
  table: ({ drives }) =>
    formatTable(
      ["drive", "takes", "inserted", "image", "connected via", "write-protected"],
      drives.map(({ name, types, inserted, image = "", connectedVia = "", writeProtected }) => [
        name,
        types.join(", "),
        inserted ? "yes" : "no",
        image,
        connectedVia,
        writeProtected === undefined ? "" : writeProtected ? "yes" : "no",
      ]),
    ),
});

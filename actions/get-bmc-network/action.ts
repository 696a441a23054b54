import {
  describeInterfaces,
  describeNetwork,
  unreadInterfaces,
} from "../../shared/bmc/operations/network-settings.ts";
import { formatTable } from "../../shared/table.ts";
import { defineAction } from "../harness/action.ts";

export default defineAction({
  name: "get-bmc-network",
  summary: "Show the network settings of a BMC",
  idempotent: true,
  input: {},
  run: async ({ bmc, signal }) => {
    const listed = await bmc.listNetwork(signal);
    const summary = describeInterfaces(listed, (each) => `${each.id}: ${describeNetwork(each)}`);
    const interfaces = listed.filter((each) => each.unread === undefined);
    const unread = unreadInterfaces(listed);
    return { summary, changed: false, data: { interfaces, ...(unread.length > 0 ? { unread } : {}) } };
  },
  table: ({ interfaces }) =>
    formatTable(
      ["interface", "mode", "address", "gateway", "vlan", "host name", "mac"],
      interfaces.map(
        ({ id, mode = "", address = "", prefix, gateway = "", vlan = "", hostName = "", mac = "" }) => [
          id,
          mode,
          prefix === undefined ? address : `${address}/${prefix}`,
          gateway,
          String(vlan),
          hostName,
          mac,
        ],
      ),
    ),
});

import { z } from "zod";
import { actionReference } from "../harness/input/reference.ts";
import { networkSettings, unread } from "../harness/input/reference-parts.ts";

export const reference = actionReference("get-bmc-network", {
  keywords: ["network", "address", "vlan"],
  readsOnly: true,
  mostRoundTrips: { redfish: 5, ipmi: 5 },
  output: {
    data: z.strictObject({
      interfaces: z.array(networkSettings).describe("The BMC's own interfaces"),
      unread: unread("Interfaces that the BMC lists and that could not be read"),
    }),
  },
  result: {
    message: "eth0: static 192.0.2.11/24, gateway 192.0.2.1, host name bmc-7 via redfish",
    changed: false,
    durationMs: 320,
    roundTrips: 5,
    data: {
      interfaces: [
        {
          id: "eth0",
          mac: "02:00:00:00:00:0b",
          mode: "static",
          address: "192.0.2.11",
          prefix: 24,
          gateway: "192.0.2.1",
          vlan: "off",
          hostName: "bmc-7",
        },
      ],
    },
  },
});

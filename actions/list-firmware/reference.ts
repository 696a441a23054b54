import { z } from "zod";
import { actionReference } from "../harness/input/reference.ts";
import { firmwareItem, unread } from "../harness/input/reference-parts.ts";

export const reference = actionReference("list-firmware", {
  keywords: ["firmware", "bios", "version", "audit"],
  readsOnly: true,
  mostRoundTrips: { redfish: 8 },
  output: {
    data: z.strictObject({
      firmware: z.array(firmwareItem).describe("What is installed"),
      unread: unread("What the BMC lists and could not be read"),
    }),
  },
  result: {
    message: "2 firmware entries, 2 updateable via redfish",
    changed: false,
    durationMs: 310,
    roundTrips: 4,
    data: {
      firmware: [
        {
          id: "BMC",
          name: "BMC firmware",
          version: "1.2.3",
          updateable: true,
          related: ["/redfish/v1/Managers/1"],
        },
        {
          id: "BIOS",
          name: "BIOS",
          version: "2.19.1",
          updateable: true,
          related: ["/redfish/v1/Systems/1"],
        },
      ],
    },
  },
});

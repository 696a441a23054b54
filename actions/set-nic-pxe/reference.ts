import { z } from "zod";
import { actionReference } from "../harness/input/reference.ts";

const switches = z
  .array(
    z.strictObject({
      name: z.string().describe("The BIOS's name of the interface"),
      enabled: z.boolean().describe("Whether its PXE is on from the next boot"),
    }),
  )
  .describe("The interfaces whose PXE the BIOS switches");

export const reference = actionReference("set-nic-pxe", {
  environment: { NIC: "NIC.Slot.5-1", PXE_ENABLED: "true" },
  keywords: ["pxe", "network", "nic", "bios"],
  mostRoundTrips: { redfish: 13 },
  output: { before: switches, after: switches },
  result: {
    message:
      "PXE of NIC.Slot.5-1 on, by BIOS attributes: PxeDev2EnDis=Enabled, PxeDev2Interface=NIC.Slot.5-1, in effect after the next boot via redfish",
    before: [
      { name: "NIC.Embedded.1-1-1", enabled: true },
      { name: "NIC.Embedded.2-1-1", enabled: false },
    ],
    after: [
      { name: "NIC.Embedded.1-1-1", enabled: true },
      { name: "NIC.Slot.5-1", enabled: true },
    ],
    changed: true,
    durationMs: 910,
    roundTrips: 11,
  },
});

import { z } from "zod";
import { actionReference } from "../harness/input/reference.ts";
import { unread } from "../harness/input/reference-parts.ts";

export const reference = actionReference("list-virtual-media", {
  keywords: ["virtual-media", "iso", "cdrom", "usb"],
  readsOnly: true,
  mostRoundTrips: { redfish: 6 },
  output: {
    data: z.strictObject({
      drives: z
        .array(
          z.strictObject({
            name: z.string().describe("The BMC's name of it, as `MEDIA_DRIVE` takes it"),
            types: z
              .array(z.string())
              .describe("What it takes: CD, DVD, Floppy, USBStick; empty if the BMC does not say"),
            inserted: z.boolean().describe("Whether an image is in it"),
            image: z.string().optional().describe("Its URL; absent if the BMC does not report it"),
            connectedVia: z
              .string()
              .optional()
              .describe("How the image is connected, as the BMC calls it, such as URI or Applet"),
            writeProtected: z
              .boolean()
              .optional()
              .describe("Whether the machine cannot write to the image; absent if there is none"),
          }),
        )
        .describe("The virtual drives, in the BMC's order"),
      unread: unread("Drives that could not be read"),
    }),
  },
  result: {
    message: "1 drive: CD1 (CD, DVD) empty via redfish",
    changed: false,
    durationMs: 412,
    roundTrips: 5,
    data: {
      drives: [{ name: "CD1", types: ["CD", "DVD"], inserted: false, connectedVia: "NotConnected" }],
    },
  },
});

import { z } from "zod";
import { actionReference } from "../harness/input/reference.ts";

const order = z
  .array(
    z.strictObject({
      id: z.string().describe("The BMC's name of it"),
      name: z.string().optional().describe("Its title; absent if the BMC does not report it"),
    }),
  )
  .describe("All boot options, in the order of the next boot, as read");

const disk = { id: "Boot0001", name: "Hard Drive" };
const network = { id: "Boot0002", name: "PXE NIC 1" };

export const reference = actionReference("set-boot-order", {
  environment: { BOOT_ORDER: "PXE NIC 1, Hard Drive" },
  keywords: ["boot", "uefi"],
  mostRoundTrips: { redfish: 10 },
  output: { before: order, after: order },
  result: {
    message: "boot order PXE NIC 1, Hard Drive via redfish",
    before: [disk, network],
    after: [network, disk],
    changed: true,
    durationMs: 530,
    roundTrips: 8,
  },
});

import { actionReference } from "../harness/input/reference.ts";

export const reference = actionReference("reset-bios", {
  keywords: ["bios", "uefi"],
  mostRoundTrips: { redfish: 5 },
  output: {},
  result: {
    message: "reset of the BIOS to its defaults accepted, in effect after the next boot via redfish",
    changed: true,
    durationMs: 310,
    roundTrips: 4,
  },
});

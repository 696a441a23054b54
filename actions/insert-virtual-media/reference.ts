import { actionReference } from "../harness/input/reference.ts";
import { mediaState } from "../harness/input/reference-parts.ts";

export const reference = actionReference("insert-virtual-media", {
  environment: { MEDIA_URL: "http://192.0.2.9/rescue.iso" },
  keywords: ["virtual-media", "iso", "cdrom", "usb", "nfs", "cifs"],
  mostRoundTrips: { redfish: 9 },
  output: { before: mediaState, after: mediaState },
  result: {
    message: "media http://192.0.2.9/rescue.iso inserted via redfish",
    before: { inserted: false },
    after: { inserted: true, image: "http://192.0.2.9/rescue.iso" },
    changed: true,
    durationMs: 1473,
    roundTrips: 9,
  },
});

import { actionReference } from "../harness/input/reference.ts";
import { mediaState } from "../harness/input/reference-parts.ts";

export const reference = actionReference("eject-virtual-media", {
  keywords: ["virtual-media", "iso", "cdrom", "usb"],
  mostRoundTrips: { redfish: 6 },
  output: { before: mediaState, after: mediaState },
  result: {
    message: "media ejected via redfish",
    before: { inserted: true, image: "http://192.0.2.9/rescue.iso" },
    after: { inserted: false },
    changed: true,
    durationMs: 1493,
    roundTrips: 9,
  },
});

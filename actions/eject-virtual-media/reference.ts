import type { ActionReference } from "../harness/input/reference.ts";
import { mediaState } from "../harness/input/reference-parts.ts";

export const reference: ActionReference = {
  environment: {},
  keywords: ["virtual-media", "iso", "cdrom"],
  output: { before: mediaState, after: mediaState },
  result: {
    action: "eject-virtual-media",
    machine: "node-01",
    ok: true,
    message: "media ejected via redfish",
    provider: "redfish",
    before: { inserted: true, image: "http://192.0.2.9/rescue.iso" },
    after: { inserted: false },
    changed: true,
    durationMs: 1493,
    roundTrips: 9,
  },
};

import { z } from "zod";
import { actionReference } from "../harness/input/reference.ts";

export const reference = actionReference("screenshot", {
  environment: { SCREENSHOT_FILE: "/data/node-01.png" },
  volumes: ["/var/lib/screenshots:/data"],
  keywords: ["screen", "console", "diagnostics"],
  mostRoundTrips: { redfish: 5 },
  output: {
    data: z.strictObject({
      file: z.string().optional().describe("The file, if one was written"),
      mediaType: z
        .enum(["image/png", "image/jpeg"])
        .describe("The image's media type, regardless of the file's extension"),
      size: z.int().min(1).describe("Of the image, in bytes"),
      sha256: z.string().describe("Of the image, in hex"),
      image: z.string().optional().describe("The image in base64, with `SCREENSHOT_INLINE`"),
    }),
  },
  result: {
    message: "screenshot (image/png) written to /data/node-01.png via redfish",
    changed: false,
    durationMs: 2350,
    roundTrips: 5,
    data: {
      file: "/data/node-01.png",
      mediaType: "image/png",
      size: 48213,
      sha256: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    },
  },
});

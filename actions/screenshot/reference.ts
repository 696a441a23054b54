import { z } from "zod";
import { actionReference } from "../harness/input/reference.ts";

export const reference = actionReference("screenshot", {
  environment: { SCREENSHOT_FILE: "/out/node-01.png" },
  volumes: ["/var/lib/screenshots:/out"],
  keywords: ["screen", "console", "diagnostics"],
  output: {
    data: z.strictObject({
      file: z.string().describe("The file"),
      mediaType: z
        .enum(["image/png", "image/jpeg"])
        .describe("The file's media type, regardless of its extension"),
      size: z.int().min(1).describe("In bytes"),
      sha256: z.string().describe("Of the file, in hex"),
    }),
  },
  result: {
    message: "screenshot (image/png) written to /out/node-01.png via redfish",
    changed: false,
    durationMs: 2350,
    roundTrips: 5,
    data: {
      file: "/out/node-01.png",
      mediaType: "image/png",
      size: 48213,
      sha256: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    },
  },
});

import { actionReference } from "../harness/input/reference.ts";
import { secureBootKeys } from "../harness/input/reference-parts.ts";

export const reference = actionReference("delete-secure-boot-key", {
  environment: { DATABASE: "dbx", KEY: "2", ALLOW_USER_MODE: "true" },
  keywords: ["secure-boot", "uefi", "certificate"],
  mostRoundTrips: { redfish: 16 },
  output: { before: secureBootKeys, after: secureBootKeys },
  result: {
    message: "signature bbbbbbbbbbbb… deleted from dbx, in effect after the next boot via redfish",
    before: [
      { database: "dbx", kind: "signature", id: "1", fingerprint: "a".repeat(64) },
      { database: "dbx", kind: "signature", id: "2", fingerprint: "b".repeat(64) },
    ],
    after: [{ database: "dbx", kind: "signature", id: "1", fingerprint: "a".repeat(64) }],
    changed: true,
    durationMs: 790,
    roundTrips: 16,
  },
});

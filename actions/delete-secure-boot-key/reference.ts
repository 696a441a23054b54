import { actionReference } from "../harness/input/reference.ts";
import { secureBootKeys } from "../harness/input/reference-parts.ts";

export const reference = actionReference("delete-secure-boot-key", {
  environment: { DATABASE: "db", KEY: "1", ALLOW_USER_MODE: "true" },
  keywords: ["secure-boot", "uefi", "certificate"],
  output: { before: secureBootKeys, after: secureBootKeys },
  result: {
    message:
      "certificate CN=Microsoft Corporation UEFI CA 2011 (1) deleted from db, in effect after the next boot via redfish",
    before: [
      {
        database: "db",
        kind: "certificate",
        id: "1",
        subject: "Microsoft Corporation UEFI CA 2011",
        notAfter: "2026-06-27T21:32:45.000Z",
      },
    ],
    after: [],
    changed: true,
    durationMs: 790,
    roundTrips: 16,
  },
});

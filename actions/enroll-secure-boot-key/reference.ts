import { actionReference } from "../harness/input/reference.ts";
import { secureBootKeys } from "../harness/input/reference-parts.ts";

const present = {
  database: "db",
  kind: "certificate",
  id: "1",
  subject: "Microsoft Corporation UEFI CA 2011",
  notAfter: "2026-06-27T21:32:45.000Z",
} as const;

export const reference = actionReference("enroll-secure-boot-key", {
  environment: { DATABASE: "db", CERTIFICATE_FILE: "/data/boot-ca.pem", ALLOW_USER_MODE: "true" },
  volumes: ["/etc/secure-boot:/data:ro"],
  keywords: ["secure-boot", "uefi", "certificate"],
  mostRoundTrips: { redfish: 15 },
  output: { before: secureBootKeys, after: secureBootKeys },
  result: {
    message:
      "certificate CN=Example Boot CA (3b1f0c5de6a9…) enrolled in db, in effect after the next boot via redfish",
    before: [present],
    after: [
      present,
      {
        database: "db",
        kind: "certificate",
        id: "2",
        fingerprint: "3b1f0c5de6a94c2f8d7be2a1904f6c38571de0ab93c24f6e8a7d5b1c02e4f968",
        subject: "Example Boot CA",
        issuer: "Example Boot CA",
        notAfter: "2036-11-23T00:00:00.000Z",
      },
    ],
    changed: true,
    durationMs: 840,
    roundTrips: 16,
  },
});

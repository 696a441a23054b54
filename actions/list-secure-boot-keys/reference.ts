import { z } from "zod";
import { actionReference } from "../harness/input/reference.ts";
import { secureBootKeys, unread } from "../harness/input/reference-parts.ts";

export const reference = actionReference("list-secure-boot-keys", {
  environment: { DATABASES: "kek,db" },
  keywords: ["secure-boot", "uefi", "certificate", "audit"],
  readsOnly: true,
  mostRoundTrips: { redfish: 12 },
  output: {
    data: z.strictObject({
      keys: secureBootKeys,
      unread: unread("What the BMC lists and could not be read"),
    }),
  },
  result: {
    message: "2 keys: 1 in KEK, 1 in db via redfish",
    changed: false,
    durationMs: 520,
    roundTrips: 10,
    data: {
      keys: [
        {
          database: "kek",
          kind: "certificate",
          id: "1",
          subject: "Microsoft Corporation KEK CA 2011",
          notAfter: "2026-06-24T20:51:29.000Z",
        },
        {
          database: "db",
          kind: "certificate",
          id: "1",
          subject: "Microsoft Corporation UEFI CA 2011",
          notAfter: "2026-06-27T21:32:45.000Z",
        },
      ],
    },
  },
});

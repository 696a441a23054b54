import { ok } from "../finding.ts";
import { operationReference } from "../reference.ts";

const KEY = { kind: "signature", fingerprint: "00".repeat(32) } as const;
const LISTED_KEY = { ...KEY, database: "dbx", id: "1" } as const;

export const reference = operationReference("securebootkeys", {
  check: {
    means: "The databases of UEFI Secure Boot were read",
    roundTrips: { redfish: 2 },
    example: { ...ok("PK, KEK, db, dbx"), durationMs: 87 },
  },
  calls: {
    databases: (securebootkeys, signal) => securebootkeys.databases(signal),
    rules: (securebootkeys, signal) => securebootkeys.rules(signal),
    list: (securebootkeys, signal) => securebootkeys.list("dbx", signal),
    planEnroll: (securebootkeys, signal) => securebootkeys.planEnroll("db", KEY, signal),
    enroll: (securebootkeys, signal) => securebootkeys.enroll("db", KEY, signal),
    planRemove: (securebootkeys, signal) => securebootkeys.planRemove(LISTED_KEY, signal),
    remove: (securebootkeys, signal) => securebootkeys.remove(LISTED_KEY, signal),
  },
});

import { ok } from "../../shared/bmc/operations/finding.ts";
import { type CheckReference, loadOperationReference } from "../../shared/bmc/operations/reference.ts";
import { CHECK_NAMES, type CheckName } from "./checks.ts";

/** The checks that are about the session. */
const OF_SESSION = {
  login: {
    means: "The BMC answers and accepts the credentials",
    roundTrips: { redfish: 2, ipmi: 3 },
    example: { ...ok("2 round trips"), durationMs: 241 },
  },
  certificate: {
    means: "With TLS only: it is valid for 30 days or more; else a warning",
    roundTrips: { redfish: 0 },
    example: { ...ok("expires in 364 days, on 2027-11-27"), durationMs: 0 },
  },
  clock: {
    means:
      "The BMC's clock is within `MAX_CLOCK_SKEW` of this host's, allowing for half the round trip; else a warning",
    roundTrips: { redfish: 1, ipmi: 1 },
    example: { ...ok("within 0.5 s of this host's"), durationMs: 44 },
  },
} as const satisfies Partial<Record<CheckName, CheckReference>>;

/** Every check with its reference, in the order in which they run. No program loads it. */
export async function loadCheckReferences(): Promise<
  readonly (CheckReference & { readonly name: CheckName })[]
> {
  return Promise.all(CHECK_NAMES.map(async (name) => ({ name, ...(await referenceOf(name)) })));
}

async function referenceOf(name: CheckName): Promise<CheckReference> {
  if (name === "login" || name === "certificate" || name === "clock") return OF_SESSION[name];
  return (await loadOperationReference(name)).check;
}

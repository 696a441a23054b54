import type { BmcClient } from "../../shared/bmc/client.ts";
import { type Finding, ok, unsupported, warning } from "../../shared/bmc/operations/finding.ts";
import type { SessionDescription } from "../../shared/bmc/operations/provider.ts";
import {
  type Capability,
  DRIVER_NAMES,
  type DriverName,
  isCapability,
} from "../../shared/bmc/operations/table.ts";
import type { Clock } from "../../shared/clock.ts";
import type { ProviderName } from "../../shared/contract/vocabulary.ts";
import { count } from "../../shared/count.ts";
import { clockSkew, describeSkew, describeSpan, exceeds } from "./clock-skew.ts";

interface CheckContext {
  readonly client: BmcClient;
  readonly session: SessionDescription;
  readonly clock: Clock;
  readonly maxClockSkew: ClockLimit;
  readonly signal: AbortSignal;
}

interface Check {
  /** The driver that the check needs; undefined if every provider has it. */
  readonly capability?: Capability | undefined;
  /** Asks the BMC without changing anything. Resolves to undefined if the check does not apply. */
  readonly run: (context: CheckContext) => Promise<Finding | undefined>;
}

/** The names of the checks: the login, facts known after it, and each set of operations. */
export type CheckName = "login" | "certificate" | "clock" | DriverName;

/** The checks in the order in which they run. The clock is read together with the BMC itself. */
export const CHECK_NAMES: readonly CheckName[] = [
  "login",
  "certificate",
  ...DRIVER_NAMES.flatMap((name): CheckName[] => (name === "manager" ? [name, "clock"] : [name])),
];

const DAY_MS = 86_400_000;
/** How long before its expiry a certificate is a warning: long enough to have a new one signed and installed. */
const CERTIFICATE_WARNING_DAYS = 30;

export function checkNamed(name: Exclude<CheckName, "login">): Check {
  switch (name) {
    case "certificate":
      return { run: checkCertificate };
    case "clock":
      return { capability: "manager", run: checkClock };
    default:
      return {
        capability: isCapability(name) ? name : undefined,
        run: ({ client, signal }) => client.check(name, signal),
      };
  }
}

async function checkCertificate({ session, clock }: CheckContext): Promise<Finding | undefined> {
  const { certificateExpiresMs } = session;
  if (certificateExpiresMs === undefined) return undefined;
  const remainingMs = certificateExpiresMs - clock.now();
  const date = new Date(certificateExpiresMs).toISOString().slice(0, 10);
  if (remainingMs <= 0) return warning("tls", `expired ${describeSpan(-remainingMs)} ago, on ${date}`);
  const detail = `expires in ${count(Math.floor(remainingMs / DAY_MS), "day")}, on ${date}`;
  return remainingMs < CERTIFICATE_WARNING_DAYS * DAY_MS ? warning("tls", detail) : ok(detail);
}

/** The largest accepted difference of the clocks, and the name of the input that sets it. */
export interface ClockLimit {
  readonly ms: number;
  readonly name: string;
}

async function checkClock({ client, clock, maxClockSkew, signal }: CheckContext): Promise<Finding> {
  const beforeMs = clock.now();
  const bmcMs = await client.getClock(signal);
  if (bmcMs === undefined) return unsupported("the BMC does not know the time");
  const skew = clockSkew({ bmcMs, beforeMs, afterMs: clock.now() });
  return exceeds(skew, maxClockSkew.ms)
    ? warning("verify", `${describeSkew(skew)}, ${maxClockSkew.name} is ${describeSpan(maxClockSkew.ms)}`)
    : ok(describeSkew(skew));
}

export interface CheckRow extends Finding {
  readonly provider: ProviderName;
  readonly check: CheckName;
  /** The cost of this check; both are undefined if the BMC was not asked. */
  readonly durationMs?: number;
  readonly roundTrips?: number;
}

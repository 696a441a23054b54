import type { BmcClient } from "../../shared/bmc/client.ts";
import { describeOverride } from "../../shared/bmc/operations/boot.ts";
import { describeNtp } from "../../shared/bmc/operations/ntp.ts";
import type { BmcUser, Capability, Hardware, OfferedCapability } from "../../shared/bmc/provider.ts";
import type { SessionDescription } from "../../shared/bmc/session-description.ts";
import type { Clock } from "../../shared/clock.ts";
import { describeInfo } from "../harness/result/describe-info.ts";
import { type CheckName, type Finding, notTried, ok, unsupported, warning } from "./check-row.ts";
import { clockSkew, describeSkew, describeSpan, exceeds } from "./clock-skew.ts";

/** What the looks need of one provider with an open session. */
export interface LookContext {
  readonly client: BmcClient;
  readonly session: SessionDescription;
  readonly clock: Clock;
  readonly maxClockSkewMs: number;
  readonly signal: AbortSignal;
}

export interface Look {
  /** The driver it needs; absent where every provider has it. */
  readonly capability?: Capability;
  /** Asks the BMC, and changes nothing. Undefined where the question makes no sense. */
  readonly look: (context: LookContext) => Promise<Finding | undefined>;
}

const DAY_MS = 86_400_000;
/** Time enough to have a certificate signed and installed. */
const CERTIFICATE_WARNING_DAYS = 30;

const NEEDS = "to change users needs administrator";

/** One a check after the login. */
export const LOOKS: Readonly<Record<Exclude<CheckName, "login">, Look>> = {
  certificate: { look: lookAtCertificate },
  power: { look: lookAtPower },
  boot: { look: lookAtBoot },
  manager: {
    capability: "manager",
    look: async ({ client, signal }) => ok(describeInfo(await client.readInfo(signal))),
  },
  clock: { capability: "manager", look: lookAtClock },
  ntp: {
    capability: "ntp",
    look: async ({ client, signal }) => ok(describeNtp(await client.readNtp(signal))),
  },
  media: { capability: "media", look: lookAtMedia },
  users: {
    capability: "users",
    look: async (context) => findUsers(context, await context.client.listUsers(context.signal)),
  },
  sel: {
    capability: "sel",
    look: async ({ client, signal }) => ok(count(await client.countSel(signal), "entry", "entries")),
  },
  inventory: {
    capability: "inventory",
    look: async ({ client, signal }) => ok(describeParts(await client.readHardware(signal))),
  },
  sol: offerOf("sol"),
  nmi: offerOf("nmi"),
  screenshot: offerOf("screenshot"),
};

async function lookAtCertificate({ session, clock }: LookContext): Promise<Finding | undefined> {
  const { certificateExpiresMs } = session;
  if (certificateExpiresMs === undefined) return undefined;
  const leftMs = certificateExpiresMs - clock.now();
  const date = new Date(certificateExpiresMs).toISOString().slice(0, 10);
  if (leftMs <= 0) return warning("tls", `expired ${describeSpan(-leftMs)} ago, on ${date}`);
  const detail = `expires in ${count(Math.floor(leftMs / DAY_MS), "day", "days")}, on ${date}`;
  return leftMs < CERTIFICATE_WARNING_DAYS * DAY_MS ? warning("tls", detail) : ok(detail);
}

async function lookAtPower({ client, signal }: LookContext): Promise<Finding> {
  const power = await client.readPower(signal);
  return power === "unknown" ? warning("state", "neither on nor off") : ok(power);
}

async function lookAtBoot({ client, session, signal }: LookContext): Promise<Finding> {
  const { boot: unverified } = session.unverified;
  if (unverified === "ignored") return unsupported("there is nothing to set");
  if (unverified === "accepted") return ok("can be set, cannot be read back");
  return ok(describeOverride(await client.readBoot(signal)));
}

async function lookAtMedia({ client, session, signal }: LookContext): Promise<Finding> {
  if (session.unverified.media) return ok("can be inserted, cannot be read back");
  // The image's URL may hold a password, and is not what is asked for here.
  const { inserted } = await client.readMedia(signal);
  return ok(inserted ? "a drive with an image in it" : "an empty drive");
}

async function lookAtClock({ client, clock, maxClockSkewMs, signal }: LookContext): Promise<Finding> {
  const beforeMs = clock.now();
  const bmcMs = await client.readClock(signal);
  if (bmcMs === undefined) return unsupported("the BMC does not know the time");
  const skew = clockSkew({ bmcMs, beforeMs, afterMs: clock.now() });
  return exceeds(skew, maxClockSkewMs)
    ? warning("verify", `${describeSkew(skew)}, MAX_CLOCK_SKEW is ${describeSpan(maxClockSkewMs)}`)
    : ok(describeSkew(skew));
}

function findUsers({ client, session }: LookContext, users: readonly BmcUser[]): Finding {
  const counted = count(users.length, "user", "users");
  const { privilege } = session;
  const own = users.find(({ name }) => name === client.username);
  if (own && ["operator", "readonly", "none"].includes(own.role)) {
    return warning("auth", `${counted}; ${own.name} is ${own.role}, ${NEEDS}`);
  }
  if (privilege !== undefined && privilege !== "administrator") {
    return warning("auth", `${counted}; the session is ${privilege}, ${NEEDS} (option privilege)`);
  }
  return ok(counted);
}

function offerOf(capability: OfferedCapability): Look {
  return {
    capability,
    look: async ({ client, signal }) =>
      (await client.readOffer(capability, signal)) === "offered"
        ? ok("offered")
        : notTried("unsupported", "the BMC does not report whether it supports this"),
  };
}

function describeParts({ system, processors, memory, disks, nics, firmware }: Hardware): string {
  const named = [system.vendor, system.model].filter((part) => part !== undefined).join(" ");
  const parts = [
    count(processors.length, "processor", "processors"),
    count(memory.length, "memory module", "memory modules"),
    count(disks.length, "disk", "disks"),
    count(nics.length, "NIC", "NICs"),
    count(firmware.length, "firmware version", "firmware versions"),
  ].filter((part) => !part.startsWith("0 "));
  return [named || "a machine without a name", ...parts].join(", ");
}

function count(number: number, one: string, many: string): string {
  return `${number} ${number === 1 ? one : many}`;
}

import { isIPv6 } from "node:net";
import * as z from "zod/mini";
import { Secret } from "../secret.ts";
import { BootModeChoice, ProviderName } from "./vocabulary.ts";

/** A host name, IPv4 or IPv6 address, with no scheme, port or path. Brackets around IPv6 are taken off. */
export const Host = z.pipe(
  z.string().check(
    z.trim(),
    z.check<string>((context) => {
      const problem = hostProblem(context.value);
      if (problem) context.issues.push({ code: "custom", message: problem, input: context.value });
    }),
  ),
  z.transform((host: string) => host.replace(/^\[(.*)\]$/, "$1")),
);

function hostProblem(host: string): string | undefined {
  if (host === "") return "is empty";
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(host)) return "must not have a scheme: give the name or address alone";
  const bare = host.replace(/^\[(.*)\]$/, "$1");
  if (isIPv6(bare)) return undefined;
  if (bare !== host) return "is not an IPv6 address, so it takes no brackets";
  if (/[/?#@\s]/.test(host)) return "must be a name or address alone";
  if (/:\d*$/.test(host)) return "must not carry a port: use the provider's port option";
  // RFC 1123 section 2.1, with the underscores that operators' DNS zones have.
  const labels = host.replace(/\.$/, "").split(".");
  const named =
    host.length <= 253 && labels.every((label) => /^[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?$/i.test(label));
  if (!named) return "is not a host name or address";
  return undefined;
}

const PORT_PROBLEM = { error: "is not a port, 1 to 65535" };
export const Port = z.int(PORT_PROBLEM).check(z.minimum(1, PORT_PROBLEM), z.maximum(65_535, PORT_PROBLEM));

/** Text that stays closed from the moment it is parsed. */
export const SecretText = z.pipe(
  z.string(),
  z.transform((text: string) => new Secret(text)),
);

const WAIT_PROBLEM = { error: "is not a duration above 0 and up to 10 minutes" };
const Milliseconds = z.int(WAIT_PROBLEM).check(z.positive(WAIT_PROBLEM), z.maximum(600_000, WAIT_PROBLEM));

const HEAD_START_PROBLEM = { error: "is not a duration up to 1 minute" };

export const TlsOptions = z.strictObject({
  /** False accepts any certificate. */
  verify: z._default(z.boolean(), true),
  /** PEM certificates to trust instead of the system's. */
  ca: z.optional(
    z.string().check(z.regex(/-----BEGIN CERTIFICATE-----/, { error: "holds no PEM certificate" })),
  ),
  /** SHA-256 of the BMC's certificate, hex with or without colons; it replaces chain verification. */
  fingerprint: z.optional(
    z.pipe(
      z.string().check(z.regex(/^([0-9a-f]{2}:?){31}[0-9a-f]{2}$/i, { error: "is not a SHA-256 in hex" })),
      z.transform((text: string) => text.replaceAll(":", "").toLowerCase()),
    ),
  ),
});
export type TlsOptions = z.infer<typeof TlsOptions>;

export const RedfishOptions = z.strictObject({
  port: z.optional(Port),
  /** `http` is for simulators and lab BMCs that serve no TLS. */
  scheme: z._default(z.enum(["https", "http"]), "https"),
  /** The system's path (`/redfish/v1/Systems/1`) or `Id`; needed where a BMC has several. */
  system: z.optional(z.string().check(z.minLength(1))),
  /** `basic` costs one round trip fewer; `session` logs in and out; `auto` is basic for one-shot runs. */
  auth: z._default(z.enum(["auto", "basic", "session"]), "auto"),
});
export type RedfishOptions = z.infer<typeof RedfishOptions>;

const IpmiPrivilege = z.enum(["user", "operator", "administrator"]);
const CipherSuite = z.union([z.literal(3), z.literal(17)]);

/** A controller behind the BMC, reached through it (IPMI 2.0 section 6.13, Send Message). */
export const IpmiBridge = z.strictObject({
  channel: z.int().check(z.minimum(0), z.maximum(15)),
  /** The target's slave address, such as 0x72. */
  address: z.int().check(z.minimum(0), z.maximum(255)),
});
export type IpmiBridge = z.infer<typeof IpmiBridge>;

export const IpmiOptions = z.strictObject({
  port: z._default(Port, 623),
  /** Tried alone when given; otherwise 17, then 3. */
  cipherSuite: z.optional(CipherSuite),
  privilege: z._default(IpmiPrivilege, "operator"),
  /** The BMC key Kg: text, or hex after `0x`. At most 20 bytes (IPMI 2.0 section 13.33). */
  kg: z.optional(SecretText),
  bridge: z.optional(IpmiBridge),
});
export type IpmiOptions = z.infer<typeof IpmiOptions>;

export const IpmitoolOptions = z.strictObject({
  port: z._default(Port, 623),
  cipherSuite: z.optional(CipherSuite),
  privilege: z._default(IpmiPrivilege, "operator"),
  kg: z.optional(SecretText),
  bridge: z.optional(IpmiBridge),
  /** The program, by name or path. */
  program: z._default(z.string().check(z.minLength(1)), "ipmitool"),
});
export type IpmitoolOptions = z.infer<typeof IpmitoolOptions>;

const distinct = z.check<string[]>((context) => {
  const repeated = context.value.filter((value, index) => context.value.indexOf(value) !== index);
  if (repeated.length > 0) {
    context.issues.push({
      code: "custom",
      message: `names ${repeated.join(", ")} twice`,
      input: context.value,
    });
  }
});

/** The shape of how to reach a BMC, without the machine's name and the secret part: what an inventory holds. */
export const connectionFields = {
  host: Host,
  /** Tried in this order, the later ones with a head start for the earlier. */
  providers: z._default(z.array(ProviderName).check(z.minLength(1), distinct), ["redfish", "ipmi"]),
  /** What `keep` means for this machine when a boot device is set. */
  bootMode: z._default(BootModeChoice, "keep"),
  tls: z.prefault(TlsOptions, {}),
  /** For one TCP or TLS connection attempt, or an IPMI handshake. */
  connectTimeoutMs: z._default(Milliseconds, 5_000),
  /** For one answer. BMCs need up to 25 s right after a power transition. */
  requestTimeoutMs: z._default(Milliseconds, 30_000),
  /** How long the preferred provider runs alone before the next one starts beside it. */
  headStartMs: z._default(
    z.int(HEAD_START_PROBLEM).check(z.minimum(0, HEAD_START_PROBLEM), z.maximum(60_000, HEAD_START_PROBLEM)),
    1_000,
  ),
  redfish: z.prefault(RedfishOptions, {}),
  ipmi: z.prefault(IpmiOptions, {}),
  ipmitool: z.prefault(IpmitoolOptions, {}),
};

/** What an action needs to reach one BMC. Durations in milliseconds. */
export const Connection = z.strictObject({
  /** The machine's name in the inventory; absent in a run by hand. */
  machine: z.optional(z.string().check(z.minLength(1))),
  ...connectionFields,
  username: z.optional(z.string()),
  password: z.optional(SecretText),
  /** What an earlier call learned about this BMC; never trusted further than one failed request. */
  hint: z.optional(z.unknown()),
});
export type Connection = z.infer<typeof Connection>;

/** The connection as JSON with its secrets open: for an action's stdin or mounted file, and nowhere else. */
export function serialiseConnection(connection: Connection): string {
  return JSON.stringify(connection, function (this: Record<string, unknown>, key, value) {
    // JSON.stringify has already called toJSON, so the secret itself is read from its holder.
    const original = this[key];
    return original instanceof Secret ? original.reveal() : value;
  });
}

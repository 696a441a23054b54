import * as z from "zod/mini";
import { excessOf } from "../input-limits.ts";
import { canonicalHost, isIpv6 } from "../ip-address.ts";
import { revealJson, Secret } from "../secret.ts";
import { IronicOptions, ironicCredentials } from "./ironic-options.ts";
import { Fingerprint, HttpUrl, PlainUrl, reporting, SshFingerprint } from "./value-types.ts";
import { BootModeChoice, ProviderName } from "./vocabulary.ts";

const unbracketed = (host: string) => {
  const bare = host.replace(/^\[(.*)\]$/, "$1");
  return isIpv6(bare) ? bare : host;
};

/** A host name, IPv4 or IPv6 address, without scheme, port or path. Brackets around IPv6 are removed. */
export const Host = z.pipe(
  z.string().check(
    z.trim(),
    reporting((host) => hostProblem(host)),
  ),
  z.transform(unbracketed),
);

/** A host or, for a service that reaches its machines itself, any text it knows the machine by: see `connectionRules`. */
const HostOrId = z.pipe(
  z
    .string()
    .check(
      z.trim(),
      z.minLength(1, { error: "is empty" }),
      z.maxLength(1_024, { error: "is longer than 1024 characters" }),
      z.regex(/^\P{Cc}*$/u, { error: "must be one line of text" }),
    ),
  z.transform(unbracketed),
);

function hostProblem(host: string): string | undefined {
  if (host === "") return "is empty";
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(host)) return "must not have a scheme: use only the name or address";
  const bare = host.replace(/^\[(.*)\]$/, "$1");
  if (isIpv6(bare)) return undefined;
  if (canonicalHost(bare) === undefined) return "is not a host name or address";
  if (bare !== host) return "is not an IPv6 address, so it takes no brackets";
  if (/[/?#@\s]/.test(host)) return "must be only a name or address";
  if (/:\d*$/.test(host)) return "must not contain a port: use the provider's port option";
  // RFC 1123 section 2.1, with the underscores that operators' DNS zones have.
  const labels = host.replace(/\.$/, "").split(".");
  const named =
    host.length <= 253 && labels.every((label) => /^[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?$/i.test(label));
  if (!named) return "is not a host name or address";
  return undefined;
}

const integer = (least: number, most: number, error: string) =>
  z.int({ error }).check(z.minimum(least, { error }), z.maximum(most, { error }));

const Port = integer(1, 65_535, "is not a port, 1 to 65535");

/** Text that becomes a `Secret` as soon as it is parsed. */
const SecretText = z.pipe(
  z.string(),
  z.transform((text: string) => new Secret(text)),
);

const Milliseconds = integer(1, 600_000, "is not a duration above 0 and up to 10 minutes");

const PEM_CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g;

/** Checked here, because TLS would skip certificates that it cannot read, and then trust none. */
function holdsCertificates(text: string): boolean {
  // Not imported: it takes 6 ms to load, and every action loads this module.
  const { X509Certificate } = process.getBuiltinModule("node:crypto");
  const blocks = text.match(PEM_CERTIFICATE) ?? [];
  try {
    return blocks.map((block) => new X509Certificate(block)).length > 0;
  } catch {
    return false;
  }
}

export const TlsOptions = z.strictObject({
  /** False accepts any certificate. */
  verify: z._default(z.boolean(), true),
  /** PEM certificates to trust instead of the system's. */
  ca: z.optional(z.string().check(z.refine(holdsCertificates, { error: "holds no valid PEM certificate" }))),
  /** SHA-256 of the BMC's certificate, hex with or without colons; it replaces chain verification. */
  fingerprint: z.optional(Fingerprint),
  /** True lets another provider serve after TLS with this one has failed: see docs/explanation/decisions/0002-provider-race.md. */
  fallback: z._default(z.boolean(), false),
});
export type TlsOptions = z.infer<typeof TlsOptions>;

const RedfishOptions = z.strictObject({
  /** 443, or 80 with the scheme `http`, when absent. */
  port: z.optional(Port),
  /** `http` is for simulators and lab BMCs that serve no TLS. */
  scheme: z._default(z.enum(["https", "http"]), "https"),
  /** The system's path (`/redfish/v1/Systems/1`), `Id` or `Name`; needed where a BMC has several. */
  system: z.optional(z.string().check(z.minLength(1))),
  /** `basic` costs one round trip fewer; `session` logs in and out; `auto` is basic for one-shot runs. */
  auth: z._default(z.enum(["auto", "basic", "session"]), "auto"),
  /** SHA-256 fingerprint of the SSH host key of the serial console, which is used only with it. */
  sshHostKey: z.optional(SshFingerprint),
});

const IpmiPrivilege = z.enum(["user", "operator", "administrator"]);
const CipherSuite = z.union([z.literal(3), z.literal(17)]);

/** A controller behind the BMC, reached through it (IPMI 2.0 section 6.13, Send Message). */
export const IpmiBridge = z.strictObject({
  /** The channel to the target, 0 to 15. */
  channel: z.int().check(z.minimum(0), z.maximum(15)),
  /** The target's slave address, such as 0x72. */
  address: z.int().check(z.minimum(0), z.maximum(255)),
});
export type IpmiBridge = z.infer<typeof IpmiBridge>;

export const IpmiOptions = z.strictObject({
  /** The UDP port. */
  port: z._default(Port, 623),
  /** The only suite to use; 17 when absent. */
  cipherSuite: z.optional(CipherSuite),
  /** Without `cipherSuite`: suite 3, which is weaker, may serve where the BMC does not offer 17. */
  allowSuite3: z._default(z.boolean(), false),
  /** The level that a session asks for; changing users needs `administrator`. */
  privilege: z._default(IpmiPrivilege, "operator"),
  /** The BMC key Kg: text, or hex after `0x`. At most 20 bytes (IPMI 2.0 section 13.33). */
  kg: z.optional(SecretText),
  /** A controller behind the BMC that the commands are for. */
  bridge: z.optional(IpmiBridge),
});
export type IpmiOptions = z.infer<typeof IpmiOptions>;

export const IpmitoolOptions = z.strictObject({
  ...IpmiOptions.shape,
  /** The program, by name or path. */
  program: z._default(z.string().check(z.minLength(1)), "ipmitool"),
});
export type IpmitoolOptions = z.infer<typeof IpmitoolOptions>;

/** Intel's ports for WS-Management. */
export const AMT_PORTS = { http: 16_992, https: 16_993 } as const;

const AmtOptions = z.strictObject({
  /** 16992, or 16993 with TLS, when absent. */
  port: z.optional(Port),
  /** Most AMT devices are set up without TLS; digest authentication keeps the password off the wire either way. */
  scheme: z._default(z.enum(["https", "http"]), "http"),
});

const MOST_HEADERS = 64;
const MOST_VALUES = 16;
const MOST_SECRETS = 16;
const fewer = (most: number) => z.maxLength(most, { error: `has more than ${most} entries` });

// RFC 9110 section 5.1 and 5.5: a field name is a token, a value has no control characters.
const HeaderName = z
  .string()
  .check(
    z.maxLength(256, { error: "is longer than 256 characters" }),
    z.regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/, { error: "is not a header name" }),
  );
const FixedHeaderName = HeaderName.check(
  z.regex(/^(?!(connection|content-length|expect|host|keep-alive|te|trailer|transfer-encoding|upgrade)$)/i, {
    error: "is a header that the connection sets itself",
  }),
);
const HeaderValue = z.pipe(
  z.string().check(z.regex(/^[\t\x20-\x7e\x80-\xff]*$/, { error: "is not a header value" })),
  z.transform((text: string) => new Secret(text)),
);

/** One secret, or several: each makes a separate signature, so that keys can be changed without interruption. */
const SecretTexts = z.pipe(
  z.union(
    [z.string().check(z.minLength(1)), z.array(z.string().check(z.minLength(1))).check(fewer(MOST_SECRETS))],
    {
      error: "must be a secret, or a list of secrets, none of them empty",
    },
  ),
  z.transform((given: string | string[]) => [given].flat().map((text) => new Secret(text))),
);

/** Secrets by algorithm, each of which may be spelled without its `sha`. */
const RpcSecrets = z.pipe(
  z.strictObject({
    /** For HMAC-SHA-256. */
    sha256: z.optional(SecretTexts),
    /** For HMAC-SHA-512. */
    sha512: z.optional(SecretTexts),
    /** Alias of `sha256`. */
    "256": z.optional(SecretTexts),
    /** Alias of `sha512`. */
    "512": z.optional(SecretTexts),
  }),
  z.transform((given) => ({
    sha256: [...(given.sha256 ?? []), ...(given["256"] ?? [])],
    sha512: [...(given.sha512 ?? []), ...(given["512"] ?? [])],
  })),
);

export const RpcSignature = z.strictObject({
  /** What requests are signed with; without secrets they are not signed. */
  secrets: z.prefault(RpcSecrets, {}),
  /** The signature's header; the default depends on `naming`. */
  header: z.optional(HeaderName),
  /** Whether `-256` or `-512` is added to the header's name. */
  algorithmInHeader: z._default(z.boolean(), true),
  /** Whether `sha256=` or `sha512=` goes before the signature. */
  algorithmInValue: z._default(z.boolean(), true),
  /** Headers whose values are signed after the body, in this order; the default depends on `naming`. */
  includedHeaders: z.optional(z.array(HeaderName).check(fewer(MOST_HEADERS))),
});
export type RpcSignature = z.infer<typeof RpcSignature>;

/** The webhook of bmclib's `rpc` provider and of Rufio's `providerOptions.rpc`. */
export const RpcOptions = z.strictObject({
  /** The webhook's URL. */
  url: HttpUrl,
  /** The project whose header names are the defaults. With `rufio`, the time stamp is signed too. */
  naming: z._default(z.enum(["bmclib", "rufio"]), "bmclib"),
  /** The HTTP method. */
  method: z._default(z.string().check(z.regex(/^[A-Z]{1,20}$/, { error: "is not an HTTP method" })), "POST"),
  /** The request's `Content-Type`. */
  contentType: z._default(z.string().check(z.regex(/^[\x21-\x7e][\x20-\x7e]*$/)), "application/json"),
  /** Headers of every request; several values are joined with commas. They are secrets, because they may hold tokens. */
  headers: z._default(
    z
      .record(FixedHeaderName, z.array(HeaderValue).check(fewer(MOST_VALUES)), {
        error: ({ code }) =>
          code === "invalid_key"
            ? "is not a header name, or is a header that the connection sets itself"
            : undefined,
      })
      .check(
        z.refine((headers) => Object.keys(headers).length <= MOST_HEADERS, {
          error: `has more than ${MOST_HEADERS} entries`,
        }),
      ),
    {},
  ),
  /** The header with the time of the request; the default depends on `naming`. */
  timestampHeader: z.optional(HeaderName),
  /** A layout of Go's time package: how 2006-01-02 15:04:05 would be written. */
  timestampFormat: z._default(
    z.string().check(z.minLength(1), z.maxLength(100)),
    "2006-01-02T15:04:05Z07:00",
  ),
  /** How requests are signed. */
  signature: z.prefault(RpcSignature, {}),
  /** Experimental: the request is put into this payload, at a path with dots such as `data.request`. */
  embed: z.optional(
    z.strictObject({
      /** The payload around the request. */
      payload: z
        .record(z.string(), z.unknown())
        .check(reporting((payload) => excessOf(payload, "webhookPayload"))),
      /** Where the request goes. */
      path: z
        .string()
        .check(
          z.maxLength(256, { error: "is longer than 256 characters" }),
          z.regex(/^[^.]+(\.[^.]+)*$/, { error: "is not a path such as data.request" }),
        ),
    }),
  ),
});
export type RpcOptions = z.infer<typeof RpcOptions>;

export const HomeAssistantOptions = z.strictObject({
  /** The URL of Home Assistant, without `/api`. */
  url: PlainUrl,
  /** The switch that is the machine's power. */
  entity: z
    .string()
    .check(z.regex(/^switch\.[a-z0-9_]+$/, { error: "is not a switch's ID, such as switch.node_1" })),
  /** How long to wait after a power command before the reported state is trusted. */
  powerOperationDelayMs: z._default(integer(0, 600_000, "is not a duration up to 10 minutes"), 0),
});
export type HomeAssistantOptions = z.infer<typeof HomeAssistantOptions>;

const distinct = reporting<string[]>((values) => {
  const repeated = values.filter((value, index) => values.indexOf(value) !== index);
  return repeated.length > 0 ? `names ${repeated.join(", ")} twice` : undefined;
});

/** The shape of how to reach a BMC, without the machine's name and the secret part: what an inventory holds. */
export const connectionFields = {
  /**
   * Name or address of the BMC, without scheme and port; the machine's ID for a webhook or Home Assistant. Required except with
   * `ironic`.
   */
  host: z.optional(HostOrId),
  /** Tried in this order, the later ones with a head start for the earlier. Redfish and IPMI when absent. */
  providers: z.optional(z.array(ProviderName).check(z.minLength(1), distinct)),
  /** What `keep` means for this machine when a boot device is set. */
  bootMode: z._default(BootModeChoice, "keep"),
  /** How the certificates of Redfish, AMT and services are verified. */
  tls: z.prefault(TlsOptions, {}),
  /** For one TCP or TLS connection attempt, or an IPMI handshake. */
  connectTimeoutMs: z._default(Milliseconds, 5_000),
  /** For one answer. BMCs need up to 25 s right after a power transition. */
  requestTimeoutMs: z._default(Milliseconds, 30_000),
  /** How long the preferred provider runs alone before the next one starts beside it. */
  headStartMs: z._default(integer(0, 60_000, "is not a duration up to 1 minute"), 1_000),
  /** Options of the provider `redfish`. */
  redfish: z.prefault(RedfishOptions, {}),
  /** Options of the provider `ipmi`. */
  ipmi: z.prefault(IpmiOptions, {}),
  /** Options of the provider `ipmitool`. */
  ipmitool: z.prefault(IpmitoolOptions, {}),
  /** Options of the provider `amt`, Intel AMT. */
  amt: z.prefault(AmtOptions, {}),
  /** A webhook that controls the machine. If set, no other provider is tried. */
  rpc: z.optional(RpcOptions),
  /** A switch of Home Assistant that is the machine's power. If set, no other provider is tried. */
  homeassistant: z.optional(HomeAssistantOptions),
  /** The machine as a node of Ironic. If set, no other provider is tried. */
  ironic: z.optional(IronicOptions),
};

/** The fields of a connection, checked or not, that its rules look at. */
interface Ways {
  readonly host?: unknown;
  readonly providers?: readonly ProviderName[] | undefined;
  readonly rpc?: unknown;
  readonly homeassistant?: unknown;
  readonly ironic?: unknown;
  /** The machine's name: `machine` of a connection, `name` of an inventory's entry. */
  readonly machine?: unknown;
  readonly name?: unknown;
}

const DEFAULT_PROVIDERS: readonly ProviderName[] = ["redfish", "ipmi"];
/** Providers that reach a machine through a service instead of its BMC; if one is configured, no other is tried. */
const SERVICES = ["rpc", "homeassistant", "ironic"] as const;

const serviceOf = (ways: Ways) => SERVICES.find((name) => ways[name] !== undefined);

/** The providers to try, in order: a configured service alone, or those named, or Redfish and IPMI. */
export function providersOf(ways: Ways): readonly ProviderName[] {
  const service = serviceOf(ways);
  return service ? [service] : (ways.providers ?? DEFAULT_PROVIDERS);
}

/** What a connection must have to log in: a webhook is not logged in to, Home Assistant takes a token as password. */
export function requiredCredentials(ways: Ways): readonly ("username" | "password")[] {
  const service = serviceOf(ways);
  if (service === "rpc") return [];
  if (service === "ironic") return ironicCredentials(ways.ironic);
  return service === "homeassistant" ? ["password"] : ["username", "password"];
}

/** The name of a machine's node in Ironic: the machine's own name, unless the options name another. */
export function nodeOf({ ironic, machine, name }: Ways): string | undefined {
  const given = [(ironic as { readonly node?: unknown } | undefined)?.node, machine, name];
  return given.find((text) => typeof text === "string");
}

/** Includes the host, which is optional for machines that Ironic reaches. */
export function withHost<Given extends Ways & { readonly host?: string | undefined }>(
  given: Given,
): Given & { readonly host: string } {
  return { ...given, host: given.host ?? nodeOf(given) ?? "" };
}

/** Rules between the fields of a connection, for every schema that is built on `connectionFields`. */
export const connectionRules = z.superRefine<Ways>(
  (ways, context) => {
    const refuse = (path: string[], message: string) =>
      context.addIssue({ code: "custom", path, message, input: ways });
    const service = serviceOf(ways);
    if (!service && typeof ways.host === "string" && ways.host !== "") {
      const problem = hostProblem(ways.host);
      if (problem) refuse(["host"], problem);
    }
    for (const name of SERVICES) {
      if (name !== service && ways[name] !== undefined) {
        refuse([name], `conflicts with ${service}: set only one of them`);
      }
    }
    if (ways.host === undefined && service !== "ironic") refuse(["host"], "is missing");
    if (ways.ironic !== undefined && nodeOf(ways) === undefined) refuse(["ironic", "node"], "is missing");
    const named = Array.isArray(ways.providers) ? ways.providers : [];
    if (service && named.some((name) => name !== service)) {
      refuse(
        ["providers"],
        `contains other providers than ${service}, which is configured: nothing else is tried then`,
      );
    }
    for (const name of SERVICES) {
      if (!service && named.includes(name)) refuse([name, "url"], "is missing");
    }
  },
  // Checked even if there are other problems, so that all are reported at once.
  { when: ({ value }) => typeof value === "object" && value !== null && !Array.isArray(value) },
);

/**
 * What it takes to reach one BMC. `Connection.parse(value)` checks the value, adds the defaults, and closes secrets: each is a
 * `Secret` afterwards. It throws a `ZodError` that lists all problems. The type is what `parse` returns.
 */
export const Connection = z.pipe(
  z
    .strictObject({
      /** The machine's name in the inventory; absent in a run by hand. */
      machine: z.optional(z.string().check(z.minLength(1))),
      ...connectionFields,
      /** The user to log in as. */
      username: z.optional(z.string()),
      /** Its password; the token of Home Assistant; what `ironic.auth` needs. */
      password: z.optional(SecretText),
      /** What an earlier call learned about this BMC; `hint` of the client that did. Never trusted further than one failed request. */
      hint: z.optional(z.unknown()),
    })
    .check(connectionRules),
  z.transform((given) => {
    const { host, ...connection } = withHost(given);
    // A service has IDs of its own, which may look like a number.
    const isOwn = serviceOf(given) === undefined;
    return {
      ...connection,
      host: isOwn ? (canonicalHost(host) ?? host) : host,
      providers: [...providersOf(given)],
    };
  }),
);
export type Connection = z.infer<typeof Connection>;

/** What a worker writes to an action's stdin. */
export interface ActionConnection extends Connection {
  /** Secret inputs of the action, by variable: its environment would show them. */
  readonly secretInputs?: Readonly<Record<string, Secret>>;
}

/** The connection as JSON with its secrets open: for an action's stdin or mounted file, and nowhere else. */
export function serialiseConnection(connection: Connection): string {
  return revealJson(connection);
}

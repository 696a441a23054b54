import * as z from "zod/mini";
import { ProviderName } from "../../../shared/contract/vocabulary.ts";
import { parseDurationMs } from "../../../shared/duration.ts";
import { type InputField, type InputType, readBoolean, readInteger } from "./input.ts";

/** A connection field as environment variable and flag, and where its value belongs in a `Connection`. */
export interface ConnectionField extends InputField<string> {
  readonly path: readonly [string, ...string[]];
  /** Turns the text into what the schema of `Connection` takes; what it cannot turn it leaves for the schema. */
  readonly read: (text: string) => unknown;
}

const asText = (text: string): unknown => text;
const asBoolean = (text: string): unknown => readBoolean(text) ?? text;
const asInteger = (text: string): unknown => readInteger(text) ?? text;
const asDuration = (text: string): unknown => parseDurationMs(text) ?? text;
const asList = (text: string): unknown =>
  text
    .split(",")
    .map((item) => item.trim().toLowerCase())
    .filter((item) => item !== "");

type Options = Partial<Pick<ConnectionField, "default" | "choices" | "required" | "secret" | "fromFile">>;

function field(
  env: string,
  path: readonly [string, ...string[]],
  type: InputType,
  read: (text: string) => unknown,
  description: string,
  options: Options = {},
): ConnectionField {
  return { env, path, type, read, description, schema: z.string(), ...options };
}

const PRIVILEGES = ["user", "operator", "administrator"];
const CIPHER_SUITES = ["17", "3"];

/** The file with the whole connection as JSON, which takes the place of all fields below. `-` is stdin. */
export const connectionFile: InputField<string> = {
  env: "BMC_CONNECTION_FILE",
  type: "file",
  description: "A file with the whole connection as JSON, or - for stdin; replaces the variables below",
  schema: z.string(),
};

export const machineField = field(
  "MACHINE",
  ["machine"],
  "text",
  asText,
  "The machine's name, for logs and the result",
);

/** The connection, one variable a field. */
export const connectionFieldTable: readonly ConnectionField[] = [
  field("BMC_HOST", ["host"], "text", asText, "The BMC's host name or address, without scheme or port", {
    required: true,
  }),
  field(
    "BMC_USERNAME",
    ["username"],
    "text",
    asText,
    "The user name; required, directly or as a file, except with RPC_URL or HOMEASSISTANT_URL",
  ),
  field("BMC_USERNAME_FILE", ["username"], "file", asText, "A file that contains the user name", {
    fromFile: "text",
  }),
  field(
    "BMC_PASSWORD",
    ["password"],
    "text",
    asText,
    "The password, or Home Assistant's token; required except with RPC_URL; the file form keeps it out of the environment",
    {
      secret: true,
    },
  ),
  field("BMC_PASSWORD_FILE", ["password"], "file", asText, "A file that contains the password", {
    fromFile: "secret",
  }),
  field("BMC_PROVIDERS", ["providers"], "list", asList, "The providers to use, in order of preference", {
    default: "redfish,ipmi",
    choices: ProviderName.options,
  }),
  field(
    "BMC_BOOT_MODE",
    ["bootMode"],
    "choice",
    asText,
    "The boot mode to use when an action's mode is keep",
    {
      default: "keep",
      choices: ["uefi", "legacy", "keep"],
    },
  ),
  field(
    "BMC_TLS_VERIFY",
    ["tls", "verify"],
    "boolean",
    asBoolean,
    "Whether the BMC's certificate must be valid",
    {
      default: "true",
    },
  ),
  field(
    "BMC_TLS_CA_FILE",
    ["tls", "ca"],
    "file",
    asText,
    "PEM certificates to trust instead of the system's",
    {
      fromFile: "text",
    },
  ),
  field(
    "BMC_TLS_FINGERPRINT",
    ["tls", "fingerprint"],
    "text",
    asText,
    "SHA-256 fingerprint of the only certificate to trust",
  ),
  field(
    "BMC_TLS_FALLBACK",
    ["tls", "fallback"],
    "boolean",
    asBoolean,
    "Whether to try another provider after a TLS failure, which an attacker can cause",
    { default: "false" },
  ),
  field(
    "BMC_CONNECT_TIMEOUT",
    ["connectTimeoutMs"],
    "duration",
    asDuration,
    "Timeout of one connection attempt",
    {
      default: "5s",
    },
  ),
  field("BMC_REQUEST_TIMEOUT", ["requestTimeoutMs"], "duration", asDuration, "Timeout of one request", {
    default: "30s",
  }),
  field(
    "BMC_HEAD_START",
    ["headStartMs"],
    "duration",
    asDuration,
    "How long to try a preferred provider alone before the next one starts in parallel",
    { default: "1s" },
  ),
  field(
    "REDFISH_PORT",
    ["redfish", "port"],
    "integer",
    asInteger,
    "The Redfish port; the default is 443, or 80 without TLS",
  ),
  field(
    "REDFISH_SCHEME",
    ["redfish", "scheme"],
    "choice",
    asText,
    "https, or http for lab BMCs without TLS",
    {
      default: "https",
      choices: ["https", "http"],
    },
  ),
  field(
    "REDFISH_SYSTEM",
    ["redfish", "system"],
    "text",
    asText,
    "The system to use, by path, Id or Name, if the BMC has several",
  ),
  field(
    "REDFISH_AUTH",
    ["redfish", "auth"],
    "choice",
    asText,
    "The authentication method; auto means basic authentication",
    {
      default: "auto",
      choices: ["auto", "basic", "session"],
    },
  ),
  field("IPMI_PORT", ["ipmi", "port"], "integer", asInteger, "The IPMI port", { default: "623" }),
  field(
    "IPMI_CIPHER_SUITE",
    ["ipmi", "cipherSuite"],
    "choice",
    asInteger,
    "The cipher suite to use; only 17, unless IPMI_ALLOW_SUITE_3 is true",
    {
      choices: CIPHER_SUITES,
    },
  ),
  field(
    "IPMI_ALLOW_SUITE_3",
    ["ipmi", "allowSuite3"],
    "boolean",
    asBoolean,
    "Whether to allow cipher suite 3, which is weaker, if the BMC does not support 17",
    { default: "false" },
  ),
  field("IPMI_PRIVILEGE", ["ipmi", "privilege"], "choice", asText, "The privilege level to request", {
    default: "operator",
    choices: PRIVILEGES,
  }),
  field("IPMI_KG", ["ipmi", "kg"], "text", asText, "The BMC key Kg: text, or hex after 0x", { secret: true }),
  field("IPMI_KG_FILE", ["ipmi", "kg"], "file", asText, "A file that contains Kg", { fromFile: "secret" }),
  field("IPMITOOL_PORT", ["ipmitool", "port"], "integer", asInteger, "The IPMI port for ipmitool", {
    default: "623",
  }),
  field(
    "IPMITOOL_CIPHER_SUITE",
    ["ipmitool", "cipherSuite"],
    "choice",
    asInteger,
    "The cipher suite for ipmitool; only 17, unless IPMITOOL_ALLOW_SUITE_3 is true",
    {
      choices: CIPHER_SUITES,
    },
  ),
  field(
    "IPMITOOL_ALLOW_SUITE_3",
    ["ipmitool", "allowSuite3"],
    "boolean",
    asBoolean,
    "Whether ipmitool may use cipher suite 3, which is weaker, if the BMC does not support 17",
    { default: "false" },
  ),
  field(
    "IPMITOOL_PRIVILEGE",
    ["ipmitool", "privilege"],
    "choice",
    asText,
    "The privilege level for ipmitool",
    {
      default: "operator",
      choices: PRIVILEGES,
    },
  ),
  field("IPMITOOL_KG_FILE", ["ipmitool", "kg"], "file", asText, "A file that contains Kg, for ipmitool", {
    fromFile: "secret",
  }),
  field(
    "IPMITOOL_PROGRAM",
    ["ipmitool", "program"],
    "text",
    asText,
    "The ipmitool program, by name or path",
    {
      default: "ipmitool",
    },
  ),
  field("AMT_PORT", ["amt", "port"], "integer", asInteger, "The Intel AMT port; 16992 or, with TLS, 16993"),
  field("AMT_SCHEME", ["amt", "scheme"], "choice", asText, "http, or https for devices set up with TLS", {
    default: "http",
    choices: ["http", "https"],
  }),
  field(
    "RPC_URL",
    ["rpc", "url"],
    "text",
    asText,
    "The webhook that controls the machine; it identifies the machine by BMC_HOST, which may then be any text; no other provider is tried",
  ),
  field("RPC_NAMING", ["rpc", "naming"], "choice", asText, "The naming scheme of the webhook's headers", {
    default: "bmclib",
    choices: ["bmclib", "rufio"],
  }),
  field(
    "RPC_SECRET",
    ["rpc", "signature", "secrets", "sha256"],
    "text",
    asText,
    "The secret for signing webhook requests (SHA-256)",
    { secret: true },
  ),
  field(
    "RPC_SECRET_FILE",
    ["rpc", "signature", "secrets", "sha256"],
    "file",
    asText,
    "A file that contains the webhook's secret",
    { fromFile: "secret" },
  ),
  field(
    "HOMEASSISTANT_URL",
    ["homeassistant", "url"],
    "text",
    asText,
    "The URL of the Home Assistant that switches the machine's power; no other provider is tried",
  ),
  field(
    "HOMEASSISTANT_ENTITY",
    ["homeassistant", "entity"],
    "text",
    asText,
    "The switch that controls the machine's power, such as switch.node_1",
  ),
  field(
    "HOMEASSISTANT_POWER_OPERATION_DELAY",
    ["homeassistant", "powerOperationDelayMs"],
    "duration",
    asDuration,
    "Time to wait after each power command",
    { default: "0s" },
  ),
];

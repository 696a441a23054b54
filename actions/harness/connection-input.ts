import * as z from "zod/mini";
import { ProviderName } from "../../shared/contract/vocabulary.ts";
import { parseDurationMs } from "../../shared/duration.ts";
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
  description: "The whole connection as JSON in a file, or - for stdin, in place of the variables below",
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
  field("BMC_HOST", ["host"], "text", asText, "The BMC's name or address, without scheme or port", {
    required: true,
  }),
  field(
    "BMC_USERNAME",
    ["username"],
    "text",
    asText,
    "The user; this or the file form is needed, except with RPC_URL or HOMEASSISTANT_URL",
  ),
  field("BMC_USERNAME_FILE", ["username"], "file", asText, "A file that holds the user", {
    fromFile: "text",
  }),
  field(
    "BMC_PASSWORD",
    ["password"],
    "text",
    asText,
    "The password, or Home Assistant's token; this or the file form, which keeps it out of the environment, is needed, except with RPC_URL",
    {
      secret: true,
    },
  ),
  field("BMC_PASSWORD_FILE", ["password"], "file", asText, "A file that holds the password", {
    fromFile: "secret",
  }),
  field(
    "BMC_PROVIDERS",
    ["providers"],
    "list",
    asList,
    "The ways to talk to the BMC, in order of preference",
    {
      default: "redfish,ipmi",
      choices: ProviderName.options,
    },
  ),
  field("BMC_BOOT_MODE", ["bootMode"], "choice", asText, "The boot mode where an action says keep", {
    default: "keep",
    choices: ["uefi", "legacy", "keep"],
  }),
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
    "SHA-256 of the BMC's certificate, which then alone is trusted",
  ),
  field(
    "BMC_TLS_FALLBACK",
    ["tls", "fallback"],
    "boolean",
    asBoolean,
    "Whether another provider may be used after TLS with one failed, which an attacker can cause",
    { default: "false" },
  ),
  field(
    "BMC_CONNECT_TIMEOUT",
    ["connectTimeoutMs"],
    "duration",
    asDuration,
    "Time for one attempt to connect",
    {
      default: "5s",
    },
  ),
  field("BMC_REQUEST_TIMEOUT", ["requestTimeoutMs"], "duration", asDuration, "Time for one answer", {
    default: "30s",
  }),
  field(
    "BMC_HEAD_START",
    ["headStartMs"],
    "duration",
    asDuration,
    "How long a preferred provider is tried alone before the next one starts beside it",
    { default: "1s" },
  ),
  field(
    "REDFISH_PORT",
    ["redfish", "port"],
    "integer",
    asInteger,
    "The Redfish port; 443 or, without TLS, 80",
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
    "Which system, by path, Id or Name, where there are several",
  ),
  field(
    "REDFISH_AUTH",
    ["redfish", "auth"],
    "choice",
    asText,
    "How to log in; auto is basic authentication",
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
    "The only cipher suite to use; 17 unless IPMI_ALLOW_SUITE_3 is true",
    {
      choices: CIPHER_SUITES,
    },
  ),
  field(
    "IPMI_ALLOW_SUITE_3",
    ["ipmi", "allowSuite3"],
    "boolean",
    asBoolean,
    "Whether cipher suite 3, which is weaker, may be used where the BMC does not offer 17",
    { default: "false" },
  ),
  field("IPMI_PRIVILEGE", ["ipmi", "privilege"], "choice", asText, "The privilege level to ask for", {
    default: "operator",
    choices: PRIVILEGES,
  }),
  field("IPMI_KG", ["ipmi", "kg"], "text", asText, "The BMC key Kg: text, or hex after 0x", { secret: true }),
  field("IPMI_KG_FILE", ["ipmi", "kg"], "file", asText, "A file that holds Kg", { fromFile: "secret" }),
  field("IPMITOOL_PORT", ["ipmitool", "port"], "integer", asInteger, "The IPMI port for ipmitool", {
    default: "623",
  }),
  field(
    "IPMITOOL_CIPHER_SUITE",
    ["ipmitool", "cipherSuite"],
    "choice",
    asInteger,
    "The only cipher suite for ipmitool; 17 unless IPMITOOL_ALLOW_SUITE_3 is true",
    {
      choices: CIPHER_SUITES,
    },
  ),
  field(
    "IPMITOOL_ALLOW_SUITE_3",
    ["ipmitool", "allowSuite3"],
    "boolean",
    asBoolean,
    "Whether ipmitool may use cipher suite 3, which is weaker, where the BMC does not offer 17",
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
  field("IPMITOOL_KG_FILE", ["ipmitool", "kg"], "file", asText, "A file that holds Kg, for ipmitool", {
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
    "The webhook that controls the machine, which knows it by BMC_HOST, any text then; nothing else is tried",
  ),
  field("RPC_NAMING", ["rpc", "naming"], "choice", asText, "Whose names the webhook's headers have", {
    default: "bmclib",
    choices: ["bmclib", "rufio"],
  }),
  field(
    "RPC_SECRET",
    ["rpc", "signature", "secrets", "sha256"],
    "text",
    asText,
    "The secret that requests to the webhook are signed with (SHA-256)",
    { secret: true },
  ),
  field(
    "RPC_SECRET_FILE",
    ["rpc", "signature", "secrets", "sha256"],
    "file",
    asText,
    "A file that holds the webhook's secret",
    { fromFile: "secret" },
  ),
  field(
    "HOMEASSISTANT_URL",
    ["homeassistant", "url"],
    "text",
    asText,
    "The Home Assistant that switches the machine's power; nothing else is tried",
  ),
  field(
    "HOMEASSISTANT_ENTITY",
    ["homeassistant", "entity"],
    "text",
    asText,
    "The switch that is the machine's power, such as switch.node_1",
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

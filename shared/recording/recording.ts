import { gunzipSync, gzipSync } from "node:zlib";
import { z } from "zod";
import { INPUT_BYTES } from "../input-limits.ts";
import { isTooDeep } from "../json-depth.ts";

const RECORDING_FORMAT = "pbnj-worker-recording";
/** The version of the format. A later version may have more fields; readers ignore unknown fields. */
const RECORDING_VERSION = 1;

export const MOST_BYTES = INPUT_BYTES.recording;
const MOST_RESOURCES = 50_000;
const MOST_EXCHANGES = 20_000;
/** The depth of the lists of an AMT class: `amt.classes.<name>`. */
const LIST_LEVELS = 4;
/** A limit that is higher than the number of instances in a message. */
const MOST_INSTANCES = 10_000;

/** The path of a resource or, with a query, of a page of a collection. */
const Path = z.string().regex(/^\/[^#\s]*$/, "is not a path");
const Headers = z.record(z.string(), z.string());
const Milliseconds = z.number().min(0);
const Hex = z.string().regex(/^([0-9a-f]{2})*$/i, "is not hexadecimal");

const Refusal = z.object({
  status: z.int().min(200).max(599),
  headers: Headers.optional(),
  body: z.unknown().optional(),
});

const XmlName = z.string().regex(/^[A-Za-z_][\w.-]*$/, "is not a name");
const AmtValue = z
  .union([
    z.string(),
    z.array(z.string()),
    z.object({ of: XmlName, keys: z.record(z.string().regex(/^[\w.-]+$/), z.string()) }),
    z.null(),
  ])
  .describe("A text, a repeated one, a reference to an instance of a class, or what was removed");

const AmtInstance = z.record(XmlName, AmtValue);

/** The request to WS-Management. */
export const WSMAN_REQUEST = "POST /wsman";

/** A request to Intel AMT. */
export const WsmanRequest = z.object({
  action: XmlName.describe("`Get`, `Put`, `Enumerate`, `Pull`, `Release`, or a method of the class"),
  class: XmlName,
  input: AmtInstance.optional().describe("What a method is given, or a Put writes"),
});
export type WsmanRequest = z.infer<typeof WsmanRequest>;

/** An answer of Intel AMT. */
export const WsmanAnswer = z.object({
  output: AmtInstance.optional().describe("The instance, or what the method returns"),
  instances: z.array(AmtInstance).max(MOST_INSTANCES).optional().describe("What a Pull brings"),
  more: z.boolean().optional().describe("Whether a Pull may follow"),
  fault: z.object({ subcode: z.string(), reason: z.string() }).optional(),
});
export type WsmanAnswer = z.infer<typeof WsmanAnswer>;

const HttpExchange = z.object({
  request: z
    .string()
    .regex(/^[A-Z]+ \/\S*$/, "is not a method and a path")
    .describe("Method and path, with its query"),
  sent: z
    .object({ headers: Headers.optional(), body: z.unknown().optional() })
    .optional()
    .describe("What was sent. A replay ignores the headers; without a body it matches any"),
  atMs: Milliseconds.describe("When it was sent, since the first exchange"),
  ms: Milliseconds.default(0).describe("Time to the end of the answer"),
  connection: z.int().optional().describe("The connection that it used, from 1"),
  status: z.int().min(200).max(599).optional().describe("Absent if there was no answer"),
  headers: Headers.optional(),
  body: z
    .unknown()
    .optional()
    .describe("JSON, for WS-Management what it says; a text is sent as it is, an absent body is empty"),
  error: z.string().optional().describe("Why there was no answer; a replay closes the connection"),
});

function checkWsman({ request, sent, body }: z.infer<typeof HttpExchange>, context: z.RefinementCtx): void {
  if (request !== WSMAN_REQUEST) return;
  const says = [
    [["sent", "body"], WsmanRequest, sent?.body],
    [["body"], WsmanAnswer, body],
  ] as const;
  for (const [path, schema, value] of says) {
    if (typeof value !== "object") continue;
    for (const { message, path: inside } of schema.safeParse(value).error?.issues ?? [])
      context.addIssue({ code: "custom", message, path: [...path, ...inside] });
  }
}

const IpmiExchange = z.object({
  command: z
    .string()
    .describe("Its name in the specification; of a handshake `Open Session`, `RAKP1` or `RAKP3`"),
  netFn: z.int().min(0).max(63).optional().describe("Absent in a handshake"),
  code: z.int().min(0).max(255).describe("The command's number; in a handshake the type of the payload"),
  data: Hex.optional().describe(
    "What a replay compares; without reservations and addresses, absent if it is secret",
  ),
  atMs: Milliseconds,
  ms: Milliseconds.default(0),
  completionCode: z
    .int()
    .min(0)
    .max(255)
    .optional()
    .describe("Absent if there was no answer; in a handshake the status"),
  answer: Hex.optional().describe("Absent if it is secret: the machine answers"),
  error: z.string().optional().describe("Why there was no answer; a replay does not answer either"),
});

const Checks = z.array(z.object({ provider: z.string(), check: z.string(), state: z.string() })).max(1_000);

const Ipmi = z.object({
  deviceId: Hex.optional().describe("The answer to Get Device ID"),
  cipherSuites: Hex.optional().describe("The cipher suite records that it offers outside of sessions"),
  sdr: z.array(Hex).max(10_000).optional().describe("Sensor data records, with their headers"),
  readings: z.record(z.string(), Hex).optional().describe("Answers to Get Sensor Reading, by sensor number"),
  thresholds: z
    .record(z.string(), Hex)
    .optional()
    .describe("Answers to Get Sensor Thresholds, by sensor number"),
  sel: z.array(Hex).max(20_000).optional().describe("Records of the event log, 16 bytes each"),
  fru: z
    .object({
      vendor: z.string().optional(),
      model: z.string().optional(),
      serial: z.string().optional(),
      boardSerial: z.string().optional(),
      chassisSerial: z.string().optional(),
    })
    .optional()
    .describe("What FRU 0 says of the machine"),
  users: z
    .array(z.object({ name: z.string(), role: z.string(), enabled: z.boolean() }))
    .max(63)
    .optional(),
  network: z
    .object({
      mac: z.string().optional(),
      address: z.string().optional(),
      gateway: z.string().optional(),
      hostName: z.string().optional(),
      mode: z.enum(["static", "dhcp", "other"]).optional(),
      prefix: z.int().min(0).max(32).optional(),
      vlan: z.int().min(0).max(4094).optional(),
    })
    .optional()
    .describe("What the BMC shows of its LAN: an absent field is one that it does not have"),
  chassis: Hex.optional().describe("The answer to Get Chassis Status"),
  restart: Hex.optional().describe("The answer to Get System Restart Cause"),
  boot: z
    .object({ device: z.string(), persistent: z.boolean().optional(), mode: z.string().optional() })
    .optional()
    .describe("The boot flags"),
  refused: z.record(z.string(), z.int()).optional().describe("Completion codes, by name of the command"),
});

/** An IPMI BMC's answers to commands that read. */
export type RecordedIpmi = z.infer<typeof Ipmi>;

const Amt = z.object({
  server: z
    .string()
    .regex(/^[ -~]*$/, "is not a header")
    .optional()
    .describe("The server name that the device sends in its answers"),
  classes: z
    .record(XmlName, z.array(AmtInstance).max(MOST_INSTANCES))
    .default({})
    .describe("Instances, by class; of associations only those of the boot"),
  refused: z
    .record(
      z.string(),
      z.object({
        status: z.int().min(300).max(599),
        subcode: z.string().optional(),
        reason: z.string().optional(),
      }),
    )
    .optional()
    .describe("Faults, by what was asked, such as `Get IPS_OptInService`"),
});

/** An Intel AMT device's answers over WS-Management. */
export type RecordedAmt = z.infer<typeof Amt>;

/** A recorded BMC. Every field except `resources` is optional, so that small cases can be written by hand. */
export const Recording = z.object({
  format: z.literal(RECORDING_FORMAT).optional(),
  version: z.literal(RECORDING_VERSION).optional(),
  name: z.string().optional(),
  recordedBy: z.string().optional().describe("Program and version"),
  recordedOn: z.string().optional().describe("The day"),
  vendor: z.string().nullish(),
  model: z.string().nullish(),
  bmcFirmware: z.string().nullish(),
  login: z.string().optional().describe("The user that recorded it, by its replacement"),
  tls: z
    .object({
      protocol: z.string().optional(),
      cipher: z.string().optional(),
      keyType: z.string().optional(),
      keyBits: z.number().optional(),
      signature: z.string().optional(),
      selfSigned: z.boolean().optional(),
      notBefore: z.string().optional(),
      notAfter: z.string().optional(),
    })
    .optional()
    .describe("Facts of the certificate and the connection, nothing that identifies it"),
  etag: z
    .enum(["strong", "weak", "doubled", "gzip", "property"])
    .optional()
    .describe("How entity tags are written"),
  clockSkewMs: z.number().optional().describe("How far the BMC's clock was ahead"),
  latencyMs: Milliseconds.optional().describe("The median time of an answer"),
  slow: z.record(Path, Milliseconds).optional().describe("Resources that took much longer"),
  resources: z.record(Path, z.unknown()).default({}).describe("The Redfish tree, by path"),
  refusals: z.record(Path, Refusal).optional().describe("What the BMC refused to show"),
  unread: z
    .array(z.object({ path: z.string(), reason: z.string() }))
    .optional()
    .describe("What the recording lacks, and why"),
  ipmi: Ipmi.optional(),
  amt: Amt.optional(),
  action: z
    .object({
      name: z.string(),
      ok: z.boolean(),
      class: z.string().optional(),
      message: z.string(),
      provider: z.string().optional().describe("What carried it out"),
      checks: Checks.optional(),
    })
    .optional()
    .describe("The action that was recorded, and how it ended"),
  exchanges: z.array(HttpExchange.superRefine(checkWsman)).max(MOST_EXCHANGES).optional(),
  commands: z.array(IpmiExchange).max(MOST_EXCHANGES).optional(),
  replaced: z.record(z.string(), z.int()).optional().describe("How many values of a kind were replaced"),
  kept: z
    .record(z.string(), z.int())
    .optional()
    .describe("Texts that the reporter wanted to keep, and how often they are there"),
});
export type Recording = z.infer<typeof Recording>;
export type EtagForm = NonNullable<Recording["etag"]>;
export type RecordedExchange = z.infer<typeof HttpExchange>;
export type RecordedCommand = z.infer<typeof IpmiExchange>;

/** Reads a recording, compressed or not. Throws an error of one line that says what is wrong with it. */
export function parseRecording(bytes: Uint8Array): Recording {
  const value = parseJson(unzipped(bytes));
  if (hasLongList(value))
    throw new Error(`it is not a recording: a list has more than ${MOST_RESOURCES} entries`);
  const parsed = Recording.safeParse(value);
  if (parsed.success) {
    if (Object.keys(parsed.data.resources).length <= MOST_RESOURCES) return parsed.data;
    throw new Error(`it has more than ${MOST_RESOURCES} resources`);
  }
  const issue = parsed.error.issues[0];
  throw new Error(`it is not a recording: ${[...(issue?.path ?? []), issue?.message].join(": ")}`);
}

/**
 * Whether a list of the recording is longer than allowed. Checked first, because each wrong entry would be a separate
 * problem.
 */
function hasLongList(value: unknown, levels = LIST_LEVELS): boolean {
  if (typeof value !== "object" || value === null || levels === 0) return false;
  const entries = Object.values(value);
  return entries.length > MOST_RESOURCES || entries.some((entry) => hasLongList(entry, levels - 1));
}

function unzipped(bytes: Uint8Array): string {
  if (bytes.length > MOST_BYTES) throw new Error(`it is larger than ${MOST_BYTES} bytes`);
  const isCompressed = bytes[0] === 0x1f && bytes[1] === 0x8b;
  return Buffer.from(isCompressed ? gunzipSync(bytes, { maxOutputLength: MOST_BYTES }) : bytes).toString();
}

function parseJson(text: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // The parser's message quotes the file, which may be a secret.
    throw new Error("it is not JSON");
  }
  if (isTooDeep(value)) throw new Error("it has too many levels");
  return value;
}

/** Returns the text of a file: one line per field and small resource, so that people can read and compare it. */
export function recordingText(recording: Recording): string {
  const { resources, exchanges, commands, ...rest } = recording;
  const fields = Object.entries({ format: RECORDING_FORMAT, version: RECORDING_VERSION, ...rest })
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `  ${JSON.stringify(name)}: ${JSON.stringify(value)}`);
  const tree = Object.entries(resources).map(
    ([path, body]) => `    ${JSON.stringify(path)}: ${JSON.stringify(body)}`,
  );
  const list = (name: string, entries: readonly unknown[] | undefined) =>
    entries === undefined
      ? []
      : [
          `  ${JSON.stringify(name)}: [\n${entries.map((entry) => `    ${JSON.stringify(entry)}`).join(",\n")}\n  ]`,
        ];
  const parts = [
    ...fields,
    tree.length === 0 ? '  "resources": {}' : `  "resources": {\n${tree.join(",\n")}\n  }`,
    ...list("exchanges", exchanges),
    ...list("commands", commands),
  ];
  return `{\n${parts.join(",\n")}\n}\n`;
}

export function compress(text: string): Buffer {
  return gzipSync(text, { level: 9 });
}

/** Returns the JSON schema of the format for other programs: `docs/reference/recording.schema.json`. */
export function recordingSchema(): object {
  const { $schema, ...schema } = z.toJSONSchema(Recording, { io: "input" });
  return { $schema, title: "A recorded BMC", ...schema };
}

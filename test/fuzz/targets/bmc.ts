import { readBoolean, readInteger } from "../../../actions/harness/input/input.ts";
import { parseRetryAfterMs } from "../../../shared/bmc/http/status-error.ts";
import { readHint } from "../../../shared/bmc/link/hint.ts";
import { readChain } from "../../../shared/bmc/operations/certificate-chain.ts";
import {
  imageSpellings,
  isSameImage,
  parseImageAddress,
  withoutCredentials,
} from "../../../shared/bmc/operations/image-address.ts";
import { checkSigningRequest } from "../../../shared/bmc/operations/signing-request.ts";
import { parseChallenge } from "../../../shared/bmc/providers/amt/digest.ts";
import { faultError } from "../../../shared/bmc/providers/amt/fault.ts";
import { parsePowerStatus } from "../../../shared/bmc/providers/amt/power-states.ts";
import { parseXml } from "../../../shared/bmc/providers/amt/xml.ts";
import { EntityState } from "../../../shared/bmc/providers/homeassistant/api.ts";
import {
  essenceOf,
  failureOf,
  parseRawOutput,
  parseRefusal,
} from "../../../shared/bmc/providers/ipmitool/failure.ts";
import { faultOf } from "../../../shared/bmc/providers/ironic/fault.ts";
import { NodeState, refusalOf as refusalOfNode } from "../../../shared/bmc/providers/ironic/node-state.ts";
import { LogEvent, parseLogEvent } from "../../../shared/bmc/providers/redfish/drivers/log-event.ts";
import { clockMs } from "../../../shared/bmc/providers/redfish/drivers/manager.ts";
import { parseHint } from "../../../shared/bmc/providers/redfish/hint.ts";
import {
  isResult,
  namedTask,
  readTaskBody,
  stateOfWord,
} from "../../../shared/bmc/providers/redfish/resources/task-state.ts";
import { answerError, redact } from "../../../shared/bmc/providers/redfish/service/errors.ts";
import { readEtag } from "../../../shared/bmc/providers/redfish/service/etag.ts";
import { localPath } from "../../../shared/bmc/providers/redfish/service/http-client.ts";
import {
  describeMessages,
  readDenial,
  readProblem,
  readRefusal,
} from "../../../shared/bmc/providers/redfish/service/refusal.ts";
import { Collection, ServiceRoot, System } from "../../../shared/bmc/providers/redfish/service/schema.ts";
import { parseResource } from "../../../shared/bmc/providers/redfish/service/service.ts";
import { readResponse, refusalOf } from "../../../shared/bmc/providers/rpc/request-body.ts";
import { formatTimestamp } from "../../../shared/bmc/providers/rpc/timestamp.ts";
import { readWsmanAnswer, readWsmanRequest } from "../../../shared/bmc/recording/wsman-message.ts";
import { BmcError } from "../../../shared/contract/bmc-error.ts";
import { Connection } from "../../../shared/contract/connection.ts";
import { WsmanAnswer, WsmanRequest } from "../../../shared/recording/recording.ts";
import { Secret } from "../../../shared/secret.ts";
import type { Target } from "../target.ts";
import { JSON_TOKENS, jsonOf } from "./json.ts";

const isBmcError = (thrown: unknown) => thrown instanceof BmcError;
const wsman = (header: string, body: string) =>
  `<Envelope><Header>${header}</Header><Body>${body}</Body></Envelope>`;
const ORIGIN = "https://192.0.2.1";
const SYSTEM = JSON.stringify({
  "@odata.id": "/redfish/v1/Systems/1",
  "@odata.etag": 'W/"1"',
  PowerState: "On",
  Boot: {
    BootSourceOverrideTarget: "Pxe",
    "BootSourceOverrideTarget@Redfish.AllowableValues": ["Pxe", "Hdd"],
  },
  Actions: { "#ComputerSystem.Reset": { target: "/redfish/v1/Systems/1/Actions/ComputerSystem.Reset" } },
  Links: { ManagedBy: [{ "@odata.id": "/redfish/v1/Managers/1" }] },
});
const COLLECTION = JSON.stringify({
  Members: [{ "@odata.id": "/redfish/v1/Systems/1" }],
  "Members@odata.nextLink": "/redfish/v1/Systems?$skip=1",
});
const LOG_ENTRY = JSON.stringify({
  Created: "2026-01-15T20:53:25+02:00",
  Severity: "Critical",
  Message: "The power state of resource /redfish/v1/Systems/1 has changed to type On.",
  MessageId: "CrayAlerts.1.0.ResourcePowerStateChanged",
  SensorType: "Power Unit",
  EntryCode: "Assert",
});
const TASK = JSON.stringify({
  "@odata.id": "/redfish/v1/TaskService/Tasks/1",
  TaskState: "Exception",
  TaskStatus: "Critical",
  Messages: [{ MessageID: "Contoso.1.0.Busy", Message: "%1 is busy.", MessageArgs: ["Disk 1"] }],
  Oem: { Hpe: { State: "Error", Result: { MessageId: "iLO.2.14.UpdateFailed" } } },
});
const REFUSAL = JSON.stringify({
  error: {
    code: "Base.1.8.GeneralError",
    message: "no",
    "@Message.ExtendedInfo": [
      { MessageId: "Base.1.8.ResourceInUse", Message: "busy", MessageArgs: ["secret!"] },
    ],
  },
});
const SOAP = `<?xml version="1.0"?><s:Envelope xmlns:s="http://www.w3.org/2003/05/soap-envelope"><s:Body><p:X><p:PowerState>2</p:PowerState>
<p:AvailableRequestedPowerStates>8</p:AvailableRequestedPowerStates></p:X></s:Body></s:Envelope>`;
const FAULT = `<a:Fault xmlns:a="x"><a:Code><a:Subcode><a:Value>w:AccessDenied</a:Value></a:Subcode></a:Code><a:Reason><a:Text>no &amp; no</a:Text></a:Reason></a:Fault>`;
const STDERR = `Loading IANA PEN Registry...
RAKP 2 HMAC is invalid
Error in open session response message : no matching cipher suite
> RAKP 2 message indicates an error : unauthorized name
Unable to send RAW command (channel=0x0 netfn=0x0 lun=0x0 cmd=0x1 rsp=0xd5): Insufficient
`;
/** For 192.0.2.11, signed by itself. */
const CERTIFICATE = `-----BEGIN CERTIFICATE-----
MIIBbjCCARSgAwIBAgIQX9XHYcJ8dtz/mK8C4aznszAKBggqhkjOPQQDAjAQMQ4w
DAYDVQQDDAVibWMtNzAeFw0yNjAxMDEwMDAwMDBaFw00NjAxMDEwMDAwMDBaMBAx
DjAMBgNVBAMMBWJtYy03MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEVgwyhBxq
gSbBI9g4gg+LNcrITkg2n7hwfqczk6kNX+qC+qdqAeK8Px74EUM7sXhJ5shuxxYq
HtNRv6XTQ+i+OKNQME4wDAYDVR0TAQH/BAIwADAOBgNVHQ8BAf8EBAMCB4AwHQYD
VR0lBBYwFAYIKwYBBQUHAwEGCCsGAQUFBwMCMA8GA1UdEQQIMAaHBMAAAgswCgYI
KoZIzj0EAwIDSAAwRQIhAJtq5eta3oxIMZqddYA5Yp3ZnS/R/M1Y0edEm0UtmzFN
AiBSLAhVTXVDCOYn2E7y4h5LFsoW7lUPdSgU1wkhy8wvHw==
-----END CERTIFICATE-----
`;
const SIGNING_REQUEST = `-----BEGIN CERTIFICATE REQUEST-----
MIH/MIGnAgEAMBAxDjAMBgNVBAMMBWJtYy03MFkwEwYHKoZIzj0CAQYIKoZIzj0D
AQcDQgAEVgwyhBxqgSbBI9g4gg+LNcrITkg2n7hwfqczk6kNX+qC+qdqAeK8Px74
EUM7sXhJ5shuxxYqHtNRv6XTQ+i+OKA1MDMGCSqGSIb3DQEJDjEmMCQwIgYDVR0R
BBswGYIRYm1jLTcuZXhhbXBsZS5vcmeHBMAAAgswCgYIKoZIzj0EAwIDRwAwRAIg
Jp5bEtW9YZlmvHZTTvmqjq3wy8PkPaSJhTMTUBkq2NUCIG1O4zwmrx+lvQWcH7OG
bMcYyBBhs0+e+p0RT2I/gQCs
-----END CERTIFICATE REQUEST-----
`;
const command = { name: "Get Chassis Status", effect: "read" } as const;
/** Node refuses longer headers. */
const HEADER = 16 * 1_024;
/** What runs ipmitool stops at so much output. */
const PROGRAM_OUTPUT = 64 * 1_024;

/** What BMCs, and services in their place, answer. */
export const bmcTargets: readonly Target[] = [
  {
    name: "digest-challenge",
    seeds: [
      'Digest realm="Digest:56ABC7BE", nonce="fVNueyE=",stale="false",qop="auth,auth-int"',
      'Basic realm="one", Digest realm="a, \\"b\\"", nonce=n, STALE=TRUE, Basic realm="two"',
    ],
    tokens: ['a="b"', "a=b", "Digest ", "nonce=", 'x="\\', '"\\"', ", ", "=", "a  ="],
    around: [
      ['Digest realm="a",nonce="b",', ""],
      ["Digest ", ""],
    ],
    longest: HEADER,
    call: parseChallenge,
    throws: isBmcError,
  },
  {
    name: "xml",
    seeds: [SOAP, FAULT, "<a b='1'><![CDATA[<]]><!-- - --></a>"],
    tokens: [
      "<a>",
      "</a>",
      "<a/>",
      '<a b="c">',
      ' b="c"',
      "<!--",
      "-->",
      "<![CDATA[",
      "]]>",
      "&amp;",
      "&#x41;",
      "<?xml ",
      "a:",
      "<!DOCTYPE",
    ],
    around: [
      ["<a>", "</a>"],
      ["<a ", ">"],
      ["<a><!--", "--></a>"],
    ],
    call: (input) => {
      const root = parseXml(input);
      return [faultError(root, "Get", "command"), parsePowerStatus(root)];
    },
    throws: isBmcError,
  },
  {
    name: "wsman-message",
    seeds: [
      wsman("<a:Action>x/Get</a:Action><w:ResourceURI>x/AMT_B</w:ResourceURI>", "<AMT_B><C>1</C></AMT_B>"),
      wsman(
        "",
        "<PullResponse><Items><AMT_B/></Items><EnumerationContext>1</EnumerationContext></PullResponse>",
      ),
      wsman("", "<Fault><Code><Subcode><Value>x:Y</Value></Subcode></Code></Fault>"),
    ],
    tokens: [
      "<a>",
      "</a>",
      "<Items>",
      "</Items>",
      "<ResourceURI>",
      '<Selector Name="a b">',
      "<AMT_B>",
      "&amp;",
    ],
    around: [[wsman("", ""), ""]],
    call: (input) => {
      const asked = readWsmanRequest(input);
      return [asked, readWsmanAnswer(input, asked ?? { action: "Pull", class: "AMT_B" })];
    },
    holds: (result) => {
      const [asked, answer] = result as [WsmanRequest | undefined, WsmanAnswer | undefined];
      WsmanRequest.optional().parse(asked);
      WsmanAnswer.optional().parse(answer);
    },
  },
  {
    name: "entity-tag",
    seeds: ['W/"1"', '""1""', "abc-gzip", '"a-gzip"'],
    tokens: ['""', '\\"', "W/", '-gzip"', '"a'],
    longest: HEADER,
    call: (input) => readEtag(input, input),
  },
  {
    name: "retry-after",
    seeds: ["120", "1.5", "Wed, 21 Oct 2026 07:28:00 GMT"],
    tokens: ["1", ".", " GMT", "Mon, "],
    longest: HEADER,
    call: (input) => parseRetryAfterMs(input, 0),
    holds: (result) => {
      if (result !== undefined && !(Number(result) >= 0 && Number(result) <= 600_000))
        throw new Error(`waits ${result}`);
    },
  },
  {
    name: "redfish-resource",
    seeds: [SYSTEM, COLLECTION],
    tokens: [...JSON_TOKENS, '"@odata.id":', '"Members":[', '"/redfish/v1/Systems/1"', '{"@odata.id":"/a"},'],
    around: [['{"Members":[', "]}"]],
    call: (input) => {
      const body = jsonOf(input);
      return [System, Collection, ServiceRoot].map((schema) => {
        try {
          return parseResource("/redfish/v1", body, schema, input.slice(0, 100));
        } catch (thrown) {
          if (thrown instanceof BmcError) return thrown.message;
          throw thrown;
        }
      });
    },
  },
  {
    name: "redfish-refusal",
    seeds: [REFUSAL],
    tokens: [...JSON_TOKENS, '"error":{', '"@Message.ExtendedInfo":[', '{"Message":"a"},', "secret!"],
    around: [['{"error":{"@Message.ExtendedInfo":[', "]}}"]],
    call: (input) => {
      const body = jsonOf(input);
      const request = {
        method: "PATCH",
        path: "/redfish/v1",
        body: { Password: new Secret("secret!") },
      } as const;
      const error = answerError({ status: 400, headers: {}, body, path: "/redfish/v1" }, request, 0);
      return [
        readRefusal({ body }),
        describeMessages([{ Message: input, MessageId: input }]),
        error.message,
        redact(input, request.body),
        readDenial({ body }),
        readProblem([{ Message: input, MessageId: input, Severity: input }]),
        namedTask({ body }),
      ];
    },
    holds: (result) => {
      const [, , message, redacted] = result as readonly [unknown, unknown, string, string];
      if (message.length > 1_000 || message.includes("secret!") || redacted.includes("secret!"))
        throw new Error(message);
    },
  },
  {
    name: "redfish-task",
    seeds: [TASK],
    tokens: [
      ...JSON_TOKENS,
      '"TaskState":',
      '"Completed"',
      '"JobState":',
      '"Oem":{"Hpe":{"State":',
      "secret!",
    ],
    call: (input) => {
      const body = jsonOf(input);
      const said = readTaskBody(body, (text) => text.replaceAll("secret!", "[redacted]"), true);
      return [
        said,
        isResult({ status: 200, body, path: "/redfish/v1" }, "/redfish/v1/TaskService/TaskMonitors/1"),
      ];
    },
    holds: (result) => {
      const [said, isGiven] = result as readonly [ReturnType<typeof readTaskBody>, boolean];
      const { state, word = "", message = "" } = said;
      if (state === "done" && stateOfWord(word) !== "done") throw new Error(`${word} is done`);
      if (message.includes("secret!") || message.length > 2_000) throw new Error(message);
      if (typeof isGiven !== "boolean") throw new Error(String(isGiven));
    },
  },
  {
    name: "redfish-link",
    seeds: ["/redfish/v1/Systems/1", "https://192.0.2.1/redfish", "//elsewhere/x", "/a?b=c#d"],
    tokens: ["//", "/..", "/%2e", "@", "https:", "\\"],
    call: (input) => localPath(input, ORIGIN),
    holds: (result) => {
      if (result === undefined) return;
      if (!String(result).startsWith("/") || new URL(String(result), ORIGIN).origin !== ORIGIN) {
        throw new Error(`leads to ${result}`);
      }
    },
  },
  {
    name: "redfish-log-entry",
    seeds: [LOG_ENTRY, LOG_ENTRY.replace("Systems/1", "Systems/2")],
    tokens: [
      ...JSON_TOKENS,
      '"Message":',
      "/redfish/v1/Systems/1",
      "power ",
      "reset ",
      "system ",
      "bmc ",
      "////",
    ],
    around: [
      ['{"Message":"', '"}'],
      ['{"Message":"system', 'reset"}'],
    ],
    call: (input) => {
      const body = jsonOf(input);
      const about = { source: "SEL", systemPath: "/redfish/v1/Systems/1" };
      const entries = [
        LogEvent.safeParse(body).data ?? {},
        LogEvent.parse({ Message: input, MessageId: input }),
      ];
      return entries.map((entry) => parseLogEvent(entry, about));
    },
  },
  {
    name: "redfish-clock",
    seeds: ["2026-01-02T03:04:05+01:00", "2026-01-02T03:04:05", "+01:00"],
    tokens: ["T", "Z", "+00:00", "2026-"],
    call: (input) => [
      clockMs({ DateTime: input, DateTimeLocalOffset: "+01:00" } as never),
      clockMs({ DateTime: "2026-01-02T03:04:05", DateTimeLocalOffset: input } as never),
    ],
  },
  {
    name: "certificate",
    seeds: [CERTIFICATE, CERTIFICATE + CERTIFICATE],
    tokens: ["-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----", "PRIVATE KEY", "\n"],
    call: (input) => readChain(input, { host: "192.0.2.11", nowMs: 1_800_000_000_000 }),
  },
  {
    name: "signing-request",
    seeds: [SIGNING_REQUEST],
    tokens: ["-----BEGIN ", "-----END ", "NEW ", "CERTIFICATE REQUEST-----", "\r\n"],
    call: (input) => checkSigningRequest(input, { commonName: "bmc-7", alternativeNames: ["192.0.2.11"] }),
    throws: isBmcError,
  },
  {
    name: "hint",
    seeds: [
      '{"system":"/redfish/v1/Systems/1","learned":["a"],"reset":{"target":"/a","values":["On"]}}',
      '{"redfish":{"system":"/a"}}',
    ],
    tokens: JSON_TOKENS,
    call: (input) => [parseHint(jsonOf(input)), readHint(jsonOf(input))],
    holds: (result) => {
      const [hint] = result as readonly [ReturnType<typeof parseHint>];
      if (hint && !hint.system.startsWith("/")) throw new Error(`leads to ${hint.system}`);
    },
  },
  {
    name: "rpc-answer",
    seeds: [
      '{"id":1,"host":"a","result":"on","error":{"code":0,"message":""}}',
      '{"error":{"code":500,"message":"no"}}',
    ],
    tokens: [...JSON_TOKENS, '"error":', '"code":', '"message":'],
    call: (input) => {
      const answer = { status: 200, headers: {}, body: Buffer.from(input) };
      const response = readResponse({ answer, doing: "POST /", effect: "command", nowMs: 0 });
      return refusalOf(response, "POST /", "command")?.message;
    },
    throws: isBmcError,
  },
  {
    name: "rpc-timestamp",
    seeds: ["2006-01-02T15:04:05Z07:00", "Mon, 02 Jan 2006 03:04:05.000 PM MST"],
    tokens: ["2006", ".000", ",999", "-0700", "_2", "January", "Jan"],
    call: (input) => formatTimestamp(input, 1_700_000_000_000),
  },
  {
    name: "home-assistant-state",
    seeds: ['{"entity_id":"switch.a","state":"on"}'],
    tokens: [...JSON_TOKENS, '"state":'],
    call: (input) => EntityState.safeParse(jsonOf(input)),
  },
  {
    name: "ironic-answer",
    seeds: [
      '{"power_state":"power on","provision_state":"active","maintenance":true,"instance_uuid":"a","owner":null}',
      '{"error_message":"{\\"faultstring\\":\\"no\\"}"}',
    ],
    tokens: [...JSON_TOKENS, '"error_message":', '"faultstring":', '"provision_state":', '\\"'],
    call: (input) => {
      const node = NodeState.safeParse(jsonOf(input));
      return [faultOf(input), node.success ? refusalOfNode(node.data, []) : undefined];
    },
  },
  {
    name: "ipmitool-output",
    seeds: [" 01 02 ff\n 10\n"],
    tokens: [" 00", "zz"],
    longest: PROGRAM_OUTPUT,
    call: (input) => parseRawOutput(input),
    throws: isBmcError,
  },
  {
    name: "ipmitool-failure",
    seeds: [STDERR],
    tokens: [
      "message indicates an error : ",
      "Unable to send RAW command (",
      "rsp=0xd5)",
      "Address lookup for ",
      "Set Session Privilege Level ",
      "Error in open session response message : ",
    ],
    longest: PROGRAM_OUTPUT,
    call: (input) => [parseRefusal(input), essenceOf(input), failureOf(command as never, input)],
  },
  {
    name: "connection",
    seeds: [
      '{"host":"192.0.2.1","username":"a","password":"b","providers":["redfish","ipmi"]}',
      '{"host":"[2001:db8::1]","tls":{"ca":"-----BEGIN CERTIFICATE-----\\nAAAA\\n-----END CERTIFICATE-----"}}',
    ],
    tokens: [...JSON_TOKENS, '"host":', '"redfish",', "-----BEGIN CERTIFICATE-----", "a.", "aa:"],
    around: [
      ['{"host":"', '"}'],
      ['{"host":"a","tls":{"ca":"', '"}}'],
      ['{"host":"a","providers":[', "]}"],
    ],
    call: (input) => Connection.safeParse(jsonOf(input)),
  },
  {
    name: "action-input",
    seeds: ["true", "12", "off"],
    tokens: ["1", "0x", "e"],
    call: (input) => [readBoolean(input), readInteger(input)],
  },
  {
    name: "image-address",
    seeds: [
      "https://192.0.2.9:8443/a/x.iso?k=1",
      "nfs://192.0.2.9/export/a%20b.iso",
      "[2001:db8::9]:/export/x.iso",
      "smb://user:secret@host/share/x.iso",
      "//host/share/x.iso",
      "\\\\host\\share\\x.iso",
    ],
    tokens: ["://", "//", "\\", ":/", "@", "%2f", "%", "nfs", "smb", "http", "["],
    around: [
      ["//", "@host/x"],
      ["nfs://host/", ""],
      ["http://", "/x.iso"],
    ],
    call: (input) => ({ address: parseImageAddress(input), shown: withoutCredentials(input) }),
    holds(result, input) {
      const { address, shown } = result as {
        address: ReturnType<typeof parseImageAddress>;
        shown: string;
      };
      if (shown !== withoutCredentials(shown)) throw new Error(`credentials remain in ${shown}`);
      if (!address) return;
      if (input.includes("@")) throw new Error("an address with credentials was read");
      for (const spelling of imageSpellings(input, "share")) {
        if (!isSameImage(spelling, input)) throw new Error(`${spelling} is not ${input}`);
      }
    },
  },
];

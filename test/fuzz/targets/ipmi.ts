import { ConsoleLines } from "../../../shared/bmc/operations/console-lines.ts";
import {
  decodeBootFlags,
  overrideOf,
  parseBootFlags,
} from "../../../shared/bmc/providers/ipmi/commands/boot-options.ts";
import {
  GET_CHASSIS_STATUS,
  parseChassisStatus,
  parseLastPowerEvent,
  parseRestartCause,
} from "../../../shared/bmc/providers/ipmi/commands/chassis.ts";
import { parseKg } from "../../../shared/bmc/providers/ipmi/commands/credentials.ts";
import {
  parseDeviceId,
  parseGuid,
  parseManufacturer,
} from "../../../shared/bmc/providers/ipmi/commands/device-id.ts";
import {
  getLanParameters,
  parseLanParameters,
} from "../../../shared/bmc/providers/ipmi/commands/lan-parameters.ts";
import { parseUserAccess, parseUserName } from "../../../shared/bmc/providers/ipmi/commands/users.ts";
import {
  parseInstanceOwner,
  parseSessionPeer,
} from "../../../shared/bmc/providers/ipmi/drivers/console-driver.ts";
import { parseActiveInstances } from "../../../shared/bmc/providers/ipmi/drivers/sol-driver.ts";
import { parseHint } from "../../../shared/bmc/providers/ipmi/drivers.ts";
import { describeRecord } from "../../../shared/bmc/providers/ipmi/records/describe-record.ts";
import { describeSensor } from "../../../shared/bmc/providers/ipmi/records/describe-sensor.ts";
import {
  parseBoardArea,
  parseChassisArea,
  parseFruAreaInfo,
  parseFruData,
  parseFruHeader,
  parseProductArea,
} from "../../../shared/bmc/providers/ipmi/records/fru.ts";
import {
  parseSdrPart,
  parseSdrReservation,
} from "../../../shared/bmc/providers/ipmi/records/sdr-commands.ts";
import {
  parseErasure,
  parseReservation,
  parseSelEntry,
  parseSelEntryCount,
  parseSelOverflow,
  parseSelTime,
} from "../../../shared/bmc/providers/ipmi/records/sel-commands.ts";
import { parseSelRecord } from "../../../shared/bmc/providers/ipmi/records/sel-record.ts";
import {
  parseReadingFactors,
  parseSensorReading,
  parseSensorThresholds,
} from "../../../shared/bmc/providers/ipmi/records/sensor-commands.ts";
import { parseSensorRecord } from "../../../shared/bmc/providers/ipmi/records/sensor-record.ts";
import { matchAnswer } from "../../../shared/bmc/providers/ipmi/session/handshake-link.ts";
import {
  checksum,
  parseLanResponse,
  parseProvenResponse,
} from "../../../shared/bmc/providers/ipmi/session/message.ts";
import {
  parseHandshakeAnswer,
  parseOpenSessionResponse,
} from "../../../shared/bmc/providers/ipmi/session/open-session.ts";
import { parseRakp2, provesKeys } from "../../../shared/bmc/providers/ipmi/session/rakp.ts";
import { parseHandshakePacket, parseRmcp } from "../../../shared/bmc/providers/ipmi/session/rmcp.ts";
import { openMessage, sealMessage } from "../../../shared/bmc/providers/ipmi/session/sealed-packet.ts";
import { parseSolPacket, SolReassembly } from "../../../shared/bmc/providers/ipmi/session/sol-packet.ts";
import { anonymousSdrs, commandAnonymiser } from "../../../shared/bmc/recording/anonymous-command.ts";
import { BmcError } from "../../../shared/contract/bmc-error.ts";
import { Anonymiser } from "../../../shared/recording/anonymise.ts";
import { redactor } from "../../../shared/secret-forms.ts";
import { fullRecord, redundancyRecord } from "../../../simulators/ipmi/sdr-record.ts";
import { EXCHANGE, ROUTE, SEAL, SUITES } from "../../support/ipmi-samples.ts";
import { bytesOf, latin, type Target } from "../target.ts";
import { JSON_TOKENS, jsonOf } from "./json.ts";

/** The largest UDP datagram. */
const DATAGRAM = 65_507;
const isBmcError = (thrown: unknown) => thrown instanceof BmcError;
const RMCP = [6, 0, 255, 7, 6, 0x11, 0, 0, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0, 4, 0, 1, 0, 0, 0];
const SEALED = sealMessage(SEAL, 1, Buffer.from([0x81, 0x1c, 0x63, 0x20, 0, 1, 0, 0]), Buffer.alloc(16, 9));
const LAN = [0x81, 0x1c, 0x63, 0x20, 0x04, 0x01, 0x00, 0x21, 0x10];
const HEADER = [1, 0, 0, 1, 5, 0, 0];
const FRU_AREA = [1, 2, 25, 0, 0, 0, 0xc4, 0x41, 0x43, 0x4d, 0x45, 0xc2, 0x52, 0x31, 0xc1];

const READING = { raw: 0x5a, isScanned: true, isAvailable: true, status: 0x0101 };
const SENSOR_RECORDS = [
  fullRecord({ name: "Fan", kind: "fan", value: 0, lowerCritical: 600 }, 1),
  redundancyRecord(2),
].map((record) => latin(record));

/** Each parser of the data of one command's answer. */
const ANSWERS: readonly ((data: Buffer) => unknown)[] = [
  parseChassisStatus,
  parseLastPowerEvent,
  parseRestartCause,
  decodeBootFlags,
  (data) => overrideOf(parseBootFlags(data)),
  parseDeviceId,
  parseManufacturer,
  parseGuid,
  parseSelEntryCount,
  parseSelOverflow,
  parseReservation,
  parseSelEntry,
  parseErasure,
  parseSelTime,
  (data) => describeRecord(parseSelRecord(data)),
  parseActiveInstances,
  (data) => parseInstanceOwner({ command: GET_CHASSIS_STATUS, completionCode: 0, data }),
  (data) => parseSessionPeer({ command: GET_CHASSIS_STATUS, completionCode: 0, data }),
  parseUserAccess,
  parseUserName,
  (data) =>
    parseLanParameters(
      1,
      getLanParameters(1).map((command) => ({ command, completionCode: 0, data })),
    ),
  parseFruAreaInfo,
  (data) => parseFruData(data, 1),
  (data) => parseFruData(data, 2),
];

function orTypedError(read: () => unknown): unknown {
  try {
    return read();
  } catch (thrown) {
    if (!(thrown instanceof BmcError)) throw thrown;
    if (!/^\P{Cc}{1,2000}$/u.test(thrown.message)) throw new Error("its message is no line of a report");
    return thrown;
  }
}

/** What comes in the datagrams of a BMC, or of anyone who sends some in its name. */
export const ipmiTargets: readonly Target[] = [
  {
    name: "ipmi-datagram",
    seeds: [latin(RMCP), latin(SEALED)],
    tokens: [latin([6, 0, 255, 7]), latin([6, 0xc0]), latin([0xff, 0xff])],
    around: [[latin(RMCP), ""]],
    longest: DATAGRAM,
    call: (input) => {
      const datagram = bytesOf(input);
      parseRmcp(datagram);
      parseHandshakePacket(datagram, 0x11);
      matchAnswer(datagram, 0x13, { tag: 0, consoleId: 0 });
      return openMessage(SEAL, datagram);
    },
    holds: (result, input) => {
      // The RMCP header, of four bytes, is not authenticated (IPMI 2.0 table 13-8).
      if (result !== undefined && !input.slice(4).startsWith(latin(SEALED).slice(4)))
        throw new Error("a forged packet was accepted");
    },
  },
  {
    name: "ipmi-handshake",
    seeds: [latin(Buffer.alloc(36, 1)), latin(Buffer.alloc(72, 1)), latin([0, 18, 0, 0])],
    tokens: [latin([0, 0, 0, 8, 1, 0, 0, 0])],
    longest: DATAGRAM,
    call: (input) => {
      const payload = bytesOf(input);
      const proven = SUITES.map((suite) => provesKeys(suite, Buffer.alloc(20), EXCHANGE, payload));
      return [
        parseHandshakeAnswer(payload),
        parseOpenSessionResponse(payload),
        ...SUITES.map((suite) => parseRakp2(payload, suite)),
        ...proven,
      ];
    },
  },
  {
    name: "ipmi-console",
    seeds: [latin([1, 0, 0, 0, 0x41]), latin([2, 0, 0, 8, 27, 91, 49, 109, 0x41, 10]), latin([0, 1, 1, 16])],
    tokens: [latin([27, 91]), latin([27, 93]), latin([27, 40]), "\r\n", "\b"],
    longest: DATAGRAM,
    call: (input) => {
      const packet = parseSolPacket(bytesOf(input));
      const lines: string[] = [];
      const console = new ConsoleLines((line) => lines.push(line));
      if (packet) console.push(new SolReassembly().take(packet, 1).data);
      console.push(bytesOf(input));
      console.finishLine();
      return lines;
    },
    holds: (lines) => {
      if (/\p{Cc}/u.test(String(lines))) throw new Error("a control character is left");
    },
  },
  {
    name: "ipmi-message",
    seeds: [latin([...LAN, checksum(LAN.slice(3))]), latin([0x72, 0x1c])],
    tokens: [latin(LAN)],
    longest: DATAGRAM,
    call: (input) => {
      const data = bytesOf(input);
      const response = { responder: 0x20, netFn: 6, command: 0x34, sequence: 1, completionCode: 0, data };
      return [
        parseLanResponse(data),
        parseProvenResponse(data),
        ROUTE.answer(response, GET_CHASSIS_STATUS, 1),
      ];
    },
    throws: isBmcError,
  },
  {
    name: "ipmi-answers",
    seeds: [
      latin([0x21, 0x10, 0x40]),
      latin(Buffer.alloc(16, 2)),
      latin(Buffer.alloc(18, 0xc0)),
      latin([0x20, 0x81, 1, 0, 2, 0xbf, 0xa2, 2, 0]),
    ],
    tokens: [latin([0xff, 0xff]), latin([0, 0, 2])],
    longest: DATAGRAM,
    call: (input) => ANSWERS.map((parse) => orTypedError(() => parse(bytesOf(input)))),
  },
  {
    name: "ipmi-sensors",
    seeds: [...SENSOR_RECORDS, latin([0x30, 0xc0, 0x08, 0x80]), latin([0x1b, 1, 2, 3, 4, 5, 6])],
    tokens: [
      latin([0x51, 1]),
      latin([0x51, 2]),
      latin([0x51, 3]),
      latin([0xc3, 0x41, 0x42, 0x43]),
      latin([0x70]),
    ],
    longest: DATAGRAM,
    call: (input) => {
      const bytes = bytesOf(input);
      const [reading, thresholds, factors] = [
        parseSensorReading,
        parseSensorThresholds,
        parseReadingFactors,
      ].map((parse) => orTypedError(() => parse(bytes)));
      const sensors = parseSensorRecord(bytes);
      const answer = { reading: READING, thresholds: sensors[0]?.thresholds, factors: undefined };
      const described = sensors.flatMap((sensor) => [
        describeSensor(sensor, answer),
        describeSensor(sensor, undefined),
      ]);
      const part = orTypedError(() => [parseSdrReservation(bytes), parseSdrPart(bytes)]);
      return [reading, thresholds, factors, described, part];
    },
    holds: (result) => {
      if (JSON.stringify(result).includes('"value":null')) throw new Error("a reading is no number");
    },
  },
  {
    name: "ipmi-fru",
    seeds: [latin([...HEADER, checksum(HEADER)]), latin([...FRU_AREA, checksum(FRU_AREA)])],
    tokens: [latin([0xc1]), latin([0x83, 0x41, 0x42, 0x43]), latin([0x43, 1, 2, 3])],
    longest: DATAGRAM,
    call: (input) => {
      const area = bytesOf(input);
      return [parseFruHeader(area), parseChassisArea(area), parseBoardArea(area), parseProductArea(area)];
    },
  },
  {
    name: "ipmi-recorded",
    seeds: SENSOR_RECORDS.map((record) => latin([0, 0, 1, 0, 0, 0xff, 0xff, 0xff]) + record),
    tokens: [latin([1, 0, 0x51, 0xc0]), latin([0, 0, 1, 0, 0, 0xff])],
    longest: DATAGRAM,
    call: (input) => {
      const [data, answer] = [bytesOf(input).subarray(0, 6), bytesOf(input).subarray(6)];
      const asked = { command: "Get SDR", netFn: 0x0a, code: 0x23, data, startedMs: 0, endedMs: 1 };
      const anonymiser = new Anonymiser(redactor({}));
      const one = { ...asked, completionCode: 0, answer };
      const shown = commandAnonymiser(anonymiser, anonymousSdrs([one], anonymiser))(one);
      return Buffer.from(shown.answer ?? "", "hex");
    },
    // A record that a maker defined keeps only its header.
    holds: (result, input) => {
      const [shown, answer] = [result as Buffer, bytesOf(input).subarray(6)];
      if (shown.length !== answer.length) throw new Error("the answer has another length");
      if ((answer[5] ?? 0) >= 0xc0 && shown.subarray(7).some((byte) => byte !== 0))
        throw new Error("it has what a maker wrote");
    },
  },
  {
    name: "ipmi-settings",
    seeds: ["0x1122", "key", '{"cipherSuite":17,"manufacturer":674}'],
    tokens: [...JSON_TOKENS, "0x", "ff"],
    call: (input) => [parseHint(jsonOf(input)), orTypedError(() => parseKg(input))],
  },
];

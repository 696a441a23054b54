import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  decodeBootFlags,
  overrideOf,
  parseBootFlags,
} from "../../../../../shared/bmc/providers/ipmi/commands/boot-options.ts";
import {
  GET_CHASSIS_STATUS,
  parseChassisStatus,
} from "../../../../../shared/bmc/providers/ipmi/commands/chassis.ts";
import { completionError } from "../../../../../shared/bmc/providers/ipmi/commands/completion-code.ts";
import { parseKg } from "../../../../../shared/bmc/providers/ipmi/commands/credentials.ts";
import {
  parseDeviceId,
  parseGuid,
  parseManufacturer,
} from "../../../../../shared/bmc/providers/ipmi/commands/device-id.ts";
import { parseUserAccess, parseUserName } from "../../../../../shared/bmc/providers/ipmi/commands/users.ts";
import { parseActiveInstances } from "../../../../../shared/bmc/providers/ipmi/drivers/sol-driver.ts";
import { parseHint } from "../../../../../shared/bmc/providers/ipmi/drivers.ts";
import { describeRecord } from "../../../../../shared/bmc/providers/ipmi/records/describe-record.ts";
import {
  parseBoardArea,
  parseChassisArea,
  parseFruAreaInfo,
  parseFruData,
  parseFruHeader,
  parseProductArea,
} from "../../../../../shared/bmc/providers/ipmi/records/fru.ts";
import {
  parseErasure,
  parseReservation,
  parseSelEntry,
  parseSelEntryCount,
  parseSelTime,
} from "../../../../../shared/bmc/providers/ipmi/records/sel-commands.ts";
import { parseSelRecord } from "../../../../../shared/bmc/providers/ipmi/records/sel-record.ts";
import { matchAnswer } from "../../../../../shared/bmc/providers/ipmi/session/handshake-link.ts";
import { handshakeError } from "../../../../../shared/bmc/providers/ipmi/session/handshake-status.ts";
import { parseLanResponse } from "../../../../../shared/bmc/providers/ipmi/session/message.ts";
import {
  parseHandshakeAnswer,
  parseOpenSessionResponse,
} from "../../../../../shared/bmc/providers/ipmi/session/open-session.ts";
import { parseRakp2, provesKeys } from "../../../../../shared/bmc/providers/ipmi/session/rakp.ts";
import { parseHandshakePacket, parseRmcp } from "../../../../../shared/bmc/providers/ipmi/session/rmcp.ts";
import { openMessage, sealMessage } from "../../../../../shared/bmc/providers/ipmi/session/sealed-packet.ts";
import {
  essenceOf,
  failureOf,
  parseRawOutput,
  parseRefusal,
} from "../../../../../shared/bmc/providers/ipmitool/failure.ts";
import { BmcError } from "../../../../../shared/contract/bmc-error.ts";
import { EXCHANGE, ROUTE, SEAL, SUITES } from "../../../../support/ipmi-samples.ts";

/** Everything that makes sense of bytes off the wire. */
const PARSERS: Readonly<Record<string, (bytes: Buffer) => unknown>> = {
  parseRmcp,
  parseHandshakePacket: (bytes) => parseHandshakePacket(bytes, 0x11),
  parseHandshakeAnswer,
  parseOpenSessionResponse,
  matchAnswer: (bytes) => matchAnswer(bytes, 0x13, { tag: 0, consoleId: 0 }),
  parseRakp2: (bytes) => SUITES.map((suite) => parseRakp2(bytes, suite)),
  provesKeys: (bytes) => SUITES.map((suite) => provesKeys(suite, Buffer.alloc(20), EXCHANGE, bytes)),
  openMessage: (bytes) => openMessage(SEAL, bytes),
  parseLanResponse,
  bridgedAnswer: (bytes) => {
    const response = {
      responder: 0x20,
      netFn: 6,
      command: 0x34,
      sequence: 1,
      completionCode: 0,
      data: bytes,
    };
    return ROUTE.answer(response, GET_CHASSIS_STATUS, 1);
  },
  parseChassisStatus,
  decodeBootFlags,
  parseBootFlags: (bytes) => overrideOf(parseBootFlags(bytes)),
  parseDeviceId,
  parseManufacturer,
  parseGuid,
  parseSelEntryCount,
  parseReservation,
  parseSelEntry,
  parseErasure,
  parseSelTime,
  parseSelRecord: (bytes) => describeRecord(parseSelRecord(bytes)),
  parseActiveInstances,
  parseUserAccess,
  parseUserName,
  parseFruAreaInfo,
  parseFruData: (bytes) => [parseFruData(bytes, 1), parseFruData(bytes, 2)],
  parseFruHeader,
  parseChassisArea,
  parseBoardArea,
  parseProductArea,
};

/** A typed error is as good as an answer; anything else that is thrown fails the property. */
function orTypedError(run: () => unknown): unknown {
  try {
    return run();
  } catch (thrown) {
    if (thrown instanceof BmcError) return thrown;
    throw thrown;
  }
}

const bytes = (most: number) => fc.uint8Array({ maxLength: most }).map((array) => Buffer.from(array));

/** RMCP+ packets with any contents, so that what lies behind the header's checks is reached. */
const framed = fc
  .record({ flags: fc.integer({ min: 0, max: 255 }), head: bytes(8), payload: bytes(80), trailer: bytes(40) })
  .map(({ flags, head, payload, trailer }) => {
    const start = Buffer.alloc(16);
    start.set([0x06, 0x00, 0xff, 0x07, 0x06, flags]);
    start.set(head, 6);
    start.writeUInt16LE(payload.length, 14);
    return Buffer.concat([start, payload, trailer]);
  });

/** FRU areas whose version, length and checksum are right and whose fields are anything. */
const area = fc
  .record({ language: fc.integer({ min: 0, max: 255 }), fields: bytes(300) })
  .map(({ language, fields }) => {
    const content = Buffer.concat([Buffer.from([1, 0, language]), fields]);
    const whole = Buffer.alloc(Math.ceil((content.length + 1) / 8) * 8);
    whole.set(content);
    whole[1] = whole.length / 8;
    whole[whole.length - 1] = -whole.reduce((sum, byte) => sum + byte, 0) & 0xff;
    return whole;
  });

describe.each(Object.entries(PARSERS))("%s", (_, parse) => {
  it("makes an answer, nothing or a typed error of any bytes", () => {
    fc.assert(fc.property(bytes(1_500), (datagram) => void orTypedError(() => parse(datagram))));
    fc.assert(fc.property(framed, (datagram) => void orTypedError(() => parse(datagram))));
    fc.assert(fc.property(area, (whole) => void orTypedError(() => parse(whole))));
  });
});

describe("what parsers make of any bytes", () => {
  it("is bounded by what came in", () => {
    fc.assert(
      fc.property(bytes(1_500), (data) => {
        for (const parse of Object.values(PARSERS)) {
          const made = orTypedError(() => parse(data));
          if (made instanceof BmcError) expect(made.message).toMatch(/^\P{Cc}+$/u);
          // Hex and the sentence around it are the most that a byte becomes.
          expect(JSON.stringify(made instanceof BmcError ? made.message : made)?.length ?? 0).toBeLessThan(
            2_000 + 40 * data.length,
          );
        }
      }),
      { numRuns: 50 },
    );
  });
});

describe("a sealed message", () => {
  it("opens to itself, whatever it holds", () => {
    const iv = fc.uint8Array({ minLength: 16, maxLength: 16 }).map((array) => Buffer.from(array));
    fc.assert(
      fc.property(bytes(255), iv, fc.integer({ min: 1, max: 0xffff_ffff }), (message, vector, sequence) => {
        expect(openMessage(SEAL, sealMessage(SEAL, sequence, message, vector))).toEqual({
          payload: "ipmi",
          sequence,
          message,
        });
      }),
    );
  });

  it("is not taken with any byte changed behind the RMCP header", () => {
    const sealed = sealMessage(SEAL, 1, Buffer.from("a message"), Buffer.alloc(16, 9));
    const at = fc.integer({ min: 4, max: sealed.length - 1 });
    fc.assert(
      fc.property(at, fc.integer({ min: 1, max: 255 }), (index, change) => {
        const forged = Buffer.from(sealed);
        forged[index] = forged.readUInt8(index) ^ change;
        expect(openMessage(SEAL, forged)).toBeUndefined();
      }),
    );
  });
});

describe("text and JSON from outside", () => {
  it("is a hint or an empty one", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (json) => {
        const { cipherSuite, manufacturer } = parseHint(json);
        expect([undefined, 3, 17]).toContain(cipherSuite);
        expect(manufacturer === undefined || Number.isInteger(manufacturer)).toBe(true);
      }),
    );
  });

  it("is a BMC key of at most 20 bytes or a typed error", () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 60 }), (text) => {
        const key = orTypedError(() => parseKg(text));
        expect(
          key instanceof BmcError ? key.class === "usage" : key instanceof Buffer && key.length <= 20,
        ).toBe(true);
      }),
    );
  });

  it("of ipmitool is bytes, a completion code or a typed error", () => {
    const printed = fc.oneof(
      fc.string({ unit: "binary", maxLength: 400 }),
      fc
        .array(fc.constantFrom(" 00", " zz", "\n", "rsp=0xd5", "RAW REQ", "Unable to send RAW command ("))
        .map((parts) => parts.join("")),
    );
    fc.assert(
      fc.property(printed, (text) => {
        orTypedError(() => parseRawOutput(text));
        const code = parseRefusal(text);
        expect(code === undefined || (code >= 0 && code <= 255)).toBe(true);
        expect(essenceOf(text).length).toBeLessThanOrEqual(2 * text.length + 2);
        expect(failureOf(GET_CHASSIS_STATUS, text)).toBeInstanceOf(BmcError);
      }),
    );
  });
});

describe("every code that a BMC may answer", () => {
  it("has a class and names itself", () => {
    for (let code = 1; code <= 255; code += 1) {
      const hex = code.toString(16).toUpperCase().padStart(2, "0");
      expect(completionError(GET_CHASSIS_STATUS, code).message).toContain(`0x${hex}`);
      expect(handshakeError("RAKP2", code).message).toContain(`0x${hex}`);
    }
  });
});

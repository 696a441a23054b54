import { createCipheriv } from "node:crypto";
import { describe, expect, it } from "vitest";
import { padKey } from "../../../../../shared/bmc/providers/ipmi/commands/credentials.ts";
import {
  type CipherSuite,
  hmac,
  isDowngrade,
  suitePlan,
} from "../../../../../shared/bmc/providers/ipmi/session/cipher-suite.ts";
import {
  buildLanRequest,
  parseLanResponse,
} from "../../../../../shared/bmc/providers/ipmi/session/message.ts";
import {
  buildOpenSessionRequest,
  keepsSuite,
  parseOpenSessionResponse,
} from "../../../../../shared/bmc/providers/ipmi/session/open-session.ts";
import {
  buildRakp1,
  buildRakp3,
  deriveKeys,
  parseRakp2,
  provesKeys,
  provesPassword,
  type RakpExchange,
  roleByte,
} from "../../../../../shared/bmc/providers/ipmi/session/rakp.ts";
import {
  buildHandshakePacket,
  buildRmcp,
  PayloadType,
  parseHandshakePacket,
} from "../../../../../shared/bmc/providers/ipmi/session/rmcp.ts";
import { openMessage, sealMessage } from "../../../../../shared/bmc/providers/ipmi/session/sealed-packet.ts";
import { captures } from "./captures.ts";

function suiteOf(id: 3 | 17): CipherSuite {
  const [suite] = suitePlan({ cipherSuite: id, allowSuite3: false }).asked;
  if (!suite) throw new Error("no such suite");
  return suite;
}

function payloadOf(packet: Buffer, type: number): Buffer {
  const payload = parseHandshakePacket(packet, type);
  if (!payload) throw new Error("not the expected packet");
  return payload;
}

/** Every value was computed by ipmitool 1.8.19 and accepted by the BMC it talked to. */
describe.each(captures)("a session that ipmitool held with $bmc, cipher suite $suiteId", (capture) => {
  const suite = suiteOf(capture.suiteId);
  const kuid = padKey(Buffer.from(capture.password));
  const kg = capture.kg === undefined ? kuid : padKey(Buffer.from(capture.kg));
  const rakp2 = parseRakp2(payloadOf(capture.rakp2, PayloadType.rakp2), suite);
  if (!rakp2) throw new Error("RAKP2 was not understood");
  const exchange: RakpExchange = {
    consoleId: capture.consoleId,
    bmcId: capture.bmcId,
    consoleRandom: capture.consoleRandom,
    bmcRandom: rakp2.bmcRandom,
    guid: rakp2.guid,
    role: roleByte("operator"),
    username: Buffer.from("admin"),
  };
  const keys = deriveKeys(suite, kg, exchange);

  it("has the Open Session Request that this client builds", () => {
    const { consoleId } = capture;
    const request = buildOpenSessionRequest({ tag: 0, privilege: "operator", consoleId, suite });

    expect(buildHandshakePacket(PayloadType.openSessionRequest, request)).toEqual(capture.openSessionRequest);
  });

  it("has an Open Session Response that keeps the suite", () => {
    const payload = payloadOf(capture.openSessionResponse, PayloadType.openSessionResponse);
    const response = parseOpenSessionResponse(payload);

    expect(response?.bmcId).toBe(capture.bmcId);
    expect(response && keepsSuite(response, suite)).toBe(true);
    expect(response && keepsSuite(response, suiteOf(capture.suiteId === 3 ? 17 : 3))).toBe(false);
    for (const weaker of [{ authentication: 0 }, { integrity: 0 }, { confidentiality: 0 }]) {
      expect(response && keepsSuite({ ...response, ...weaker }, suite), JSON.stringify(weaker)).toBe(false);
    }
  });

  it("has an Open Session Response that is malformed if it is shorter, or names no session", () => {
    const payload = payloadOf(capture.openSessionResponse, PayloadType.openSessionResponse);
    const noSession = Buffer.from(payload);
    noSession.writeUInt32LE(0, 8);

    expect(parseOpenSessionResponse(payload.subarray(0, 35))).toBeUndefined();
    expect(parseOpenSessionResponse(noSession)).toBeUndefined();
  });

  it("has the RAKP1 that this client builds", () => {
    const { bmcId, consoleRandom } = capture;
    const rakp1 = buildRakp1({ ...exchange, tag: 0, bmcId, consoleRandom });

    expect(buildHandshakePacket(PayloadType.rakp1, rakp1)).toEqual(capture.rakp1);
  });

  it("has a RAKP2 that proves the password, and no other", () => {
    const wrong = padKey(Buffer.from(`${capture.password}!`));

    expect(provesPassword(suite, kuid, exchange, rakp2.authCode)).toBe(true);
    expect(provesPassword(suite, wrong, exchange, rakp2.authCode)).toBe(false);
    expect(provesPassword(suite, kuid, { ...exchange, role: 0x03 }, rakp2.authCode)).toBe(false);
  });

  it("has a RAKP2 that is malformed if it is a byte shorter", () => {
    const whole = payloadOf(capture.rakp2, PayloadType.rakp2).subarray(0, 40 + suite.hmacBytes);

    expect(parseRakp2(whole, suite)).toEqual(rakp2);
    expect(parseRakp2(whole.subarray(0, -1), suite)).toBeUndefined();
  });

  it("has the RAKP3 that this client builds", () => {
    expect(
      buildHandshakePacket(PayloadType.rakp3, buildRakp3(suite, kuid, exchange, { tag: 0, counts: "whole" })),
    ).toEqual(capture.rakp3);
  });

  it("has the keys that this client derives, K1 and K2 from twenty constant bytes", () => {
    expect(keys.sik).toEqual(capture.sik);
    expect(keys.integrity).toEqual(capture.k1);
    expect(keys.encryption).toEqual(capture.k2.subarray(0, 16));
  });

  it("has a RAKP4 that proves the session key, and no other", () => {
    const payload = payloadOf(capture.rakp4, PayloadType.rakp4);

    expect(provesKeys(suite, keys.sik, exchange, payload)).toBe(true);
    expect(provesKeys(suite, Buffer.alloc(20), exchange, payload)).toBe(false);
    expect(provesKeys(suite, keys.sik, exchange, payload.subarray(0, -1))).toBe(false);
  });

  it("has the encrypted and authenticated request that this client builds", () => {
    const request = buildLanRequest({ netFn: 0x06, command: 0x3b, sequence: 1, data: Uint8Array.of(0x03) });
    const seal = { suite, keys, sessionId: capture.bmcId };

    expect(request.toString("hex")).toBe("2018c881043b033d");
    expect(sealMessage(seal, 3, request, capture.requestIv)).toEqual(capture.request);
  });

  it("has a response that opens to the BMC's answer", () => {
    const opened = openMessage({ suite, keys, sessionId: capture.consoleId }, capture.response);

    expect(opened?.sequence).toBe(1);
    expect(opened && parseLanResponse(opened.message)).toEqual({
      responder: 0x20,
      netFn: 0x06,
      command: 0x3b,
      sequence: 1,
      completionCode: 0,
      data: Buffer.of(0x03),
    });
  });

  it("has a response whose every byte behind the RMCP header is protected", () => {
    const seal = { suite, keys, sessionId: capture.consoleId };

    for (let at = 4; at < capture.response.length; at += 1) {
      const forged = Buffer.from(capture.response);
      forged.writeUInt8(forged.readUInt8(at) ^ 0x01, at);
      expect(openMessage(seal, forged), `byte ${at}`).toBeUndefined();
    }
  });

  it("has a response of which no shorter part is taken", () => {
    const seal = { suite, keys, sessionId: capture.consoleId };

    for (let length = 0; length < capture.response.length; length += 1) {
      expect(openMessage(seal, capture.response.subarray(0, length)), `${length} bytes`).toBeUndefined();
    }
  });
});

describe("an encrypted payload", () => {
  const suite = suiteOf(17);
  const keys = { sik: Buffer.alloc(32, 1), integrity: Buffer.alloc(32, 2), encryption: Buffer.alloc(16, 3) };
  const seal = { suite, keys, sessionId: 0x01020304 };

  it("is decrypted whole at every length around the block size", () => {
    for (let length = 1; length <= 50; length += 1) {
      const message = Buffer.alloc(length, length);
      const packet = sealMessage(seal, length, message, Buffer.alloc(16, 9));

      expect(openMessage(seal, packet)).toEqual({ payload: "ipmi", sequence: length, message });
    }
  });

  it.each([
    ["not encrypted", 0x80, false],
    ["not authenticated", 0x40, false],
    ["both", 0x00, true],
  ])(
    "with a header that says it is %s (%i cleared) and a valid integrity check is taken: %s",
    (_, cleared, taken) => {
      const packet = sealMessage(seal, 1, Buffer.of(1, 2, 3), Buffer.alloc(16, 9));
      packet.writeUInt8(packet.readUInt8(5) & ~cleared, 5);
      const covered = packet.subarray(4, -suite.checkBytes);
      const check = hmac(suite, keys.integrity, covered).subarray(0, suite.checkBytes);

      const opened = openMessage(seal, Buffer.concat([packet.subarray(0, -suite.checkBytes), check]));

      expect(opened !== undefined).toBe(taken);
    },
  );

  /** Three bytes of message, 12 of pad. */
  const plain = Buffer.of(1, 2, 3, ...Array.from({ length: 12 }, (_, index) => index + 1), 12);

  function encrypted(block: Buffer): Buffer {
    const iv = Buffer.alloc(16, 9);
    const cipher = createCipheriv("aes-128-cbc", keys.encryption, iv).setAutoPadding(false);
    return Buffer.concat([iv, cipher.update(block), cipher.final()]);
  }

  /** With a valid integrity check, as a BMC could send it. */
  function withCheck(payload: Buffer, trailer = Buffer.of(0, 7)): Buffer {
    const header = { payloadType: PayloadType.ipmi, encrypted: true, authenticated: true };
    const packet = buildRmcp({ ...header, sessionId: seal.sessionId, sequence: 1, payload });
    const covered = Buffer.concat([packet.subarray(4), trailer]);
    const check = hmac(suite, keys.integrity, covered).subarray(0, suite.checkBytes);
    return Buffer.concat([packet, trailer, check]);
  }

  it("is taken with a trailer of the least length", () => {
    expect(openMessage(seal, withCheck(encrypted(plain)))?.message).toEqual(Buffer.of(1, 2, 3));
  });

  it.each([
    ["has no block", withCheck(Buffer.alloc(16))],
    ["ends within a block", withCheck(Buffer.alloc(31))],
    ["is all pad", withCheck(encrypted(Buffer.alloc(16, 16)))],
    ["has no trailer before the check", withCheck(encrypted(plain), Buffer.alloc(0))],
  ])("is dropped in spite of a valid integrity check if it %s", (_, packet) => {
    expect(openMessage(seal, packet)).toBeUndefined();
  });

  it("is not taken from another session", () => {
    const packet = sealMessage({ ...seal, sessionId: 5 }, 1, Buffer.of(1), Buffer.alloc(16));

    expect(openMessage(seal, packet)).toBeUndefined();
  });
});

describe("a LAN response", () => {
  const response = Buffer.from("811c6320043b00039e", "hex");

  it("is dropped when either checksum fails", () => {
    for (const at of [0, 1, 2, 3, 4, 5, 6, 7, 8]) {
      const damaged = Buffer.from(response);
      damaged.writeUInt8(damaged.readUInt8(at) ^ 0x10, at);
      expect(parseLanResponse(damaged), `byte ${at}`).toBeUndefined();
    }
  });

  it("is dropped when it is a request or too short", () => {
    expect(parseLanResponse(Buffer.from("2018c881043b033d", "hex"))).toBeUndefined();
    expect(parseLanResponse(response.subarray(0, 7))).toBeUndefined();
  });
});

it("suite 3 is a downgrade unless the entry asks for it", () => {
  expect(isDowngrade({ allowSuite3: true }, 3)).toBe(true);
  expect(isDowngrade({ allowSuite3: true }, 17)).toBe(false);
  expect(isDowngrade({ allowSuite3: true, cipherSuite: 3 }, 3)).toBe(false);
});

import { describe, expect, it } from "vitest";
import { GET_CHASSIS_STATUS } from "../../../../../shared/bmc/providers/ipmi/commands/chassis.ts";
import { completionError } from "../../../../../shared/bmc/providers/ipmi/commands/completion-code.ts";
import {
  parseKg,
  passwordBytes,
  usernameBytes,
} from "../../../../../shared/bmc/providers/ipmi/commands/credentials.ts";
import { sameBytes } from "../../../../../shared/bmc/providers/ipmi/session/cipher-suite.ts";
import { matchAnswer } from "../../../../../shared/bmc/providers/ipmi/session/handshake-link.ts";
import {
  forgotSession,
  handshakeError,
  refusesSuite,
} from "../../../../../shared/bmc/providers/ipmi/session/handshake-status.ts";
import {
  sendUntilAnswered,
  waitAfterCopyMs,
} from "../../../../../shared/bmc/providers/ipmi/session/retransmission.ts";
import {
  buildHandshakePacket,
  PayloadType,
  parseRmcp,
} from "../../../../../shared/bmc/providers/ipmi/session/rmcp.ts";
import { SequenceWindow } from "../../../../../shared/bmc/providers/ipmi/session/session.ts";
import { scaledClock } from "../../../../support/scaled-clock.ts";

describe("the window of sequence numbers", () => {
  it("takes each number once, in any order within 32", () => {
    const window = new SequenceWindow();

    expect([1, 3, 2, 3, 1, 40, 9, 8, 10, 9, 40].map((number) => window.accept(number))).toEqual([
      true,
      true,
      true,
      false,
      false,
      true,
      true,
      false,
      true,
      false,
      false,
    ]);
  });

  it("knows nothing of the numbers that a jump of its width leaves out", () => {
    const window = new SequenceWindow();

    expect([1, 2, 34, 33, 33, 3].map((number) => window.accept(number))).toEqual([
      ...[true, true, true, true, false, true],
    ]);
  });

  it("never takes 0, and jumps far", () => {
    const window = new SequenceWindow();

    expect(window.accept(0)).toBe(false);
    expect(window.accept(0xff_ff_ff_ff)).toBe(true);
    expect(window.accept(0xff_ff_ff_fe)).toBe(true);
    expect(window.accept(1)).toBe(false);
  });
});

describe("retransmission", () => {
  it("waits half a second at first and never more than four", () => {
    expect([0, 1, 2, 3, 4, 9].map(waitAfterCopyMs)).toEqual([500, 1_000, 2_000, 4_000, 4_000, 4_000]);
  });

  it("sends one copy where that is all that may be sent", async () => {
    const copies: number[] = [];
    const exchange = {
      send: (copy: number) => copies.push(copy),
      answer: new Promise<never>(() => undefined),
      limitMs: 20_000,
      repeat: false,
    };

    await expect(
      sendUntilAnswered(exchange, scaledClock(400), new AbortController().signal),
    ).rejects.toMatchObject({ name: "TimeoutReached", afterMs: 20_000 });
    expect(copies).toEqual([0]);
  });

  it("sends nothing under a signal that has aborted", async () => {
    const copies: number[] = [];
    const exchange = {
      send: (copy: number) => copies.push(copy),
      answer: new Promise<never>(() => undefined),
      limitMs: 1_000,
      repeat: true,
    };

    await expect(
      sendUntilAnswered(exchange, scaledClock(1), AbortSignal.abort(new Error("enough"))),
    ).rejects.toThrow("enough");
    expect(copies).toEqual([]);
  });
});

describe("credentials", () => {
  it.each([
    ["a user name", usernameBytes, 16],
    ["a password", passwordBytes, 20],
    ["a BMC key Kg", parseKg, 20],
  ])("%s has its limit in bytes", (_, bytesOf, limit) => {
    expect(bytesOf("ä".repeat(limit / 2))).toHaveLength(limit);
    expect(() => bytesOf(`${"ä".repeat(limit / 2)}x`)).toThrow(`${limit + 1} bytes`);
  });

  it("a BMC key Kg is hex only if it begins with 0x", () => {
    expect(parseKg("0x4A6b")).toEqual(Buffer.of(0x4a, 0x6b));
    expect(parseKg("k0x4a")).toEqual(Buffer.from("k0x4a"));
    expect(() => parseKg("0x4a6")).toThrow("two digits per byte");
    expect(() => parseKg("0x4a\n")).toThrow("two digits per byte");
  });
});

describe("an answer of the handshake", () => {
  const expected = { tag: 7, consoleId: 0x44332211 };
  const whole = Buffer.of(7, 0, 0, 0, 0x11, 0x22, 0x33, 0x44);
  const shortError = Buffer.of(7, 0x0d);
  const matched = (payload: Buffer, type: number = PayloadType.rakp2) =>
    matchAnswer(buildHandshakePacket(type, payload), PayloadType.rakp2, expected);

  it("has the tag and the console's session ID, or is an error too short for that", () => {
    expect(matched(whole)).toEqual({ status: 0, payload: whole });
    expect(matched(shortError)).toEqual({ status: 0x0d, payload: shortError });
  });

  it.each([
    ["another tag", Buffer.of(8, ...whole.subarray(1))],
    ["another console's session ID", Buffer.of(...whole.subarray(0, 7), 0x45)],
    ["no session ID, although it is no error", whole.subarray(0, 7)],
    ["no status", whole.subarray(0, 1)],
  ])("is ignored with %s", (_, payload) => {
    expect(matched(payload)).toBeUndefined();
  });

  it("is ignored under another type", () => {
    expect(matched(whole, PayloadType.rakp4)).toBeUndefined();
  });
});

describe("handshake statuses", () => {
  it.each<[number, string, string?]>([
    [1, "busy"],
    [2, "protocol"],
    [3, "protocol"],
    [4, "unsupported"],
    [5, "unsupported"],
    [6, "unsupported"],
    [7, "unsupported"],
    [8, "protocol"],
    [9, "auth", "right"],
    [10, "auth", "right"],
    [11, "busy"],
    [12, "auth", "login"],
    [13, "auth", "login"],
    [14, "protocol"],
    [15, "auth", "login"],
    [16, "unsupported"],
    [17, "unsupported"],
    [18, "unsupported"],
    [127, "bmc"],
  ])("%i has its class, and says what is refused", (status, errorClass, refused) => {
    const error = handshakeError("RAKP1", status);

    expect(error).toMatchObject({
      class: errorClass,
      message: expect.stringMatching(/^RAKP1: \w.+ \(status 0x[0-9A-F]{2}\)$/),
    });
    expect(error.refused).toBe(refused);
  });

  it("of algorithms and of forgotten sessions lead to another attempt", () => {
    const statuses = [...Array(32).keys()];

    const leadsToOther = (message: string) => statuses.filter((status) => refusesSuite(message, status));
    expect(leadsToOther("Open Session")).toEqual([4, 5, 6, 7, 9, 10, 16, 17, 18]);
    expect(leadsToOther("RAKP1")).toEqual([4, 5, 6, 7, 9, 10, 13, 16, 17, 18]);
    expect(leadsToOther("RAKP3")).toEqual([]);
    expect(statuses.filter(forgotSession)).toEqual([2, 8]);
  });
});

it("every code that a BMC may answer has a class and names itself", () => {
  for (let code = 1; code <= 255; code += 1) {
    const hex = code.toString(16).toUpperCase().padStart(2, "0");
    expect(completionError(GET_CHASSIS_STATUS, code).message).toContain(`0x${hex}`);
    expect(handshakeError("RAKP2", code).message).toContain(`0x${hex}`);
  }
});

describe("bytes off the wire", () => {
  it("are compared by value and length", () => {
    expect(sameBytes(Buffer.of(1, 2), Buffer.of(1, 2))).toBe(true);
    expect(sameBytes(Buffer.of(1, 2), Buffer.of(1, 3))).toBe(false);
    expect(sameBytes(Buffer.of(1, 2), Buffer.of(1))).toBe(false);
  });

  it("are no RMCP+ packet when short, longer announced than there, or of another class or format", () => {
    const packet = Buffer.from("0600ff07061000000000000000000100aa", "hex");
    const change = (at: number, value: number) => {
      const changed = Buffer.from(packet);
      changed[at] = value;
      return changed;
    };

    expect(parseRmcp(packet)?.payload).toEqual(Buffer.of(0xaa));
    expect(parseRmcp(packet.subarray(0, -1))).toBeUndefined();
    expect(parseRmcp(packet.subarray(0, 15))).toBeUndefined();
    expect(parseRmcp(change(14, 2))).toBeUndefined();
    expect(parseRmcp(change(3, 6))).toBeUndefined();
    expect(parseRmcp(change(4, 0))).toBeUndefined();
  });
});

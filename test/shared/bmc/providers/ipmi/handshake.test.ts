import { createSocket } from "node:dgram";
import { once } from "node:events";
import { describe, expect, it } from "vitest";
import { buildHandshakePacket, PayloadType } from "../../../../../shared/bmc/providers/ipmi/session/rmcp.ts";
import type { IpmiBmc } from "../../../../../simulators/ipmi/bmc.ts";
import { scaledClock } from "../../../../support/scaled-clock.ts";
import { eventually, limit, openSession, recordingLogger, startBmc } from "./bench.ts";

const ALLOWED = { ipmi: { allowSuite3: true } };
/** Byte 12 of Open Session is the authentication algorithm; 3 is HMAC-SHA256. */
const isSuite17 = (name: string, payload: Buffer) => name === "Open Session" && payload[12] === 3;

describe.concurrent("cipher suites", () => {
  it("begins with 17 and remembers it", async () => {
    await using bmc = await startBmc();
    const log = recordingLogger();

    await using session = await openSession(bmc, { log });

    expect(session.hint()).toEqual({ cipherSuite: 17 });
    expect(session.roundTrips()).toBe(3);
    expect(log.lines).toEqual([]);
  });

  it("does not fall back to 3 unless the entry allows it: the error names what the BMC offers, and the option", async () => {
    await using bmc = await startBmc({ cipherSuites: [3] });

    const opening = openSession(bmc, { hint: { cipherSuite: 3 } });

    await expect(opening).rejects.toMatchObject({
      class: "unsupported",
      message:
        "the BMC offers cipher suite 3 and not 17; to accept suite 3 (SHA-1), which is weaker, use " +
        "--ipmi-allow-suite-3, IPMI_ALLOW_SUITE_3=true or, in the inventory, ipmi: {allowSuite3: true}",
    });
    expect(bmc.log).toEqual(["Open Session", "Open Session"]);
    await eventually(() => bmc.sessions() === 0);
  });

  it("says the same of a BMC that drops suite 17 without a word", async () => {
    await using bmc = await startBmc();
    bmc.faults.ignores = isSuite17;

    const opening = openSession(bmc, { overrides: { connectTimeoutMs: 900 } });

    await expect(opening).rejects.toMatchObject({
      class: "unsupported",
      message: expect.stringContaining("IPMI_ALLOW_SUITE_3=true"),
    });
    expect(bmc.log).not.toContain("RAKP1");
    await eventually(() => bmc.sessions() === 0);
  });

  it("uses 17 where its answer was only lost, although the BMC offered 3 meanwhile", async () => {
    await using bmc = await startBmc();
    let lost = 0;
    bmc.faults.ignores = (name, payload) => isSuite17(name, payload) && lost++ === 0;

    await using session = await openSession(bmc);

    expect(session.hint()).toEqual({ cipherSuite: 17 });
    await eventually(() => bmc.sessions() === 1);
  });

  it("falls back to 3 where the entry allows it, logs that each time, and begins with 3 the next time", async () => {
    await using bmc = await startBmc({ cipherSuites: [3] });
    const log = recordingLogger();

    await using first = await openSession(bmc, { overrides: ALLOWED, log });
    await using second = await openSession(bmc, { overrides: ALLOWED, log, hint: first.hint() });

    expect(first.hint()).toEqual({ cipherSuite: 3 });
    expect(first.roundTrips()).toBe(4);
    expect(second.roundTrips()).toBe(3);
    expect(log.lines.filter(({ message }) => message.includes("downgraded"))).toEqual([
      { fields: { host: "127.0.0.1", provider: "ipmi" }, message: expect.stringContaining("allowSuite3") },
      { fields: { host: "127.0.0.1", provider: "ipmi" }, message: expect.stringContaining("allowSuite3") },
    ]);
  });

  it("goes back to 17 when a remembered 3 is refused", async () => {
    await using bmc = await startBmc({ cipherSuites: [17] });

    await using session = await openSession(bmc, { overrides: ALLOWED, hint: { cipherSuite: 3 } });

    expect(session.hint()).toEqual({ cipherSuite: 17 });
  });

  it("ignores a hint that is none", async () => {
    await using bmc = await startBmc();

    await using session = await openSession(bmc, { hint: { cipherSuite: "0", manufacturer: [] } });

    expect(session.hint()).toEqual({ cipherSuite: 17 });
  });

  it("falls back after the first silence, and does not remember what may have been a lost packet", async () => {
    await using bmc = await startBmc();
    bmc.faults.ignores = isSuite17;

    await using session = await openSession(bmc, { overrides: ALLOWED });

    expect(await session.power.read(limit())).toBe("off");
    expect(session.hint()).toEqual({});
  });

  it("uses the operator's choice alone", async () => {
    await using bmc = await startBmc({ cipherSuites: [3] });

    await expect(openSession(bmc, { overrides: { ipmi: { cipherSuite: 17 } } })).rejects.toMatchObject({
      class: "unsupported",
      message: "the BMC offers no cipher suite out of 17",
    });
  });

  it("is unsupported when the BMC has neither", async () => {
    await using bmc = await startBmc({ cipherSuites: [] });

    await expect(openSession(bmc)).rejects.toMatchObject({ class: "unsupported" });
  });

  it("asks for the other suite when the BMC names that one in its answer, and takes no other's word for it", async () => {
    await using bmc = await startBmc();
    bmc.faults.rewrites = (name, datagram) => {
      if (name !== "Open Session") return [datagram];
      const named = Buffer.from(datagram);
      for (const at of [16 + 16, 16 + 24]) named.writeUInt8(1, at);
      return [named];
    };

    await using session = await openSession(bmc, { overrides: ALLOWED });

    expect(await session.power.read(limit())).toBe("off");
    expect(session.hint()).toEqual({ cipherSuite: 3 });
    // On a busy machine each may be sent more often.
    expect(bmc.log.filter((name) => name === "Open Session").length).toBeGreaterThanOrEqual(2);
  });

  it("refuses an answer with weaker algorithms than asked for", async () => {
    await using bmc = await startBmc();
    bmc.faults.rewrites = (name, datagram) => {
      const weaker = Buffer.from(datagram);
      if (name === "Open Session") weaker.writeUInt8(0, 16 + 16);
      return [weaker];
    };

    await expect(openSession(bmc)).rejects.toMatchObject({
      class: "protocol",
      message: expect.stringContaining("algorithms that were not requested"),
    });
    await eventually(() => bmc.sessions() === 0);
  });

  it("gives back the slots of both copies when the handshake fails at the first answer", async () => {
    await using bmc = await startBmc();
    let held: Buffer | undefined;
    bmc.faults.rewrites = (name, datagram) => {
      const weaker = Buffer.from(datagram);
      if (name !== "Open Session") return [weaker];
      weaker.writeUInt8(0, 16 + 16);
      if (held) return [held, weaker];
      held = weaker;
      return [];
    };

    await expect(openSession(bmc)).rejects.toMatchObject({ class: "protocol" });

    await eventually(() => bmc.sessions() === 0);
  });
});

describe.concurrent("an answer that is too short", () => {
  it.each([
    ["Open Session", PayloadType.openSessionResponse],
    ["RAKP1", PayloadType.rakp2],
  ])("to %s is class protocol", async (asked, type) => {
    await using bmc = await startBmc();
    bmc.faults.rewrites = (name, datagram) =>
      name === asked ? [buildHandshakePacket(type, datagram.subarray(16, 28))] : [datagram];

    await expect(openSession(bmc)).rejects.toMatchObject({
      class: "protocol",
      message: expect.stringContaining("malformed"),
    });
  });
});

describe.concurrent("credentials", () => {
  it.each([3, 17] as const)("names a wrong password as such under cipher suite %i", async (cipherSuite) => {
    await using bmc = await startBmc();
    const overrides = { password: "Calvin", ipmi: { cipherSuite } };

    await expect(openSession(bmc, { overrides })).rejects.toMatchObject({
      class: "auth",
      message: expect.stringContaining("wrong password"),
    });
    // One try only: accounts lock.
    expect(bmc.log.filter((name) => name === "RAKP1")).toHaveLength(1);
    await eventually(() => bmc.sessions() === 0);
  });

  it("names an unknown user as such", async () => {
    await using bmc = await startBmc();

    await expect(openSession(bmc, { overrides: { username: "unknown" } })).rejects.toMatchObject({
      class: "auth",
      message: expect.stringContaining("unknown user name"),
    });
  });

  it("says that the user may not reach the privilege level", async () => {
    await using bmc = await startBmc({ users: [{ name: "admin", password: "calvin", privilege: "user" }] });

    await expect(openSession(bmc)).rejects.toMatchObject({
      class: "auth",
      message: expect.stringContaining("privilege level"),
    });
  });

  it("takes the null user with an empty password", async () => {
    await using bmc = await startBmc({ users: [{ name: "", password: "" }] });

    await using session = await openSession(bmc, { overrides: { username: undefined, password: undefined } });

    expect(await session.power.read(limit())).toBe("off");
  });

  it.each([
    ["text", "bmc key"],
    ["hex", `0x${Buffer.from("bmc key").toString("hex")}`],
  ])("takes the BMC key as %s", async (_, kg) => {
    await using bmc = await startBmc({ kg: "bmc key" });

    await using session = await openSession(bmc, { overrides: { ipmi: { kg } } });

    expect(await session.power.read(limit())).toBe("off");
  });

  it.each([
    ["wrong", { kg: "another key" }, "wrong BMC key Kg"],
    ["missing", {}, "the BMC has a key Kg, which is not configured"],
  ])("distinguishes a %s BMC key from a wrong password", async (_, ipmi, message) => {
    await using bmc = await startBmc({ kg: "bmc key" });

    await expect(openSession(bmc, { overrides: { ipmi } })).rejects.toMatchObject({
      class: "auth",
      message: expect.stringContaining(message),
    });
  });

  it("logs in at a BMC that cut the password to 16 bytes, and says so", async () => {
    const password = "seventeen-bytes-!";
    await using bmc = await startBmc({ passwordBytes: 16, users: [{ name: "admin", password }] });
    const log = recordingLogger();

    await using session = await openSession(bmc, { log, overrides: { password } });

    expect(await session.power.read(limit())).toBe("off");
    expect(log.lines.map(({ fields }) => fields["quirk"])).toContain("password-cut-to-16-bytes");
    expect(bmc.log.filter((name) => name === "RAKP1")).toHaveLength(1);
  });

  it.each([
    ["user name of 17 bytes", { username: "seventeen-bytes-!" }],
    ["user name whose characters make more than 16 bytes", { username: "ééééééééé" }],
    ["password of 21 bytes", { password: "twenty-one-bytes-long" }],
    ["password with a NUL", { password: "cal\0vin" }],
    ["BMC key of 21 bytes", { ipmi: { kg: "twenty-one-bytes-long" } }],
    ["BMC key that is only nearly hex", { ipmi: { kg: "0x123" } }],
  ])("refuses a %s before anything is sent", async (_, overrides) => {
    await using bmc = await startBmc();

    await expect(openSession(bmc, { overrides })).rejects.toMatchObject({ class: "usage" });
    expect(bmc.received).toBe(0);
  });
});

describe.concurrent("reaching the BMC", () => {
  it("fails at once where the port is closed", async () => {
    const socket = createSocket("udp4").bind(0, "127.0.0.1");
    await once(socket, "listening");
    const { port } = socket.address();
    await new Promise<void>((resolve) => socket.close(() => resolve()));
    const startedMs = performance.now();

    await expect(openSession({ port }, { overrides: { connectTimeoutMs: 20_000 } })).rejects.toMatchObject({
      class: "unreachable",
      message: expect.stringContaining("refused"),
    });
    expect(performance.now() - startedMs).toBeLessThan(10_000);
  });

  it("is unsupported when the BMC answers in IPMI 1.5 alone, whatever the time limit", async () => {
    const socket = createSocket("udp4").bind(0, "127.0.0.1");
    await once(socket, "listening");
    // The answer of channel 1, with MD5 and passwords: no extended capabilities.
    const denial = Buffer.from("0600ff0700000000000000000010" + "811c63200438000116040000000000a9", "hex");
    socket.on("message", (message, { port }) => {
      if (message[4] === 0) socket.send(denial, port, "127.0.0.1");
    });
    try {
      const opening = openSession(socket.address(), {
        clock: scaledClock(20),
        overrides: { connectTimeoutMs: 40_000 },
      });

      await expect(opening).rejects.toMatchObject({
        class: "unsupported",
        message: "the BMC supports only IPMI 1.5, without RMCP+",
      });
    } finally {
      socket.close();
    }
  });

  it("is unreachable when nothing ever answers, and not later than asked", async () => {
    await using bmc = await startBmc();
    bmc.faults.ignores = () => true;

    await expect(openSession(bmc, { overrides: { connectTimeoutMs: 700 } })).rejects.toMatchObject({
      class: "unreachable",
      message: "no IPMI answer within 700 ms",
    });
    expect(bmc.received).toBe(2);
  });

  it("is a time-out when the BMC falls silent after its first answer", async () => {
    await using bmc = await startBmc();
    bmc.faults.ignores = (name) => name === "RAKP1";

    await expect(openSession(bmc, { overrides: { connectTimeoutMs: 700 } })).rejects.toMatchObject({
      class: "timeout",
    });
    await eventually(() => bmc.sessions() === 0);
  });

  it("waits longer with each attempt", async () => {
    await using bmc = await startBmc();
    bmc.faults.ignores = (name) => name === "RAKP1";
    const options = { clock: scaledClock(20), overrides: { connectTimeoutMs: 7_000 } };

    await expect(openSession(bmc, options)).rejects.toMatchObject({ class: "timeout" });

    // At 0, 0.5, 1.5 and 3.5 s.
    expect(bmc.log.filter((name) => name === "Open Session")).toHaveLength(4);
  });

  it("does not know an unknown host", async () => {
    await expect(openSession({ port: 623 }, { overrides: { host: "bmc.invalid" } })).rejects.toMatchObject({
      class: "unreachable",
    });
  });

  it("is busy when the BMC has no session slot left", async () => {
    await using bmc = await startBmc({ sessionSlots: 1 });
    await using first = await openSession(bmc);

    await expect(openSession(bmc)).rejects.toMatchObject({ class: "busy" });
    await first.close();
    await eventually(() => bmc.sessions() === 0);
    await using second = await openSession(bmc);
    expect(await second.power.read(limit())).toBe("off");
  });
});

describe.concurrent("a handshake that loses a message", () => {
  it.each(["Open Session", "RAKP1", "RAKP3"])("starts again when the answer to %s is lost", async (lost) => {
    await using bmc = await startBmc();
    let losses = 0;
    bmc.faults.losesAnswer = (name) => name === lost && losses++ === 0;

    await using session = await openSession(bmc);

    expect(await session.power.read(limit())).toBe("off");
    // A lost RAKP leaves nothing behind: the half-open session was given up or closed.
    await eventually(() => bmc.sessions() <= (lost === "Open Session" ? 2 : 1));
  });

  it("takes no answer that belongs to another handshake", async () => {
    await using bmc = await startBmc();
    bmc.faults.rewrites = (name, datagram) => {
      if (!["Open Session", "RAKP1", "RAKP3"].includes(name)) return [datagram];
      const otherTag = Buffer.from(datagram);
      otherTag.writeUInt8((otherTag.readUInt8(16) + 1) & 0xff, 16);
      const otherConsole = Buffer.from(datagram);
      otherConsole.writeUInt32LE((otherConsole.readUInt32LE(20) ^ 0xff) >>> 0, 20);
      const refusal = Buffer.from(otherConsole);
      refusal.writeUInt8(0x0d, 17);
      return [otherTag, otherConsole, refusal, Buffer.from("0600ff07"), datagram];
    };

    await using session = await openSession(bmc);

    expect(session.roundTrips()).toBe(3);
    expect(await session.power.read(limit())).toBe("off");
  });

  it("gives a slow BMC the time that it needs", async () => {
    await using bmc = await startBmc({ network: { latencyMs: 700 } });

    await using session = await openSession(bmc, { overrides: { connectTimeoutMs: 15_000 } });

    expect(session.hint()).toEqual({ cipherSuite: 17 });
    expect(bmc.log.filter((name) => name === "RAKP1")).toHaveLength(1);
    // The BMC answered a second Open Session, too; that slot is given back.
    expect(bmc.log.filter((name) => name === "Open Session")).toHaveLength(2);
    await eventually(() => bmc.sessions() === 1);
  });
});

describe.concurrent("an aborted handshake", () => {
  it.each(["Open Session", "RAKP1", "RAKP3"])(
    "leaves no session behind while it waits for %s",
    async (silent) => {
      await using bmc = await startBmc();
      const abort = new AbortController();
      bmc.faults.losesAnswer = (name) => name === silent;
      if (silent === "Open Session") bmc.faults.ignores = () => true;

      const opening = openSession(bmc, { signal: abort.signal });
      await eventually(() => bmc.log.includes(silent));
      abort.abort(new Error("enough"));

      await expect(opening).rejects.toThrow("enough");
      await eventually(() => bmc.sessions() === 0);
    },
  );

  it("gives back a slot whose answer has come while the process was busy", async () => {
    await using bmc = await startBmc();
    const abort = new AbortController();
    bmc.faults.ignores = (name) => {
      if (name === "Open Session") {
        abort.abort(new Error("enough"));
        setImmediate(blockForMs, 400);
      }
      return false;
    };

    await expect(openSession(bmc, { signal: abort.signal })).rejects.toThrow("enough");

    await eventually(() => bmc.log.includes("RAKP3"));
    expect(bmc.sessions()).toBe(0);
  });

  it("gives back a slot whose answer comes as the time limit passes", async () => {
    await using bmc = await startBmc();
    let openings = 0;
    bmc.faults.ignores = (name) => {
      if (name === "Open Session" && ++openings === 2) setImmediate(blockForMs, 600);
      return name === "RAKP1";
    };

    await expect(openSession(bmc, { overrides: { connectTimeoutMs: 700 } })).rejects.toMatchObject({
      class: "timeout",
    });

    await eventually(() => bmc.sessions() === 0);
  });
});

/** Longer than an aborted handshake waits: its timer has run out when the process reads from sockets again. */
function blockForMs(ms: number): void {
  const endMs = performance.now() + ms;
  while (performance.now() < endMs);
}

/** The payload of a handshake's datagram begins behind RMCP and session header. */
const PAYLOAD_OFFSET = 16;
const AUTH_CODE_OFFSET = PAYLOAD_OFFSET + 40;

/** Its code as a BMC sends it that cannot compute it. */
function withoutCode(datagram: Buffer): Buffer {
  return Buffer.from(datagram).fill(0, AUTH_CODE_OFFSET);
}

/** The datagram with more bytes at the end of its payload. */
function longer(datagram: Buffer, bytes: number): Buffer {
  const copy = Buffer.concat([datagram, Buffer.alloc(bytes, 0x5a)]);
  copy.writeUInt16LE(copy.length - PAYLOAD_OFFSET, 14);
  return copy;
}

/** Open Session's status for suite 17. */
const opening17 = (status: number) => (bmc: IpmiBmc) => {
  bmc.faults.shakes = (name, payload) => (isSuite17(name, payload) ? status : undefined);
};
/** RAKP2's status, the first time alone, which is that of suite 17. */
const challenge17 = (status: number) => (bmc: IpmiBmc) => {
  let count = 0;
  bmc.faults.shakes = (name) => (name === "RAKP1" && count++ === 0 ? status : undefined);
};
const emptyCode = (bmc: IpmiBmc) => {
  let count = 0;
  bmc.faults.rewrites = (name, datagram) =>
    name === "RAKP1" && count++ === 0 ? [withoutCode(datagram)] : [datagram];
};

describe.concurrent("a BMC that takes suite 3 alone and says it its own way", () => {
  it.each<[string, (bmc: IpmiBmc) => void]>([
    ["IW002: suite 17's RAKP2 has an empty code", emptyCode],
    ["IW003: RAKP2 says that the name is unknown", challenge17(0x0d)],
    ["IW003: RAKP2 says that the role is refused", challenge17(0x09)],
    ["IW004: Open Session says 0x09", opening17(0x09)],
    ["IW004: Open Session says 0x0A", opening17(0x0a)],
    ["IW005: Open Session says 0x11", opening17(0x11)],
    ["IW005: Open Session says 0x12", opening17(0x12)],
    ["IW006: Open Session says 0x01", opening17(0x01)],
  ])("is asked for it where the entry allows it: %s", async (_, damage) => {
    await using bmc = await startBmc();
    damage(bmc);

    await using session = await openSession(bmc, { overrides: ALLOWED });

    expect(await session.power.read(limit())).toBe("off");
    expect(bmc.log.filter((name) => name === "RAKP1").length).toBeLessThanOrEqual(2);
  });

  it.each<[string, (bmc: IpmiBmc) => void, string, RegExp]>([
    ["IW002: an empty code", emptyCode, "unsupported", /cipher suite 17.*all zeros; to accept suite 3/],
    ["IW003: an unknown name", challenge17(0x0d), "auth", /unknown user name, or .*privilege level/],
    ["IW004: Open Session 0x0A", opening17(0x0a), "unsupported", /offers cipher suite 3 and not 17/],
    ["IW006: Open Session 0x01", opening17(0x01), "busy", /no free session slot/],
  ])("is not asked for it otherwise, and named: %s", async (_, damage, errorClass, message) => {
    await using bmc = await startBmc();
    damage(bmc);

    await expect(openSession(bmc)).rejects.toMatchObject({
      class: errorClass,
      message: expect.stringMatching(message),
    });
    expect(bmc.log.filter((name) => name === "RAKP1").length).toBeLessThanOrEqual(1);
  });

  it("IW006: names the suite beside the slots where suite 3 is the only one", async () => {
    await using bmc = await startBmc();
    bmc.faults.shakes = (name) => (name === "Open Session" ? 0x01 : undefined);

    await expect(openSession(bmc, { overrides: { ipmi: { cipherSuite: 3 } } })).rejects.toMatchObject({
      class: "busy",
      message: expect.stringContaining("or no cipher suite 3"),
    });
  });

  it.each([
    ["IW015: Open Session refuses the level for every suite", "Open Session", 0x0a],
    ["IW016: RAKP2 refuses the level for every suite", "RAKP1", 0x09],
  ])("is an error of rights that names the option where %s", async (_, message, status) => {
    await using bmc = await startBmc();
    bmc.faults.shakes = (name) => (name === message ? status : undefined);

    await expect(openSession(bmc, { overrides: ALLOWED })).rejects.toMatchObject({
      class: "auth",
      refused: "right",
      message: expect.stringContaining("option privilege"),
    });
  });
});

/** Counts the RAKP3 messages that prove a password, copies of one as one; other RAKP3 messages give a slot back. */
function countProofs(bmc: IpmiBmc, status?: number): () => number {
  const proofs = new Set<string>();
  bmc.faults.shakes = (name, payload) => {
    if (name !== "RAKP3" || payload[1] !== 0) return undefined;
    proofs.add(payload.toString("hex"));
    return status;
  };
  return () => proofs.size;
}

describe.concurrent("a proven password", () => {
  it("IW009: is proven with the level alone to a BMC that cuts the role in RAKP3", async () => {
    await using bmc = await startBmc({ rakp3Role: "level" });
    const proofs = countProofs(bmc);

    await using session = await openSession(bmc);

    expect(await session.power.read(limit())).toBe("off");
    expect(proofs()).toBe(2);
  });

  it("IW009: is not called wrong where the BMC refuses both proofs", async () => {
    await using bmc = await startBmc();
    const proofs = countProofs(bmc, 0x0f);

    await expect(openSession(bmc)).rejects.toMatchObject({
      class: "protocol",
      message: expect.not.stringContaining("wrong password"),
    });
    expect(proofs()).toBe(2);
  });

  it.each([
    ["IW012: RAKP2", "RAKP1", 1],
    ["IW013: RAKP4", "RAKP3", 8],
  ])("is accepted with bytes behind the code of %s", async (_, name, bytes) => {
    await using bmc = await startBmc();
    bmc.faults.rewrites = (sent, datagram) => [sent === name ? longer(datagram, bytes) : datagram];

    await using session = await openSession(bmc);

    expect(await session.power.read(limit())).toBe("off");
  });
});

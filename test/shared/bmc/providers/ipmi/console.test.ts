import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { ConsoleDriver } from "../../../../../shared/bmc/operations/console-port.ts";
import {
  parseSolPacket,
  type SolPacket,
  SolReassembly,
} from "../../../../../shared/bmc/providers/ipmi/session/sol-packet.ts";
import { scaledClock } from "../../../../support/scaled-clock.ts";
import { eventually, limit, type OpenOptions, openSession, recordingLogger, startBmc } from "./bench.ts";

const packet = (sequence: number, text: string): SolPacket => {
  const parsed = parseSolPacket(Buffer.concat([Buffer.of(sequence, 0, 0, 0), Buffer.from(text)]));
  if (!parsed) throw new Error("no packet");
  return parsed;
};

describe("a packet of serial over LAN", () => {
  it("has the fields and bits of IPMI 2.0 table 15-2", () => {
    expect(parseSolPacket(Buffer.of(0xf3, 0x02, 7, 0x7c, 0x41))).toEqual({
      sequence: 3,
      acknowledged: 2,
      accepted: 7,
      refused: true,
      unavailable: true,
      deactivated: true,
      overrun: true,
      break: true,
      data: Buffer.from("A"),
    });
    expect(parseSolPacket(Buffer.of(1, 0, 0))).toBeUndefined();
  });

  it("is acknowledged with its number and count, and taken once", () => {
    const console = new SolReassembly();

    expect(console.take(packet(5, "abc"), 10)).toEqual({
      data: Buffer.from("abc"),
      answer: Buffer.of(0, 5, 3, 0),
    });
    expect(console.take(packet(5, "abc"), 11)).toEqual({
      data: Buffer.alloc(0),
      answer: Buffer.of(0, 5, 3, 0),
    });
  });

  it("may come again with more characters, of which the new ones count", () => {
    const console = new SolReassembly();
    console.take(packet(5, "abc"), 10);

    expect(console.take(packet(5, "abcde"), 11)).toEqual({
      data: Buffer.from("de"),
      answer: Buffer.of(0, 5, 5, 0),
    });
  });

  it("is dropped where a later one has overtaken it", () => {
    const console = new SolReassembly();
    console.take(packet(5, "abc"), 11);
    console.take(packet(6, "def"), 12);

    expect(console.take(packet(5, "abc"), 10)).toEqual({ data: Buffer.alloc(0) });
  });

  it("is not answered if it only informs", () => {
    expect(new SolReassembly().take(packet(0, "abc"), 1)).toEqual({ data: Buffer.alloc(0) });
  });

  it("keeps the text whole whatever the line loses, repeats and delays", () => {
    const copies = fc.array(
      fc.record({ lost: fc.boolean(), delay: fc.integer({ min: 0, max: 5 }), answered: fc.boolean() }),
      { minLength: 1, maxLength: 60 },
    );
    fc.assert(
      fc.property(copies, (fates) => {
        const console = new SolReassembly();
        const late: { at: number; packet: SolPacket; sequence: number }[] = [];
        let text = "";
        let sent = "";
        let number = 0;
        let sessionSequence = 0;
        const take = (arrived: SolPacket, sequence: number) => {
          const { data, answer } = console.take(arrived, sequence);
          text += data.toString("latin1");
          return answer;
        };
        for (const [step, { lost, delay, answered }] of fates.entries()) {
          for (const { packet: old, sequence } of late.splice(0).filter(({ at }) => at <= step))
            take(old, sequence);
          const copy = packet((number % 15) + 1, String.fromCharCode(65 + (number % 26)));
          sessionSequence += 1;
          if (lost) continue;
          if (delay > 0) late.push({ at: step + delay, packet: copy, sequence: sessionSequence });
          sessionSequence += 1;
          const answer = take(copy, sessionSequence);
          if (!answer || !answered) continue;
          sent += copy.data.toString("latin1");
          number += 1;
        }
        expect(text.startsWith(sent)).toBe(true);
        expect(text.length - sent.length).toBeLessThanOrEqual(1);
      }),
    );
  });
});

/** On a busy machine too. */
const PATIENT = { connectTimeoutMs: 120_000, requestTimeoutMs: 120_000 };

/** A console of a session that is being watched. */
async function watching(
  bmc: { port: number; console: { session: unknown } },
  options: OpenOptions & { readonly signal?: AbortSignal } = {},
) {
  const session = await openSession(bmc, options);
  const { console } = session;
  if (!console) throw new Error("the session has no console");
  const done = new AbortController();
  const gaps: string[] = [];
  let text = "";
  const sink = {
    opened: () => undefined,
    output: (bytes: Uint8Array) => {
      text += Buffer.from(bytes).toString();
    },
    gap: (reason: string) => gaps.push(reason),
  };
  const watched = console.watch(sink, done.signal, options.signal ?? limit());
  watched.catch(() => undefined);
  await eventually(() => bmc.console.session !== undefined);
  return {
    session,
    console: console as ConsoleDriver,
    watched,
    gaps,
    text: () => text,
    end: async () => {
      done.abort();
      await watched;
    },
    [Symbol.asyncDispose]: () => session.close(),
  };
}

const TEXT = Array.from({ length: 60 }, (_, line) => `line ${line} of the console\r\n`).join("");

describe.concurrent("the console of the ipmi provider", () => {
  it("hands on what the machine sends, writes nothing, and is released at the end", async () => {
    await using bmc = await startBmc({ console: { retryMs: 60_000 } });
    await using there = await watching(bmc);

    bmc.machine.print(TEXT);
    await eventually(() => there.text().length >= TEXT.length);
    await there.end();

    expect(there.text()).toBe(TEXT);
    expect(bmc.console.written).toEqual(Buffer.alloc(0));
    expect(bmc.console.session).toBeUndefined();
    expect(bmc.log.filter((name) => name === "Deactivate Payload")).toHaveLength(1);
    expect(bmc.console.copies).toBe(0);
  });

  it("costs seven round trips for a session, with a look at who has the console", async () => {
    await using bmc = await startBmc();
    await using session = await openSession(bmc);
    expect(await session.console?.holder(limit())).toBeUndefined();
    await session.close();
    await using there = await watching(bmc);
    await eventually(() => bmc.log.includes("Get Payload Instance Info"));
    await there.end();

    // Handshake 3, activation, owner, deactivation; the look is one more.
    expect(session.roundTrips()).toBe(4);
    expect(there.session.roundTrips()).toBe(6);
  });

  it.each([false, true])(
    "gets all over a line that loses, doubles and reorders; copies grow: %s",
    async (growing) => {
      for (const seed of [1, 2, 3]) {
        await using bmc = await startBmc({
          network: { loss: 0.12, duplication: 0.2, reordering: 0.2, seed },
          console: { retryMs: 40, retries: 50, packetBytes: 60, growingCopies: growing },
        });
        await using there = await watching(bmc, { clock: scaledClock(5), overrides: PATIENT });

        for (const line of TEXT.split(/(?<=\n)/)) bmc.machine.print(line);
        await eventually(() => there.text().length >= TEXT.length);

        expect(there.text(), `seed ${seed}`).toBe(TEXT);
        expect(bmc.console.copies).toBeGreaterThan(0);
        await there.end();
        expect(bmc.console.session).toBeUndefined();
      }
    },
  );

  it("counts a console as its own that a repeated packet finds open", async () => {
    await using bmc = await startBmc({ duplicates: "execute" });
    let losses = 0;
    bmc.faults.losesAnswer = (name) => name === "Activate Payload" && losses++ === 0;
    await using there = await watching(bmc);
    bmc.machine.print("hello");

    await eventually(() => there.text() === "hello");
    await there.end();
    expect(bmc.console.session).toBeUndefined();
  });

  it("names who has it, and throws busy", async () => {
    await using bmc = await startBmc({ sol: [1] });
    await using session = await openSession(bmc);
    const sink = { opened: () => undefined, output: () => undefined, gap: () => undefined };

    expect(await session.console?.holder(limit())).toBe("user 3 from 192.0.2.77");
    await expect(session.console?.watch(sink, limit(), limit())).rejects.toMatchObject({ class: "busy" });
    // It is not this session's to end.
    expect(bmc.log).not.toContain("Deactivate Payload");
    await session.console?.takeOver(limit());
    expect(bmc.sol.size).toBe(0);
  });

  it("is unsupported where serial over LAN is disabled", async () => {
    await using bmc = await startBmc({ console: false });
    await using session = await openSession(bmc);
    const sink = { opened: () => undefined, output: () => undefined, gap: () => undefined };

    await expect(session.console?.watch(sink, limit(), limit())).rejects.toMatchObject({
      class: "unsupported",
      message: expect.stringContaining("disabled"),
    });
  });

  it.each(["cancelled", "closed"])("is released when it is %s", async (way) => {
    await using bmc = await startBmc();
    const cancel = new AbortController();
    await using there = await watching(bmc, { signal: cancel.signal });

    if (way === "cancelled") cancel.abort(new Error("enough"));
    else await there.session.close();

    await expect(there.watched).rejects.toThrow(way === "cancelled" ? "enough" : "closed");
    expect(bmc.console.session).toBeUndefined();
    expect(bmc.log).toContain("Deactivate Payload");
  });

  it("is released when it is cancelled before the answer to the activation", async () => {
    await using bmc = await startBmc();
    bmc.faults.losesAnswer = (name) => name === "Activate Payload";
    const cancel = new AbortController();
    await using there = await watching(bmc, { signal: cancel.signal });

    cancel.abort(new Error("enough"));

    await expect(there.watched).rejects.toThrow("enough");
    expect(bmc.console.session).toBeUndefined();
    expect(bmc.log).toContain("Deactivate Payload");
  });

  it("IW090: is lost when the BMC ends it, and left to who has taken it over", async () => {
    await using bmc = await startBmc();
    await using there = await watching(bmc);

    bmc.console.deactivate();

    await expect(there.watched).rejects.toMatchObject({
      class: "timeout",
      message: "the BMC has ended the console",
    });
    expect(bmc.log).not.toContain("Deactivate Payload");
  });

  it("IW087: is kept through malformed packets in its session, and lost when it is taken over", async () => {
    await using bmc = await startBmc();
    await using there = await watching(bmc, { clock: scaledClock(50), overrides: PATIENT });
    await eventually(() => bmc.log.includes("Get Payload Instance Info"));
    const { session } = bmc.console;
    if (!session) throw new Error("no console is open");

    for (const length of [0, 1, 3, 6]) bmc.sendPayload(session, 0x3f, Buffer.alloc(length, 0x10));
    for (const length of [0, 1, 3]) bmc.sendPayload(session, 0x01, Buffer.alloc(length, 0x10));
    bmc.machine.print("after the junk\n");
    await eventually(() => there.text().includes("after the junk"));
    bmc.console.drop();

    await expect(there.watched).rejects.toMatchObject({ class: "timeout" });
  });

  it("is lost when the BMC has forgotten the session", async () => {
    await using bmc = await startBmc();
    await using there = await watching(bmc, {
      clock: scaledClock(20),
      overrides: { requestTimeoutMs: 60_000 },
    });
    await eventually(() => bmc.log.includes("Get Payload Instance Info"));

    bmc.restart();

    await expect(there.watched).rejects.toMatchObject({
      class: "timeout",
      message: "the BMC has dropped the session",
    });
  });

  it("IW080: is kept through some seconds without an answer, which end no session", async () => {
    await using bmc = await startBmc();
    let asked = 0;
    bmc.faults.ignores = (name) => name === "Get Payload Instance Info" && ++asked <= 4;
    await using there = await watching(bmc, { clock: scaledClock(20), overrides: PATIENT });
    await eventually(() => asked > 4);

    bmc.machine.print("after the silence\n");

    await eventually(() => there.text().includes("after the silence"));
    expect(bmc.log.filter((name) => name === "Activate Payload")).toHaveLength(1);
    await there.end();
  });

  it("says where the BMC has dropped output", async () => {
    await using bmc = await startBmc();
    await using there = await watching(bmc);

    bmc.machine.print(Buffer.alloc(100_000, "x"));
    await eventually(() => there.gaps.length > 0);

    expect(there.gaps[0]).toBe("the BMC has dropped output");
  });

  it("warns if the BMC does not answer the deactivation", async () => {
    await using bmc = await startBmc();
    const log = recordingLogger();
    await using there = await watching(bmc, { log, clock: scaledClock(20), overrides: PATIENT });
    bmc.faults.ignores = (name) => name === "Deactivate Payload";

    await there.end();

    expect(log.lines.map(({ message }) => message)).toContain("console not deactivated, closing the session");
  });
});

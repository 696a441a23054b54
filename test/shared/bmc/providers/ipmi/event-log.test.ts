import { describe, expect, it } from "vitest";
import type { Session } from "../../../../../shared/bmc/operations/provider.ts";
import type { SelDriver } from "../../../../../shared/bmc/operations/sel.ts";
import { describeRecord } from "../../../../../shared/bmc/providers/ipmi/records/describe-record.ts";
import { parseSelRecord } from "../../../../../shared/bmc/providers/ipmi/records/sel-record.ts";
import { scaledClock } from "../../../../support/scaled-clock.ts";
import { limit, openSession, startBmc } from "./bench.ts";

/** 2026-01-15T18:53:25Z. */
const TIME = "a5376969";
/** Record of type 2: time, generator 0x0020, event message revision 4, sensor type and number, event. */
const event = (type: string, sensor: string, rest: string, time = TIME) =>
  Buffer.from(`000002${time}200004${type}${sensor}${rest}`, "hex");

const UNCORRECTABLE = event("0c", "21", "6f31ff03");
const TOO_HOT = event("01", "30", "01595a50");

function sel(session: Session): SelDriver {
  if (!session.sel) throw new Error("the session has no event log");
  return session.sel;
}

describe("a record of the event log", () => {
  it.each([
    ["0c", "21", "6f31ff03", "memory sensor 0x21: uncorrectable ECC error (module 3)", "critical"],
    [
      "01",
      "30",
      "01595a50",
      "temperature sensor 0x30: above the upper critical threshold, going high (raw reading 0x5a, raw threshold 0x50)",
      "critical",
    ],
    [
      "01",
      "30",
      "81595a50",
      "temperature sensor 0x30: above the upper critical threshold, going high, ended (raw reading 0x5a, raw threshold 0x50)",
      "ok",
    ],
    ["04", "41", "0100ffff", "fan sensor 0x41: below the lower non-critical threshold, going low", "warning"],
    ["08", "60", "6f03ffff", "power supply sensor 0x60: input lost", "critical"],
    ["10", "f0", "6f02ffff", "event logging sensor 0xf0: log cleared", "ok"],
    ["0f", "06", "6fc213ff", "system firmware sensor 0x06: progress (starting the operating system)", "ok"],
    ["0f", "06", "6fc001ff", "system firmware sensor 0x06: POST error (no system memory)", "critical"],
    ["0f", "06", "6fc0eeff", "system firmware sensor 0x06: POST error (code 0xee)", "critical"],
    ["23", "0a", "6f08ffff", "watchdog 2 sensor 0x0a: timer interrupt", "warning"],
    ["09", "01", "0b01ffff", "power unit sensor 0x01: redundancy lost", "critical"],
    ["07", "05", "034101ff", "processor sensor 0x05: state asserted (data 2 0x01)", "warning"],
  ])("of sensor type %s, sensor %s, event %s reads %j", (type, sensor, rest, message, severity) => {
    const entry = describeRecord(parseSelRecord(event(type, sensor, rest)));

    expect(entry).toEqual({ id: "0", at: "2026-01-15T18:53:25.000Z", severity, message });
  });

  it("has no severity where its meaning is the maker's own, and keeps its numbers", () => {
    const entry = describeRecord(parseSelRecord(event("c1", "07", "70a50102")));

    expect(entry.severity).toBeUndefined();
    expect(entry.message).toBe(
      "sensor type 0xc1 sensor 0x07: event type 0x70 offset 5 (data 2 0x01, data 3 0x02)",
    );
  });

  it("from before the BMC knew the date has no time, and says when it was", () => {
    const entry = describeRecord(parseSelRecord(event("08", "60", "6f03ffff", "0c000000")));

    expect(entry.at).toBeUndefined();
    expect(entry.message).toBe("power supply sensor 0x60: input lost (12 s after the BMC started)");
  });

  it("without a time has none", () => {
    const entry = describeRecord(parseSelRecord(event("08", "60", "6f03ffff", "ffffffff")));

    expect(entry).toEqual({ id: "0", severity: "critical", message: "power supply sensor 0x60: input lost" });
  });

  it("of a maker's own kind is given in hex, with its maker and time where it has them", () => {
    const timed = Buffer.from(`0a00c1${TIME}a20200010203040506`, "hex");
    const untimed = Buffer.from("0b00e00102030405060708090a0b0c0d", "hex");

    expect(describeRecord(parseSelRecord(timed))).toEqual({
      id: "10",
      at: "2026-01-15T18:53:25.000Z",
      message: "record type 0xc1 of Dell: 01 02 03 04 05 06",
    });
    expect(describeRecord(parseSelRecord(untimed))).toEqual({
      id: "11",
      message: "record type 0xe0: 01 02 03 04 05 06 07 08 09 0a 0b 0c 0d",
    });
  });

  it("is a protocol error when it is cut short", () => {
    expect(() => parseSelRecord(Buffer.alloc(15))).toThrow(expect.objectContaining({ class: "protocol" }));
  });
});

describe("the event log", () => {
  it("is listed oldest first, with one round trip per record", async () => {
    await using bmc = await startBmc({ log: { records: [UNCORRECTABLE, TOO_HOT, UNCORRECTABLE] } });
    await using session = await openSession(bmc);
    const before = session.roundTrips();

    const entries = await sel(session).list(limit());

    expect(entries.map(({ id }) => id)).toEqual(["1", "4", "7"]);
    expect(entries[1]?.message).toContain("temperature sensor 0x30");
    expect(session.roundTrips() - before).toBe(4);
  });

  it("costs one round trip when it is empty", async () => {
    await using bmc = await startBmc();
    await using session = await openSession(bmc);
    const before = session.roundTrips();

    expect(await sel(session).list(limit())).toEqual([]);
    expect(session.roundTrips() - before).toBe(1);
  });

  it("is read in parts from a BMC whose messages are too small for a record", async () => {
    const records = [UNCORRECTABLE, TOO_HOT];
    await using whole = await startBmc({ log: { records } });
    await using inParts = await startBmc({ log: { records, partBytes: 8 } });

    await using first = await openSession(whole);
    await using second = await openSession(inParts);

    const expected = await sel(first).list(limit());

    expect(await sel(second).list(limit())).toEqual(expected);
    expect(inParts.log.filter((name) => name === "Reserve SEL")).toHaveLength(1);
  });

  it("is read on under another reservation when an event arrives in the middle", async () => {
    await using bmc = await startBmc({ log: { records: [UNCORRECTABLE, TOO_HOT], partBytes: 8 } });
    await using session = await openSession(bmc);
    let parts = 0;
    bmc.faults.refuses = (name) => {
      if (name === "Get SEL Entry" && ++parts === 3) bmc.events.add(TOO_HOT);
      return undefined;
    };

    const entries = await sel(session).list(limit());

    expect(entries.map(({ id }) => id)).toEqual(["1", "4", "7"]);
    expect(bmc.log.filter((name) => name === "Reserve SEL")).toHaveLength(2);
  });

  it("is busy when another client cancels every reservation", async () => {
    await using bmc = await startBmc({ log: { records: [UNCORRECTABLE], partBytes: 8 } });
    await using session = await openSession(bmc);
    bmc.faults.refuses = (name, data) => (name === "Get SEL Entry" && data[5] !== 0xff ? 0xc5 : undefined);

    await expect(sel(session).list(limit())).rejects.toMatchObject({ class: "busy" });
  });

  it("ends where it was cleared in the middle", async () => {
    await using bmc = await startBmc({ log: { records: [UNCORRECTABLE, TOO_HOT] } });
    await using session = await openSession(bmc);
    let entries = 0;
    bmc.faults.refuses = (name) => {
      if (name !== "Get SEL Entry" || ++entries < 2) return undefined;
      const { data: reservation = Buffer.alloc(2) } = bmc.events.reserve();
      bmc.events.clear(Buffer.concat([reservation, Buffer.from("CLR"), Buffer.of(0xaa)]));
      return undefined;
    };

    expect(await sel(session).list(limit())).toHaveLength(1);
  });

  it("is unsupported where the BMC has none", async () => {
    await using bmc = await startBmc();
    await using session = await openSession(bmc);
    bmc.faults.refuses = (name) => (name === "Get SEL Info" ? 0xc1 : undefined);

    await expect(sel(session).list(limit())).rejects.toMatchObject({ class: "unsupported" });
  });
});

describe("clearing the event log", () => {
  it("waits until the erasure is complete", async () => {
    await using bmc = await startBmc({ log: { records: [UNCORRECTABLE], erasureMs: 300 } });
    await using session = await openSession(bmc);
    const startedMs = Date.now();

    await sel(session).clear(limit());

    expect(bmc.events.size).toBe(0);
    expect(Date.now() - startedMs).toBeGreaterThanOrEqual(290);
    expect(await sel(session).list(limit())).toEqual([]);
  });

  it("takes another reservation when an event came in between", async () => {
    await using bmc = await startBmc({ log: { records: [UNCORRECTABLE] } });
    await using session = await openSession(bmc);
    let asked = 0;
    bmc.faults.refuses = (name) => {
      if (name === "Clear SEL" && ++asked === 1) bmc.events.add(TOO_HOT);
      return undefined;
    };

    await sel(session).clear(limit());

    expect(bmc.events.size).toBe(0);
    expect(bmc.log.filter((name) => name === "Reserve SEL")).toHaveLength(2);
  });

  it("needs no reservation where the BMC has none", async () => {
    await using bmc = await startBmc({ log: { records: [UNCORRECTABLE], reservations: false } });
    await using session = await openSession(bmc);

    await sel(session).clear(limit());

    expect(bmc.events.size).toBe(0);
  });

  it("is a time-out when the erasure never ends", async () => {
    await using bmc = await startBmc({ log: { records: [UNCORRECTABLE], erasureMs: 600_000 } });
    await using session = await openSession(bmc, {
      clock: scaledClock(200),
      overrides: { connectTimeoutMs: 600_000, requestTimeoutMs: 600_000 },
    });

    await expect(sel(session).clear(limit())).rejects.toMatchObject({ class: "timeout" });
  });
});

describe.concurrent("an event log with its own ways", () => {
  const FIVE = Array.from({ length: 5 }, (_, index) => {
    const record = Buffer.from(UNCORRECTABLE);
    record.writeUInt16LE(index + 1, 0);
    return record;
  });
  const log = { records: FIVE, keepsIds: true };
  const isRecord = (data: Buffer, id: number) => data.readUInt16LE(2) === id;

  it("IW156: is read under a reservation where whole records need one", async () => {
    await using bmc = await startBmc({ log });
    await using session = await openSession(bmc);
    bmc.faults.refuses = (name, data) =>
      name === "Get SEL Entry" && data.readUInt16LE(0) === 0 ? 0xc5 : undefined;

    expect(await sel(session).list(limit())).toHaveLength(5);
    expect(bmc.log.filter((name) => name === "Reserve SEL")).toHaveLength(1);
  });

  it("IW157: is read on where a record once named 0 as the next", async () => {
    await using bmc = await startBmc({ log });
    await using session = await openSession(bmc);
    let times = 0;
    bmc.faults.answers = ({ netFn, command, data }) =>
      netFn === 0x0a && command === 0x43 && isRecord(data, 2) && times++ === 0
        ? { data: Buffer.concat([Buffer.alloc(2), FIVE[1] ?? Buffer.alloc(16)]) }
        : undefined;

    expect((await sel(session).list(limit())).map(({ id }) => id)).toEqual(["1", "2", "3", "4", "5"]);
  });

  it("IW158: ends with a word where it leads back", async () => {
    await using bmc = await startBmc({ log });
    await using session = await openSession(bmc);
    bmc.faults.answers = ({ netFn, command, data }) =>
      netFn === 0x0a && command === 0x43 && isRecord(data, 3)
        ? { data: Buffer.concat([Buffer.of(2, 0), FIVE[2] ?? Buffer.alloc(16)]) }
        : undefined;

    const entries = await sel(session).list(limit());

    expect(entries.map(({ id }) => id)).toEqual(["1", "2", "3", ""]);
    expect(entries.at(-1)).toMatchObject({
      unread: true,
      message: expect.stringContaining("comes after itself"),
    });
  });

  it.each([0xc1, 0xcc, 0xd4, 0xff])(
    "IW159: needs no reservation where that is refused with %i",
    async (code) => {
      await using bmc = await startBmc({ log: { ...log, partBytes: 8, reservations: false } });
      await using session = await openSession(bmc);
      bmc.faults.refuses = (name) => (name === "Reserve SEL" ? code : undefined);

      expect(await sel(session).list(limit())).toHaveLength(5);
    },
  );

  it.each([0xc0, 0xc3, 0xcb, 0xd4, 0xff])(
    "is read but for a record that is refused with %i, which is named",
    async (code) => {
      await using bmc = await startBmc({ log });
      await using session = await openSession(bmc, { clock: scaledClock(20) });
      bmc.faults.refuses = (name, data) => (name === "Get SEL Entry" && isRecord(data, 3) ? code : undefined);

      const entries = await sel(session).list(limit());

      expect(entries.map(({ id }) => id)).toEqual(["1", "2", "4", "5", "3"]);
      expect(entries.at(-1)).toMatchObject({ unread: true, message: expect.stringContaining("record 3") });
    },
  );
});

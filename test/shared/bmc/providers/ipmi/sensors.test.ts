import { describe, expect, it } from "vitest";
import type { Session } from "../../../../../shared/bmc/operations/provider.ts";
import { unitText } from "../../../../../shared/bmc/providers/ipmi/records/sensor-units.ts";
import { BmcError } from "../../../../../shared/contract/bmc-error.ts";
import type { IpmiBmc } from "../../../../../simulators/ipmi/bmc.ts";
import { fullRecord } from "../../../../../simulators/ipmi/sdr-record.ts";
import { scaledClock } from "../../../../support/scaled-clock.ts";
import { limit, openSession, startBmc } from "./bench.ts";

const UNSPECIFIED = 0xff;
const RECORD = fullRecord({ name: "Inlet", kind: "temperature", value: 0 }, 1);
const reading = (raw: number, flags = 0xc0, ...status: number[]) => Buffer.from([raw, flags, ...status]);

/** The record with other bytes at some places. */
function changed(changes: Readonly<Record<number, number>>, record = RECORD): Buffer {
  const copy = Buffer.from(record);
  for (const [at, byte] of Object.entries(changes)) copy[Number(at)] = byte;
  return copy;
}

function getSensors({ sensors }: Session) {
  if (!sensors) throw new Error("the session has no sensors");
  return sensors.read(limit());
}

describe("IPMI sensors", () => {
  it("cost one round trip per record and one per four sensors", async () => {
    await using bmc = await startBmc();
    await using session = await openSession(bmc);
    const before = session.roundTrips();

    const readings = await getSensors(session);

    expect(readings).toHaveLength(9);
    expect(session.roundTrips() - before).toBe(1 + 9 + 3);
    await getSensors(session);
    // The records are read once.
    expect(session.roundTrips() - before).toBe(1 + 9 + 3 + 3);
  });

  it.each([32, 16, 8])("are read in parts of %i bytes from a BMC that gives no more", async (partBytes) => {
    await using whole = await startBmc();
    await using inParts = await startBmc({ sdr: { partBytes } });
    await using first = await openSession(whole);
    await using second = await openSession(inParts);

    expect(await getSensors(second)).toEqual(await getSensors(first));
  });

  it("are read on where another client took the reservation, and from the start where records changed", async () => {
    await using bmc = await startBmc({ sdr: { partBytes: 32 } });
    await using session = await openSession(bmc);
    let parts = 0;
    bmc.faults.refuses = (name) => {
      if (name !== "Get SDR") return undefined;
      parts += 1;
      if (parts === 5) bmc.sdr.cancelReservation();
      if (parts === 12) bmc.sdr.insert(RECORD);
      return undefined;
    };

    const names = (await getSensors(session)).map(({ name }) => name);

    expect(names).toHaveLength(10);
    expect(new Set(names).size).toBe(10);
    expect(bmc.log.filter((name) => name === "Reserve SDR Repository")).toHaveLength(3);
  });

  it("are busy where other clients keep taking the reservation", async () => {
    await using bmc = await startBmc();
    await using session = await openSession(bmc);
    bmc.faults.refuses = (name) => (name === "Get SDR" ? 0xc5 : undefined);

    await expect(getSensors(session)).rejects.toMatchObject({ class: "busy" });
    expect(bmc.log.filter((name) => name === "Reserve SDR Repository").length).toBeLessThan(20);
  });

  it("of every state are told apart", async () => {
    const numbered = (number: number, changes: Readonly<Record<number, number>> = {}) =>
      changed({ 7: number, ...changes });
    await using bmc = await startBmc({
      sdr: {
        records: [1, 2, 3, 20]
          .map((number) => numbered(number))
          .concat([
            numbered(5, { 5: 0x2c }),
            numbered(6, { 6: 0x01 }),
            numbered(7, { 12: 0x25, 13: 0x6f, 20: 0xc0 }),
            numbered(8, { 12: 0x08, 13: 0x6f, 20: 0xc0 }),
          ]),
        readings: {
          1: reading(0xf6),
          2: reading(20, 0x80),
          3: reading(20, 0xe0),
          7: reading(0, 0xc0, 0x02, 0x80),
          8: reading(0, 0xc0, 0x09, 0x80),
        },
      },
    });
    await using session = await openSession(bmc);

    const readings = await getSensors(session);

    expect(readings.map(({ state, value, events, health }) => state ?? events ?? [value, health])).toEqual([
      [-10, "unknown"],
      "disabled",
      "unavailable",
      "absent",
      "not read",
      "not read",
      "absent",
      ["present", "input lost"],
    ]);
    expect(readings.at(-1)).toMatchObject({ health: "critical" });
  });

  it("that are not linear are converted with the factors of their reading", async () => {
    const factors = (_: number, raw: number) => Buffer.from([0, raw === 10 ? 3 : 7, 0, 0, 0, 0, 0]);
    await using bmc = await startBmc({
      sdr: { records: [changed({ 23: 0x70 })], readings: { 1: reading(10, 0xc0, 0) }, factors },
    });
    await using session = await openSession(bmc);

    expect(await getSensors(session)).toMatchObject([{ value: 30, health: "ok" }]);
  });

  it("do not fail as a whole where one cannot be read", async () => {
    await using bmc = await startBmc();
    await using session = await openSession(bmc);
    bmc.faults.refuses = (name, data) => (name === "Get Sensor Reading" && data[0] === 1 ? 0xff : undefined);

    const readings = await getSensors(session);

    expect(readings.map(({ state }) => state)).toEqual([
      "not read",
      undefined,
      "absent",
      ...Array.from({ length: 6 }, () => undefined),
    ]);
  });
});

describe("IPMI junk", () => {
  const other = fullRecord({ name: "Outlet", kind: "temperature", value: 0 }, 2);

  it("in the first sensor data record leaves the others, and is named", async () => {
    await using bmc = await startBmc({
      sdr: { records: [RECORD, other], readings: { 2: reading(30) } },
    });
    await using session = await openSession(bmc);
    bmc.faults.refuses = (name, data) =>
      name === "Get SDR" && data.readUInt16LE(2) === 0 ? UNSPECIFIED : undefined;

    const found = await getSensors(session);

    expect(found).toContainEqual(expect.objectContaining({ name: "Outlet", value: 30 }));
    expect(found).toContainEqual(
      expect.objectContaining({ name: "sensor data record 0", state: "not read" }),
    );
  });

  it.each([
    ["nothing", Buffer.alloc(0)],
    ["one byte", Buffer.of(0xff)],
  ])("in one reading, such as %s, leaves the others, and is named", async (_, junk) => {
    await using bmc = await startBmc({
      sdr: { records: [RECORD, other], readings: { 1: junk, 2: reading(30) } },
    });
    await using session = await openSession(bmc);

    expect(await getSensors(session)).toMatchObject([
      { name: "Inlet", state: "not read", reason: expect.stringMatching(/^[ -~]{1,200}$/) },
      { name: "Outlet", value: 30 },
    ]);
  });

  it.each([0x00, 0x7f, 0xff])("of records full of the byte %i is no crash", async (byte) => {
    const junk = Buffer.alloc(40, byte);
    await using bmc = await startBmc({ sdr: { records: [junk, RECORD], readings: { 1: reading(30) } } });
    await using session = await openSession(bmc);

    const found = await getSensors(session).catch((error: unknown) => error);

    if (found instanceof BmcError) {
      expect(["protocol", "bmc", "unsupported"]).toContain(found.class);
      expect(found.message).toMatch(/^[ -~]{1,200}$/);
    } else expect(found).toContainEqual(expect.objectContaining({ name: "Inlet", value: 30 }));
  });
});

describe("the event log", () => {
  const HOT = Buffer.from("000002a5376969200004" + "0102" + "01595a50", "hex");

  it("names sensors and converts readings where asked, and reads no more records than it needs", async () => {
    await using bmc = await startBmc({ log: { records: [HOT] } });
    await using session = await openSession(bmc);
    const before = session.roundTrips();

    const plain = await session.sel?.list(limit());
    const named = await session.sel?.list(limit(), { sensorNames: true });

    expect(plain?.[0]?.message).toContain("temperature sensor 0x02: ");
    expect(named?.[0]?.message).toBe(
      "temperature sensor CPU1 Temp: above the upper critical threshold, going high (reading 90 °C, threshold 80 °C)",
    );
    // The log twice, what the repository has, and two of its nine records.
    expect(session.roundTrips() - before).toBe(2 + 2 + 1 + 2);
  });

  it("is listed with numbers where the BMC has no sensor data records", async () => {
    await using bmc = await startBmc({ log: { records: [HOT] }, sdr: { present: false } });
    await using session = await openSession(bmc);

    const named = await session.sel?.list(limit(), { sensorNames: true });

    expect(named?.[0]?.message).toContain("temperature sensor 0x02: ");
  });
});

describe.concurrent("sensor data records with their own ways", () => {
  it.each([0xd4, 0xc1, 0xcc, 0xff])(
    "IW129, IW130: are read where their info is refused with %i",
    async (code) => {
      await using bmc = await startBmc();
      await using session = await openSession(bmc, { clock: scaledClock(20) });
      bmc.faults.refuses = (name) => (name === "Get SDR Repository Info" ? code : undefined);

      expect(await getSensors(session)).toHaveLength(9);
    },
  );

  it.each([0xc0, 0xc3, 0xcb, 0xd4, 0xff, 0xd5])(
    "IW131: are read but for one that is refused with %i, which is named",
    async (code) => {
      await using bmc = await startBmc();
      await using session = await openSession(bmc, { clock: scaledClock(20) });
      bmc.faults.refuses = (name, data) =>
        name === "Get SDR" && data.readUInt16LE(2) === 5 ? code : undefined;

      const readings = await getSensors(session);

      expect(readings.filter(({ state }) => state !== "not read")).toHaveLength(8);
      expect(readings.filter(({ state }) => state === "not read")).toMatchObject([
        { name: "sensor data record 5", reason: expect.stringMatching(/./) },
      ]);
    },
  );

  it("IW131: name the records that a refused one does not lead to", async () => {
    await using bmc = await startBmc();
    await using session = await openSession(bmc, { clock: scaledClock(20) });
    bmc.faults.refuses = (name, data) => (name === "Get SDR" && data.readUInt16LE(2) >= 5 ? 0xcc : undefined);

    const unread = (await getSensors(session)).filter(({ state }) => state === "not read");

    expect(unread.map(({ name }) => name)).toEqual(["sensor data record 5", "later sensor data records"]);
  });

  /** Answers of Get SDR, changed: the ID of the next record, and the part of the record. */
  const changing =
    (bmc: IpmiBmc, change: (asked: { id: number; offset: number }, data: Buffer) => Buffer) =>
    ({
      netFn,
      command,
      data,
    }: {
      readonly netFn: number;
      readonly command: number;
      readonly data: Buffer;
    }) => {
      if (netFn !== 0x0a || command !== 0x23) return undefined;
      const reply = bmc.sdr.get(data);
      const asked = { id: data.readUInt16LE(2), offset: data.readUInt8(4) };
      return reply.data ? { data: change(asked, Buffer.from(reply.data)) } : reply;
    };
  const lengthAt = 2 + 4;

  it.each<[string, (asked: { id: number; offset: number }, data: Buffer) => Buffer]>([
    [
      "IW133: whose last leads back to the first",
      (_, data) =>
        data.readUInt16LE(0) === 0xffff ? Buffer.concat([Buffer.of(1, 0), data.subarray(2)]) : data,
    ],
    [
      "IW133: whose last leads to itself",
      ({ id }, data) =>
        data.readUInt16LE(0) === 0xffff
          ? Buffer.concat([Buffer.of(id & 0xff, id >> 8), data.subarray(2)])
          : data,
    ],
    [
      "IW134: of which one has another ID",
      ({ id, offset }, data) => {
        if (id === 5 && offset === 0) data.writeUInt16LE(0x77, 2);
        return data;
      },
    ],
    [
      "IW135: of which one has bytes behind its end",
      ({ id }, data) => (id === 5 ? Buffer.concat([data, Buffer.of(1, 2, 3, 4)]) : data),
    ],
    [
      "IW135: of which one is shorter than its length",
      ({ id, offset }, data) => {
        if (id === 5 && offset === 0) data[lengthAt] = (data[lengthAt] ?? 0) + 4;
        return data;
      },
    ],
  ])("%s, are read all, each once", async (_, change) => {
    await using bmc = await startBmc();
    await using session = await openSession(bmc, { clock: scaledClock(20) });
    const names = (await getSensors(session)).map(({ name }) => name);
    await using again = await openSession(bmc, { clock: scaledClock(20) });
    bmc.faults.answers = changing(bmc, change);
    const before = bmc.log.length;

    const readings = await getSensors(again);

    expect(readings.map(({ name }) => name)).toEqual(names);
    expect(readings.filter(({ state }) => state === "not read")).toEqual([]);
    expect(bmc.log.slice(before).filter((name) => name === "Get SDR").length).toBeLessThan(2 * names.length);
  });

  it.each([
    ["IW148", 0xd4],
    ["IW148", 0xc0],
    ["IW148", 0xff],
    ["IW148", 0xcd],
  ])("%s: one sensor that is refused with %i has its reason", async (_, code) => {
    await using bmc = await startBmc();
    await using session = await openSession(bmc, { clock: scaledClock(20) });
    bmc.faults.refuses = (name, data) => (name === "Get Sensor Reading" && data[0] === 2 ? code : undefined);

    const readings = await getSensors(session);

    expect(readings.filter(({ reason }) => reason !== undefined)).toMatchObject([
      { state: "not read", reason: expect.stringContaining("Get Sensor Reading") },
    ]);
  });

  it("IW148: are an error where every sensor is refused for lack of privilege", async () => {
    await using bmc = await startBmc();
    await using session = await openSession(bmc);
    bmc.faults.refuses = (name) => (name === "Get Sensor Reading" ? 0xd4 : undefined);

    await expect(getSensors(session)).rejects.toMatchObject({ class: "auth", refused: "right" });
  });

  it("IW144: have readings, with a word, where the BMC says of all that they are not scanned", async () => {
    await using bmc = await startBmc();
    await using session = await openSession(bmc);
    bmc.faults.answers = ({ netFn, command, data }) => {
      if (netFn !== 4 || command !== 0x2d) return undefined;
      const reply = bmc.sdr.reading(data);
      return reply.data ? { data: Buffer.from(reply.data).fill(0x80, 1, 2) } : reply;
    };

    const readings = (await getSensors(session)).filter(({ value }) => value !== undefined);

    expect(readings.length).toBeGreaterThan(3);
    expect(new Set(readings.map(({ reason }) => reason))).toEqual(
      new Set(["the BMC says of every sensor that it is not scanned"]),
    );
  });

  it("IW145: have no states that their type does not have", async () => {
    const record = changed({ 12: 0x08, 13: 0x6f });
    const readings = { 1: reading(0, 0xc0, 0x01, 0xff) };
    await using bmc = await startBmc({ sdr: { records: [record], readings } });
    await using session = await openSession(bmc);

    expect(await getSensors(session)).toMatchObject([{ health: "ok", events: ["present"] }]);
  });

  it("IW152: have the base unit alone where the other unit is unspecified", () => {
    expect(unitText({ flags: 0b010, base: 1, modifier: 0 })).toBe("°C");
    expect(unitText({ flags: 0b100, base: 1, modifier: 0 })).toBe("°C");
    expect(unitText({ flags: 0b010, base: 6, modifier: 1 })).toBe("W/°C");
  });
});

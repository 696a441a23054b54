import { describe, expect, it } from "vitest";
import type { Session } from "../../../../../shared/bmc/operations/provider.ts";
import { limit, openSession, startBmc } from "./bench.ts";

/** 2026-01-15T18:53:25Z. */
const TIME = "a5376969";
/** Record of type 2: time, generator 0x0020, event message revision 4, sensor type and number, event. */
const event = (type: string, rest: string, time = TIME) =>
  Buffer.from(`000002${time}200004${type}42${rest}`, "hex");
const OEM = Buffer.from("0000c0a5376969570100010203040506", "hex");

function historyOf({ powerhistory }: Session) {
  if (!powerhistory) throw new Error("the session has no power history");
  return powerhistory;
}

const EVERYTHING = { resetMs: undefined, windowMs: 0, sensorNames: false };

async function eventsOf(records: readonly Buffer[], request: Partial<typeof EVERYTHING> = {}) {
  await using bmc = await startBmc({ log: { records } });
  await using session = await openSession(bmc);
  return await historyOf(session).events({ ...EVERYTHING, ...request }, limit());
}

describe("what the chassis reports", () => {
  it("has the cause of the last restart and what last happened to the power", async () => {
    await using bmc = await startBmc({ machine: { power: "on" } });
    bmc.machine.restartCause = 4;
    bmc.machine.lastPowerEvent = 0b11001;
    await using session = await openSession(bmc);

    const facts = await historyOf(session).facts(limit());

    expect(facts).toEqual({
      power: "on",
      lastReset: { cause: "watchdog expired", source: "Get System Restart Cause" },
      lastPowerEvent: ["AC failed", "power fault", "powered on by an IPMI command"],
      unread: [],
    });
  });

  it("says that a BMC does not know the command, which is optional", async () => {
    await using bmc = await startBmc();
    bmc.faults.refuses = (name) => (name === "Get System Restart Cause" ? 0xc1 : undefined);
    await using session = await openSession(bmc);

    expect(await historyOf(session).facts(limit())).toEqual({
      power: "off",
      unread: [
        {
          name: "Get System Restart Cause",
          reason: "the BMC does not know the command (completion code 0xC1)",
        },
      ],
    });
  });
});

it.each([
  ["one byte", 1],
  ["six bytes", 6],
])("IW055: the power is read from a Get Chassis Status of %s", async (_, length) => {
  await using bmc = await startBmc({ machine: { power: "on" } });
  await using session = await openSession(bmc);
  bmc.faults.overrules = (name, reply) =>
    name === "Get Chassis Status" && reply.data
      ? { data: Buffer.concat([reply.data, Buffer.alloc(6)]).subarray(0, length) }
      : reply;

  expect(await session.power.read(limit())).toBe("on");
});

describe("an event of the log", () => {
  it.each([
    ["08", "6f03ffff", "supply", undefined, "power supply sensor 0x42: input lost"],
    ["09", "6f04ffff", "power", undefined, "power unit sensor 0x42: AC lost"],
    ["09", "ef00ffff", "power", "restart", "power unit sensor 0x42: powered off, ended"],
    ["09", "6f00ffff", "power", undefined, "power unit sensor 0x42: powered off"],
    ["11", "6f01ffff", "watchdog", "restart", "watchdog 1 sensor 0x42: OS reset"],
    ["12", "6f01ffff", "boot", "restart", "system event sensor 0x42: OEM system boot"],
    ["14", "6f00ffff", "power", undefined, "button sensor 0x42: power button pressed"],
    ["14", "6f02ffff", "reset", "restart", "button sensor 0x42: reset button pressed"],
    ["1d", "6f01ffff", "reset", "restart", "system boot initiated sensor 0x42: by hard reset"],
    [
      "1d",
      "6fc704ff",
      "reset",
      "restart",
      "system boot initiated sensor 0x42: system restart (watchdog expired)",
    ],
    ["1d", "6f03ffff", "reset", undefined, "system boot initiated sensor 0x42: user requested PXE boot"],
    ["1e", "6f02ffff", "boot", undefined, "boot error sensor 0x42: PXE server not found"],
    ["1f", "6f06ffff", "boot", "boot", "OS boot sensor 0x42: boot completed"],
    ["1f", "6f07ffff", "boot", undefined, "OS boot sensor 0x42: OS installation started"],
    ["20", "6f01ffff", "shutdown", undefined, "OS stop sensor 0x42: stopped at run time"],
    ["22", "6f00ffff", "power", "restart", "ACPI power state sensor 0x42: S0/G0 working"],
    ["23", "6fc114ff", "watchdog", "restart", "watchdog 2 sensor 0x42: hard reset (OS timer)"],
    ["07", "6f01ffff", "fault", undefined, "processor sensor 0x42: thermal trip"],
  ])(
    "of sensor type %s that is %s is of the kind %s and proves %s",
    async (type, rest, kind, proves, message) => {
      const { logs, unread } = await eventsOf([event(type, rest)]);

      expect(logs).toEqual([
        [expect.objectContaining({ kind, message, source: "SEL", time: "2026-01-15T18:53:25.000Z" })],
      ]);
      expect(logs[0]?.[0]?.proves).toBe(proves);
      expect(unread).toEqual([]);
    },
  );

  it.each([
    ["a fan that is slow", "04", "0100ffff"],
    ["a system that was reconfigured", "12", "6f00ffff"],
    ["a memory error that has ended", "0c", "ef01ffff"],
  ])("is left out if it explains nothing: %s", async (_, type, rest) => {
    expect((await eventsOf([event(type, rest)])).logs).toEqual([[]]);
  });

  it("has no time if the BMC did not know it, and says what its clock showed", async () => {
    const { logs } = await eventsOf([
      event("09", "6f04ffff", "0c000000"),
      event("09", "6f04ffff", "ffffffff"),
      event("09", "6f04ffff", "00000021"),
    ]);

    expect(logs[0]?.map(({ time }) => time)).toEqual([undefined, undefined, undefined]);
    expect(logs[0]?.map(({ message }) => message.replace(/^.*lost/, ""))).toEqual([
      " (12 s after the BMC started)",
      "",
      " (the BMC's clock was at 1987-07-18T23:08:48.000Z)",
    ]);
  });
});

it("says that records of the BMC's maker, and those that cannot be read, are not in it", async () => {
  const records = [event("09", "6f04ffff"), OEM, OEM, event("09", "6f00ffff")];
  await using bmc = await startBmc({ log: { records } });
  bmc.faults.refuses = (name, data) =>
    name === "Get SEL Entry" && data.readUInt16LE(2) === 10 ? 0xff : undefined;
  await using session = await openSession(bmc);

  const { logs, unread } = await historyOf(session).events(EVERYTHING, limit());

  expect(logs).toEqual([[expect.objectContaining({ kind: "power" })]]);
  expect(unread).toEqual([
    { name: "SEL", reason: expect.stringMatching(/^3 of 4 records were read: .*0xFF/) },
    { name: "SEL", reason: "2 records in a format of the BMC's maker" },
  ]);
});

it("says that the log is full, so that the last restart may not be in it", async () => {
  await using bmc = await startBmc({ log: { records: [event("09", "6f04ffff")] } });
  const info = Buffer.from("5101000000ffffffffffffffff80", "hex");
  bmc.faults.answers = ({ netFn, command }) =>
    netFn === 0x0a && command === 0x40 ? { data: info } : undefined;
  await using session = await openSession(bmc);

  const { logs, unread } = await historyOf(session).events(EVERYTHING, limit());

  expect(logs[0]).toHaveLength(1);
  expect(unread).toEqual([{ name: "SEL", reason: "it is full, and later records were dropped" }]);
});

it("says that the log cannot be read, and reports the rest", async () => {
  await using bmc = await startBmc();
  bmc.faults.refuses = (name) => (name === "Get SEL Info" ? 0xc1 : undefined);
  await using session = await openSession(bmc);

  expect(await historyOf(session).events(EVERYTHING, limit())).toEqual({
    logs: [],
    unread: [{ name: "SEL", reason: expect.stringContaining("the BMC does not know the command") }],
  });
});

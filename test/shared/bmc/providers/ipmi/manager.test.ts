import { describe, expect, it } from "vitest";
import type { Session } from "../../../../../shared/bmc/operations/provider.ts";
import { parseDeviceId, parseGuid } from "../../../../../shared/bmc/providers/ipmi/commands/device-id.ts";
import type { IpmiBmcOptions } from "../../../../../simulators/ipmi/bmc.ts";
import { scaledClock } from "../../../../support/scaled-clock.ts";
import { AS_ADMINISTRATOR, limit, openSession, startBmc } from "./bench.ts";

type IpmiBmcOptionsOfFru = Pick<IpmiBmcOptions, "damageFru" | "fruPartBytes">;

function driver<K extends "manager" | "sol" | "nmi" | "inventory">(session: Session, name: K) {
  const found = session[name];
  if (!found) throw new Error(`the session has no ${name}`);
  return found;
}

describe.concurrent("what the BMC says of itself", () => {
  it("is vendor, product, firmware, version and UUID, in one round trip", async () => {
    await using bmc = await startBmc({ manufacturer: 674 });
    await using session = await openSession(bmc);
    const before = session.roundTrips();

    expect(await driver(session, "manager").info(limit())).toEqual({
      vendor: "Dell",
      model: "product 0x0f02",
      firmware: "3.45",
      protocolVersion: "2.0",
      uuid: "674523a1-ab89-efcd-a123-456789abcdef",
    });
    expect(session.roundTrips() - before).toBe(1);
  });

  it("has no UUID where the BMC has none", async () => {
    await using bmc = await startBmc();
    await using session = await openSession(bmc);
    bmc.faults.refuses = (name) => (name === "Get System GUID" ? 0xc1 : undefined);

    expect((await driver(session, "manager").info(limit())).uuid).toBeUndefined();
  });

  it("is a protocol error when it is cut short", () => {
    expect(() => parseDeviceId(Buffer.alloc(10))).toThrow(expect.objectContaining({ class: "protocol" }));
  });
});

describe.concurrent("a GUID", () => {
  const uuid = "12345678-9abc-4def-8123-456789abcdef";

  it.each([
    ["as SMBIOS has it", "78563412bc9aef4d8123456789abcdef"],
    ["as IPMI has it", "efcdab89674523" + "81ef4dbc9a78563412"],
    ["as it is written", "123456789abc4def8123456789abcdef"],
  ])("is read %s", (_, bytes) => {
    expect(parseGuid(Buffer.from(bytes, "hex"))).toBe(uuid);
  });

  it("of zeros, of ones or of fewer bytes is none", () => {
    expect(parseGuid(Buffer.alloc(16))).toBeUndefined();
    expect(parseGuid(Buffer.alloc(16, 0xff))).toBeUndefined();
    expect(parseGuid(Buffer.alloc(15, 1))).toBeUndefined();
  });
});

describe.concurrent("the BMC's clock", () => {
  it.each([
    ["the time since 1970", 1_700_000_000, 1_700_000_000_000],
    ["none before it was set", 77, undefined],
    ["none where the BMC has none", 0xffff_ffff, undefined],
  ])("reports %s", async (_, clockSeconds, expected) => {
    await using bmc = await startBmc({ clockSeconds });
    await using session = await openSession(bmc);

    expect(await driver(session, "manager").clockMs(limit())).toBe(expected);
  });
});

describe.concurrent("resetting the BMC", () => {
  it.each(["cold", "warm"] as const)("%s restarts it, and the session lives on", async (kind) => {
    await using bmc = await startBmc();
    await using session = await openSession(bmc, {
      overrides: { ...AS_ADMINISTRATOR, requestTimeoutMs: 20_000 },
    });

    await driver(session, "manager").reset(kind, limit());

    expect(bmc.log).toContain(kind === "cold" ? "Cold Reset" : "Warm Reset");
    expect(await session.power.read(limit())).toBe("off");
  });

  it("needs administrator", async () => {
    await using bmc = await startBmc();
    await using session = await openSession(bmc);

    await expect(driver(session, "manager").reset("cold", limit())).rejects.toMatchObject({
      class: "auth",
      message: expect.stringContaining("administrator"),
    });
    expect(bmc.sessions()).toBe(1);
  });

  it("is asked for once, and uncertain when the answer is lost", async () => {
    await using bmc = await startBmc();
    await using session = await openSession(bmc, {
      overrides: { ...AS_ADMINISTRATOR, requestTimeoutMs: 1_500 },
    });
    bmc.faults.losesAnswer = (name) => name === "Cold Reset";

    await expect(driver(session, "manager").reset("cold", limit())).rejects.toMatchObject({
      class: "timeout",
      uncertain: true,
    });
    expect(bmc.log.filter((name) => name === "Cold Reset")).toHaveLength(1);
  });
});

describe.concurrent("serial over LAN", () => {
  it("is ended for every instance that is active", async () => {
    await using bmc = await startBmc({ sol: [1, 3] });
    await using session = await openSession(bmc);

    await driver(session, "sol").deactivate(limit());

    expect(bmc.sol.size).toBe(0);
    expect(bmc.log.filter((name) => name === "Deactivate Payload")).toHaveLength(2);
  });

  it("that was not left open costs one read", async () => {
    await using bmc = await startBmc();
    await using session = await openSession(bmc);

    await driver(session, "sol").deactivate(limit());

    expect(bmc.log).not.toContain("Deactivate Payload");
  });

  it("is ended blindly where the BMC cannot say, and that there was none is success", async () => {
    await using bmc = await startBmc();
    await using session = await openSession(bmc);
    bmc.faults.refuses = (name) => (name === "Get Payload Activation Status" ? 0xc1 : undefined);

    await driver(session, "sol").deactivate(limit());

    expect(bmc.log).toContain("Deactivate Payload");
  });

  it("is distinguished from what a BMC cannot say, and from one that is busy", async () => {
    await using bmc = await startBmc({ sol: [2, 16] });
    await using session = await openSession(bmc);
    const active = () => driver(session, "sol").active(limit());

    const said = await active();
    bmc.faults.refuses = () => 0xc1;
    const unknown = await active();
    bmc.faults.refuses = () => 0xc0;

    expect(said).toEqual([2, 16]);
    expect(unknown).toBeUndefined();
    await expect(active()).rejects.toMatchObject({ class: "busy" });
  });

  it("is ended for the instances that are named, without a question", async () => {
    await using bmc = await startBmc({ sol: [1, 3] });
    await using session = await openSession(bmc);

    await driver(session, "sol").deactivate(limit(), [3]);

    expect([...bmc.sol]).toEqual([1]);
    expect(bmc.log).not.toContain("Get Payload Activation Status");
  });

  it("is unsupported where it is disabled", async () => {
    await using bmc = await startBmc({ sol: [1] });
    await using session = await openSession(bmc);
    bmc.faults.refuses = (name) => (name === "Deactivate Payload" ? 0x81 : undefined);

    await expect(driver(session, "sol").deactivate(limit())).rejects.toMatchObject({ class: "unsupported" });
  });
});

describe.concurrent("the diagnostic interrupt", () => {
  it("is raised once", async () => {
    await using bmc = await startBmc({ machine: { power: "on" } });
    await using session = await openSession(bmc);

    await driver(session, "nmi").send(limit());

    expect(bmc.machine.commands.map(({ action }) => action)).toEqual(["nmi"]);
  });

  it("is never repeated, and uncertain when its answer is lost", async () => {
    await using bmc = await startBmc({ machine: { power: "on" }, duplicates: "execute" });
    await using session = await openSession(bmc, { overrides: { requestTimeoutMs: 1_500 } });
    bmc.faults.losesAnswer = (name) => name === "Chassis Control";

    await expect(driver(session, "nmi").send(limit())).rejects.toMatchObject({
      class: "timeout",
      uncertain: true,
    });
    expect(bmc.machine.count("nmi")).toBe(1);
  });

  it("is an error of state on a machine that is off", async () => {
    await using bmc = await startBmc();
    await using session = await openSession(bmc);

    await expect(driver(session, "nmi").send(limit())).rejects.toMatchObject({ class: "state" });
  });
});

describe.concurrent("the inventory", () => {
  const fru = {
    vendor: "Example Corp",
    model: "R1",
    serial: "SYS-7",
    boardSerial: "BRD-7",
    chassisSerial: "CH-7",
  };

  it.each([255, 32, 8])("comes from the FRU, %i bytes at a time", async (fruPartBytes) => {
    await using bmc = await startBmc({ fru, fruPartBytes });
    await using session = await openSession(bmc);

    expect(await driver(session, "inventory").read(limit())).toEqual({
      system: {
        vendor: "Example Corp",
        model: "R1",
        serial: "SYS-7",
        uuid: "674523a1-ab89-efcd-a123-456789abcdef",
      },
      chassis: { model: "CHASSIS-1", serial: "CH-7" },
      mainboard: { vendor: "Example Corp", model: "R1 board", serial: "BRD-7" },
      bmc: { vendor: "Intel", firmware: "3.45" },
      processors: [],
      memory: [],
      disks: [],
      nics: [],
      firmware: [{ name: "BMC", version: "3.45" }],
    });
  });

  it("has what can be read where an area of the FRU cannot, and names that", async () => {
    await using bmc = await startBmc({ fru });
    await using session = await openSession(bmc);
    const isChassisArea = (data: Buffer) => data.readUInt16LE(1) === 8;
    bmc.faults.refuses = (name, data) => (name === "Read FRU Data" && isChassisArea(data) ? 0xcc : undefined);

    const found = await session.inventory?.read(limit());

    expect(found?.unread).toMatchObject([{ name: expect.stringMatching(/area of FRU 0$/) }]);
    expect(found?.bmc?.firmware).toBeDefined();
  });

  it("is unsupported where the BMC has no FRU", async () => {
    await using bmc = await startBmc();
    await using session = await openSession(bmc);
    bmc.faults.refuses = (name) => (name === "Get FRU Inventory Area Info" ? 0xcb : undefined);

    await expect(driver(session, "inventory").read(limit())).rejects.toMatchObject({ class: "unsupported" });
  });

  it.each<[string, string, IpmiBmcOptionsOfFru]>([
    ["its header", "header of FRU 0", { damageFru: (fru) => fru.writeUInt8(0x55, 7) }],
    ["its chassis area", "chassis area of FRU 0", { damageFru: (fru) => fru.writeUInt8(0x55, 11) }],
    ["none of its bytes", "FRU 0", { fruPartBytes: 4 }],
  ])("names what cannot be read of a FRU with junk in %s", async (_, name, options) => {
    await using bmc = await startBmc({ fru, ...options });
    await using session = await openSession(bmc);

    const found = await driver(session, "inventory").read(limit());

    expect(found.unread).toEqual([
      { name, reason: expect.stringMatching(/checksum|Read FRU Data: refused/) },
    ]);
    expect(found.bmc?.firmware).toBe("3.45");
  });
});

describe.concurrent("a FRU with its own ways", () => {
  const serialOf = async (session: Session) =>
    (await driver(session, "inventory").read(limit())).system.serial;

  it.each([
    ["IW169", "lost"],
    ["IW170", 0xc3],
    ["IW170", 0xff],
    ["IW170", 0xcc],
    ["IW170", 0xca],
  ] as const)("%s: is read in smaller pieces where a large read is %s", async (_, answer) => {
    await using bmc = await startBmc();
    const clock = scaledClock(20);
    await using session = await openSession(bmc, { clock, overrides: { requestTimeoutMs: 30_000 } });
    const isLarge = (name: string, data: Buffer) => name === "Read FRU Data" && (data[3] ?? 0) > 16;
    if (answer === "lost") bmc.faults.ignores = isLarge;
    else bmc.faults.refuses = (name, data) => (isLarge(name, data) ? answer : undefined);
    const startedMs = clock.monotonicMs();

    expect(await serialOf(session)).toBe("SYS-1");
    expect(clock.monotonicMs() - startedMs).toBeLessThan(30_000);
  });

  it("IW171: has what was read where the last piece of an area is refused", async () => {
    await using bmc = await startBmc({ fruPartBytes: 8 });
    await using session = await openSession(bmc);
    bmc.faults.refuses = (name, data) =>
      name === "Read FRU Data" && data.readUInt16LE(1) >= 120 ? 0xc9 : undefined;

    const found = await driver(session, "inventory").read(limit());

    expect(found.system.vendor).toBe("Example");
    expect(found.unread).toMatchObject([
      { name: "product area of FRU 0", reason: expect.stringContaining("cut short") },
    ]);
  });

  it.each<[string, (fru: Buffer) => void, string]>([
    [
      "IW172: its last area",
      (fru) => fru.writeUInt8(fru.readUInt8(fru.length - 1) ^ 0x55, fru.length - 1),
      "product area of FRU 0",
    ],
    ["IW173: its header", (fru) => fru.writeUInt8(fru.readUInt8(7) ^ 0x55, 7), "header of FRU 0"],
  ])("is shown with a word about the wrong checksum of %s", async (_, damageFru, name) => {
    await using bmc = await startBmc({ damageFru });
    await using session = await openSession(bmc);

    const found = await driver(session, "inventory").read(limit());

    expect(found.system.serial).toBe("SYS-1");
    expect(found.unread).toMatchObject([{ name, reason: expect.stringContaining("checksum is wrong") }]);
  });

  it("IW172: never shows the board's serial as the system's where the system's area cannot be read", async () => {
    let productAt = 0;
    await using bmc = await startBmc({ damageFru: (fru) => (productAt = fru.readUInt8(4) * 8) });
    await using session = await openSession(bmc);
    bmc.faults.refuses = (name, data) =>
      name === "Read FRU Data" && data.readUInt16LE(1) >= productAt ? 0xcb : undefined;

    const found = await driver(session, "inventory").read(limit());

    expect(found.system.serial).toBeUndefined();
    expect(found.mainboard?.serial).toBe("BRD-1");
    expect(found.unread).toMatchObject([{ name: "product area of FRU 0" }]);
  });

  it.each(["\xff\xff\xff", "\xfe", "\x03", "\x10\x10", "  ", "\0"])(
    "IW174: has texts without their filling: %j",
    async (filling) => {
      await using bmc = await startBmc({ fru: { serial: `SYS-1${filling}` } });
      await using session = await openSession(bmc);

      expect(await serialOf(session)).toBe("SYS-1");
    },
  );
});

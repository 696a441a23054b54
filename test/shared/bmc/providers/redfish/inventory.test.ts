import { afterEach, describe, expect, test } from "vitest";
import { dimm, MemoryResource } from "../../../../../shared/bmc/providers/redfish/drivers/inventory-parts.ts";
import { type RedfishBmc, startRedfishBmc } from "../../../../../simulators/redfish/bmc.ts";
import { type RedfishProfile, redfishProfile } from "../../../../../simulators/redfish/profiles.ts";
import { errorOf, neverAborts, withSession } from "./open-session.ts";

const signal = neverAborts();
const generic = redfishProfile("generic");
let bmc: RedfishBmc;
afterEach(() => bmc.close());

async function start(profile: string | RedfishProfile = "generic"): Promise<void> {
  bmc = await startRedfishBmc({ tls: "http", profile });
}

function read(hint?: unknown) {
  return withSession(bmc, { hint }, ({ inventory }) => {
    if (!inventory) throw new Error("no inventory driver");
    return inventory.read(signal);
  });
}

describe.each(["generic", "dell-idrac9", "hpe-ilo5", "paging"])("on %s", (profile) => {
  test("everything built in is reported, and empty places are not", async () => {
    await start(profile);

    const hardware = await read();

    expect(hardware.system).toMatchObject({
      vendor: bmc.profile.manufacturer,
      model: bmc.profile.model,
      serial: "CZ00000001",
      uuid: "4c4c4544-0000-1000-8000-b4c04f303032",
      biosVersion: "2.19.1",
      memoryBytes: 96 * 2 ** 30,
    });
    expect(hardware.processors).toEqual(
      [1, 2].map((n) => ({
        ...{ name: `CPU.Socket.${n}`, vendor: "Contoso", model: "Contoso Fast 9000" },
        ...{ cores: 16, threads: 32 },
      })),
    );
    expect(hardware).toMatchObject({
      chassis: { vendor: bmc.profile.manufacturer, model: bmc.profile.model, serial: "CH00000001" },
      mainboard: { vendor: bmc.profile.manufacturer, model: "MB-7", serial: "MB00000001" },
      bmc: { model: bmc.profile.model, firmware: bmc.profile.firmware },
    });
    expect(hardware.memory).toHaveLength(3);
    expect(hardware.memory[0]).toEqual({
      ...{ name: "A1", bytes: 2 ** 35, kind: "DDR4", vendor: "Contoso Memory", serial: "MEM-A1" },
    });
    expect(hardware.disks.map(({ vendor, serial, kind }) => [vendor, serial, kind])).toEqual([
      ["Contoso Disks", "DISK-0", "SAS SSD"],
      ["Contoso Disks", "DISK-1", "SAS SSD"],
    ]);
    expect(hardware.nics).toEqual([
      { name: "NIC.1", mac: "52:54:00:aa:bb:01", speedMbps: 25_000, up: true },
      { name: "NIC.2", mac: "52:54:00:aa:bb:02", up: false },
    ]);
    expect(hardware.bmc?.nics?.[0]).toMatchObject({ name: "eth0" });
    expect(hardware.storageControllers).toEqual([
      {
        ...{ name: "RAID", vendor: "Contoso", model: "RC-9", serial: "RC-1", firmware: "51.10" },
        ...{ health: "OK", state: "Enabled" },
      },
    ]);
    expect(hardware.tpms).toEqual([
      { name: "TPM 1", firmware: "7.2.2.0", interfaceType: "TPM2_0", state: "Enabled" },
    ]);
    expect(hardware.firmware).toEqual([
      { name: "BMC firmware", version: bmc.profile.firmware },
      { name: "BIOS", version: "2.19.1" },
    ]);
  });
});

describe.each([
  ["Power", { powerSupplies: 2, sensors: ["Thermal"] }],
  ["PowerSubsystem", { sensors: ["ThermalSubsystem"] }],
  ["an empty Power and PowerSubsystem", { sensors: ["ThermalSubsystem"], powerLimit: "power" }],
] as const)("power supplies in %s", (_, fields) => {
  test("are read, with graphics processors, which are no processors", async () => {
    await start({ ...generic, ...fields, gpus: 1 });

    const { powerSupplies, gpus, processors, complete } = await read();

    expect(powerSupplies).toEqual(
      [1, 2].map((n) => ({
        ...{ name: `PSU ${n}`, vendor: "Contoso Power", model: "PS-800", serial: `PSU-${n}` },
        ...{ firmware: "00.2A.2B", watts: 800, health: "OK", state: "Enabled" },
      })),
    );
    expect(gpus).toEqual([
      {
        ...{ name: "GPU 1", vendor: "Contoso", model: "Contoso Shader 40", serial: "GPU-1" },
        ...{ firmware: "95.02.39", health: "OK", state: "Enabled" },
      },
    ]);
    expect(processors).toHaveLength(2);
    expect(complete).toContain("powerSupplies");
  });
});

test("lists are complete if the BMC has what lists them and all of it could be read", async () => {
  await start({ ...generic, sensors: [], network: "none" });
  // Without a GPU among the processors, GPUs may be listed elsewhere.
  const whole = ["processors", "memory", "disks", "nics", "firmware", "tpms", "storageControllers"];

  const before = await read();
  bmc.fail({
    kind: "refuse",
    status: 500,
    messageId: "Base.1.8.InternalError",
    path: /CPU.Socket.1$/,
    times: 9,
  });
  bmc.fail({ kind: "refuse", status: 404, messageId: "Base.1.8.ResourceMissingAtURI", path: /Drives\/1$/ });
  const after = await read();

  expect(before).toMatchObject({ powerSupplies: [], gpus: [] });
  expect(before.complete?.toSorted()).toEqual(whole.toSorted());
  expect(after.complete?.toSorted()).toEqual(
    ["memory", "nics", "firmware", "tpms", "storageControllers"].toSorted(),
  );
});

test("collections are expanded where the BMC can, which a hint remembers", async () => {
  await start("hpe-ilo5");
  const hint = await withSession(bmc, {}, async (session) => {
    await session.inventory?.read(signal);
    return session.hint();
  });
  const cold = bmc.requests.length;
  bmc.forget();

  await read(hint);

  expect(bmc.log.filter((line) => line.includes("?$expand=."))).toHaveLength(7);
  // The system, chassis, mainboard, BMC, seven expanded collections, two drives, Power.
  expect(bmc.requests).toHaveLength(14);
  expect(cold).toBeLessThan(28);
});

test("a BMC that expands unasked is not asked again", async () => {
  await start({ ...generic, expandsAnyway: true });

  await read();

  expect(bmc.log.filter((line) => /Processors\/|Memory\/|EthernetInterfaces\//.test(line))).toEqual([]);
});

test.each([
  ["is missing", { kind: "refuse", status: 404, messageId: "Base.1.8.ResourceMissingAtURI" }],
  ["breaks the service", { kind: "refuse", status: 500, messageId: "Base.1.8.InternalError" }],
  ["is no JSON", { kind: "bad-json" }],
] as const)("a collection that %s leaves its part empty and the others whole", async (_, fault) => {
  await start();
  for (const path of [/\/Memory$/, /Chassis\/1$/, /Managers/]) bmc.fail({ ...fault, path, times: 9 });

  const hardware = await read();

  expect(hardware).toMatchObject({ memory: [] });
  for (const part of ["chassis", "mainboard", "bmc"]) expect(hardware).not.toHaveProperty(part);
  expect(hardware.processors).toHaveLength(2);
  expect(hardware.firmware).toHaveLength(2);
});

test.each<[string, Record<string, unknown>, boolean]>([
  ["says so", { Status: { State: "Absent" }, CapacityMiB: null }, false],
  ["has no capacity", { CapacityMiB: 0, SerialNumber: "NO DIMM" }, false],
  ["reports nothing at all", { CapacityMiB: null, MemoryDeviceType: null, SerialNumber: " " }, false],
  ["reports its kind", { MemoryDeviceType: "DDR4" }, true],
  ["reports its serial number", { SerialNumber: "MEM-1" }, true],
])("a memory slot that %s counts as it should", (_, fields, counts) => {
  const value = MemoryResource.parse({ Id: "1", Name: "DIMM 1", ...fields });

  expect(dimm("/redfish/v1/Systems/1/Memory/1", value) !== undefined).toBe(counts);
});

test("a member that cannot be read is left out", async () => {
  await start();
  bmc.fail({ kind: "truncated", path: /CPU.Socket.1$/, times: 9 });

  expect((await read()).processors.map(({ name }) => name)).toEqual(["CPU.Socket.2"]);
});

test("a BMC that goes away in the middle is an error, not an empty machine", async () => {
  await start();
  bmc.fail({ kind: "close-before", path: /Storage/, times: 9 });

  expect((await errorOf(read())).class).toBe("unreachable");
});

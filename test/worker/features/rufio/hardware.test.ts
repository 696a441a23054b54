import { describe, expect, test } from "vitest";
import { reference } from "../../../../actions/inventory/reference.ts";
import type { Hardware } from "../../../../shared/bmc/operations/inventory.ts";
import { defined } from "../../../../shared/defined.ts";
import type { HardwareReading } from "../../../../worker/core/action/hardware-seen.ts";
import { outOfBand } from "../../../../worker/features/rufio/out-of-band.ts";
import { eventually, LEASE_NAME, type RufioLab, type RufioLabOptions, rufioLab } from "./rufio-lab.ts";

const API = "tinkerbell.org/v1alpha1";
const DISABLED = { "tinkerbell.org/disable-outofband-inventory": "true" };
const known = reference.result.data as Hardware;
const reading = (hardware: Hardware, at = "2026-03-01T08:00:00Z"): HardwareReading => ({
  ...{ hardware, provider: "redfish", readAt: new Date(at) },
});

/** A replica that knows some hardware, and the objects that it writes. */
async function hardwareLab(
  options: RufioLabOptions & {
    readonly known?: HardwareReading;
    readonly before?: (lab: RufioLab) => unknown;
  } = {},
) {
  const lab = await rufioLab(options);
  options.before?.(lab);
  const asked: string[] = [];
  const refreshed: string[] = [];
  const source = { now: options.known };
  let listener: (machine: string) => void = () => undefined;
  const replica = await lab.replica({
    hardware: {
      find(machine) {
        asked.push(machine);
        return source.now;
      },
      awaited: () => AbortSignal.abort(),
      refresh: (machine) => refreshed.push(machine),
      onRead: (given) => {
        listener = given;
      },
    },
  });
  const status = (name: string) =>
    lab.cluster.get(API, "Hardware", name)?.["status"] as
      | { readonly attributes?: { readonly outOfBand?: Readonly<Record<string, unknown>> } }
      | undefined;
  return {
    ...{ lab, replica, asked, refreshed },
    /** Hardware of a Machine, as its user writes it. */
    addHardware: (name: string, machine = "node-01", annotations = {}) =>
      lab.cluster.create(API, "Hardware", {
        metadata: { name, namespace: "default", annotations },
        spec: { bmcRef: { apiGroup: "bmc.tinkerbell.org", kind: "Machine", name: machine } },
        status: {},
      }),
    foundByRufio(name: string, found: object) {
      const outOfBand = { ...found, collectionMethod: "gofish", lastUpdated: "2026-01-01T00:00:00Z" };
      lab.cluster.patchStatus(API, "Hardware", name, { attributes: { outOfBand } }, "default");
    },
    written: (name: string) => status(name)?.attributes?.outOfBand,
    reads(next: HardwareReading) {
      source.now = next;
      listener("node-01");
    },
    patches: () =>
      lab.cluster.requests.filter(({ verb, resource }) => verb === "patch" && resource === "hardware"),
    [Symbol.asyncDispose]: () => lab[Symbol.asyncDispose](),
  };
}

describe("the status of Hardware", () => {
  test("is what Rufio's fields say of a machine", () => {
    expect(outOfBand(known)).toEqual({
      product: { vendor: "Contoso", model: "3500", serialNumber: "CZ00000001" },
      bios: { firmwareVersion: "2.19.1" },
      bmc: {
        ...{ model: "BMC-2000", firmwareVersion: "1.45.455b66" },
        nic: {
          ports: [{ portID: "1", mac: "52:54:00:00:00:01", speedMbps: 1_000, linkStatus: "Up" }],
        },
      },
      chassis: { vendor: "Contoso", model: "3500", serialNumber: "CH00000001" },
      baseboard: { vendor: "Contoso", model: "MB-7", serialNumber: "MB00000001" },
      cpu: {
        sockets: [
          { slot: "CPU.Socket.1", vendor: "Contoso", model: "Contoso Fast 9000", cores: 16, threads: 32 },
        ],
      },
      memory: { modules: [{ slot: "A1", serialNumber: "MEM-A1", sizeBytes: 34_359_738_368 }] },
      blockDevices: [
        {
          ...{ model: "Contoso Platter", serialNumber: "DISK-0" },
          ...{ driveType: "SSD", sizeBytes: 960_197_124_096 },
        },
      ],
      networkInterfaces: [
        { ports: [{ portID: "NIC.1", mac: "52:54:00:aa:bb:01", speedMbps: 25_000, linkStatus: "Up" }] },
      ],
      psus: [
        {
          ...{ description: "PSU 1", model: "PS-800", serialNumber: "PSU-1", powerCapacityWatts: 800 },
          status: { health: "OK", state: "Enabled" },
        },
      ],
      tpms: [{ firmwareVersion: "7.2.2.0", interfaceType: "TPM2_0", status: { state: "Enabled" } }],
      storageControllers: [
        {
          ...{ description: "RAID", model: "RC-9", serialNumber: "RC-1", firmwareVersion: "51.10" },
          status: { health: "OK" },
        },
      ],
    });
  });

  test("is the same for parts in another order, and without fields for what is unknown", () => {
    const nics = [{ name: "NIC.2", up: false }, { name: "NIC.1" }];
    const hardware = { system: {}, processors: [], memory: [], disks: [], nics, firmware: [] };

    expect(outOfBand({ ...hardware, nics: nics.toReversed() })).toEqual(outOfBand(hardware));
    expect(outOfBand({ ...hardware, nics: [] })).toEqual({});
    const nothing = [{ name: "" }];
    const empty = { processors: nothing, memory: nothing, disks: nothing, nics: nothing };
    expect(outOfBand({ ...hardware, ...empty, tpms: nothing, gpus: nothing })).toEqual({});
  });

  test("is written once it is known, and again only when it changes, with what was not read again", async () => {
    await using lab = await hardwareLab();
    lab.lab.addMachine();
    lab.addHardware("hw-1");
    await eventually(() => expect(lab.asked).toContain("node-01"));
    expect(lab.written("hw-1")).toBeUndefined();

    lab.reads(reading(known));
    await eventually(() => expect(lab.written("hw-1")).toBeDefined());
    expect(lab.written("hw-1")).toEqual({
      ...outOfBand(known),
      collectionMethod: "redfish",
      lastUpdated: "2026-03-01T08:00:00Z",
    });
    lab.reads(reading(known, "2026-03-02T08:00:00Z"));
    const { chassis: _, ...without } = known;
    const system = { ...known.system, biosVersion: "2.20.0" };
    const unread = { disks: [], complete: [] };
    lab.reads(reading({ ...without, system, ...unread }, "2026-03-03T08:00:00Z"));
    await eventually(() => expect(lab.written("hw-1")?.["lastUpdated"]).toBe("2026-03-03T08:00:00Z"));

    const { bios: _bios, lastUpdated: _time, ...others } = lab.written("hw-1") ?? {};
    const { bios: _before, ...asBefore } = outOfBand(known);
    expect(lab.written("hw-1")?.["bios"]).toEqual({ firmwareVersion: "2.20.0" });
    expect(others).toEqual({ ...asBefore, collectionMethod: "redfish" });
    expect(lab.patches()).toHaveLength(2);
    expect(lab.patches()[0]).toMatchObject({ subresource: "status", name: "hw-1" });
  });

  test("keeps what Rufio has found and was not read, although it is the same field manager's", async () => {
    // IPMI reports only a machine's names.
    const { system, bmc } = known;
    const none = { processors: [], memory: [], disks: [], nics: [], firmware: [] };
    await using lab = await hardwareLab({ known: reading({ system, ...defined({ bmc }), ...none }) });
    lab.lab.addMachine();
    const found = {
      ...{ psus: [{ model: "PSU-1", powerCapacityWatts: 800 }], tpms: [{ interfaceType: "TPM2_0" }] },
      ...{ storageControllers: [{ model: "HBA" }], gpuDevices: [{ model: "GPU" }] },
      ...{ blockDevices: [{ serialNumber: "s1" }], cpu: { sockets: [{ slot: "1" }] } },
    };
    lab.addHardware("hw-1");
    lab.foundByRufio("hw-1", { ...found, bmc: { vendor: "Contoso", nic: { vendor: "Contoso" } } });

    await eventually(() => expect(lab.written("hw-1")?.["collectionMethod"]).toBe("redfish"));

    const { nic } = outOfBand(known)["bmc"] as { readonly nic: object };
    expect(lab.written("hw-1")).toMatchObject({
      ...found,
      bmc: { vendor: "Contoso", model: "BMC-2000", nic: { ...nic, vendor: "Contoso" } },
      product: { serialNumber: "CZ00000001" },
    });
    for (const { body } of lab.patches()) {
      expect(JSON.parse(String(body))).toMatchObject({ status: { attributes: { outOfBand: found } } });
    }
  });

  test("loses parts that are no longer in the machine, and none of a list that was read in part", async () => {
    await using lab = await hardwareLab();
    lab.lab.addMachine();
    lab.addHardware("hw-1");
    await eventually(() => expect(lab.asked).toContain("node-01"));
    const old = (serial: string) => [{ name: "1", serial }];
    const before = { powerSupplies: old("PSU-0"), storageControllers: old("RC-0"), gpus: old("GPU-0") };
    lab.reads(reading({ ...known, ...before }));
    await eventually(() => expect(lab.written("hw-1")?.["gpuDevices"]).toBeDefined());

    // Not all power supplies were read.
    lab.reads(reading(known, "2026-03-02T08:00:00Z"));
    await eventually(() => expect(lab.written("hw-1")).not.toHaveProperty("gpuDevices"));

    expect(lab.written("hw-1")).toMatchObject({
      psus: [{ serialNumber: "PSU-0" }, { serialNumber: "PSU-1" }],
      storageControllers: [{ serialNumber: "RC-1" }],
    });
  });

  test("is not written to an object that has replaced the known one", async () => {
    await using lab = await hardwareLab();
    const { cluster } = lab.lab;
    lab.lab.addMachine();
    lab.addHardware("hw-1");
    await eventually(() => {
      expect(lab.asked).toContain("node-01");
      expect(cluster.openWatches("hardware")).toHaveLength(1);
    });
    await cluster.watchGap("Hardware", () => {
      cluster.remove(API, "Hardware", "hw-1");
      lab.addHardware("hw-1", "node-02");
    });

    lab.reads(reading(known));
    await eventually(() => expect(lab.patches()).toHaveLength(1));

    expect(lab.written("hw-1")).toBeUndefined();
  });

  test("is left alone where its user or its Machine says so, and where two refer to one Machine", async () => {
    await using lab = await hardwareLab({
      machines: { "node-01": {}, "node-02": {}, "node-03": {} },
      known: reading(known),
    });
    for (const name of ["node-01", "node-02", "node-03"]) lab.lab.addMachine(name);
    lab.addHardware("disabled", "node-01", DISABLED);
    lab.addHardware("one", "node-02");
    lab.addHardware("two", "node-02");
    lab.addHardware("usual", "node-03");

    await eventually(() => expect(lab.written("usual")).toBeDefined());
    await eventually(() =>
      expect(lab.lab.said("several Hardware objects refer to one Machine")).toHaveLength(1),
    );

    expect(lab.asked).not.toContain("node-01");
    const written = lab.patches().map(({ name }) => name);
    expect(written).not.toContain("disabled");
    expect(written.filter((name) => name === "two")).toEqual([]);
  });

  test("is not written while Rufio holds its Lease", async () => {
    await using lab = await hardwareLab({
      known: reading(known),
      before: ({ cluster, lease }) => cluster.create("coordination.k8s.io/v1", "Lease", lease("rufio")),
    });
    lab.lab.addMachine();
    lab.addHardware("hw-1");
    await eventually(() => expect(lab.replica.rufio.state().leaseFree).toBe(false));
    await eventually(() => expect(lab.asked.length).toBeGreaterThan(0));

    expect(lab.patches()).toHaveLength(0);
    lab.lab.cluster.remove("coordination.k8s.io/v1", "Lease", LEASE_NAME, "tink-system");

    await eventually(() => expect(lab.written("hw-1")).toBeDefined());
  });

  test("is read again when Rufio's annotation appears at the Machine", async () => {
    await using lab = await hardwareLab({ known: reading(known) });
    lab.lab.addMachine();
    lab.addHardware("hw-1");
    await eventually(() => expect(lab.written("hw-1")).toBeDefined());
    expect(lab.refreshed).toEqual([]);

    const annotations = { "tinkerbell.org/refresh-inventory": "true" };
    lab.lab.cluster.patch("bmc.tinkerbell.org/v1alpha1", "Machine", "node-01", { metadata: { annotations } });

    await eventually(() => expect(lab.refreshed).toEqual(["node-01"]));
  });

  test("does not stop Rufio's work where the right is missing", async () => {
    await using lab = await hardwareLab({ known: reading(known) });
    lab.lab.cluster.fail({ verb: "patch", resource: "hardware" }, { status: 403, times: 9 });
    lab.lab.addMachine();
    lab.addHardware("hw-1");

    await eventually(() => expect(lab.lab.said("Hardware status update failed, retrying")).toHaveLength(1));
    lab.lab.addSecret();
    lab.lab.addJob("job-1", [{ powerAction: "off" }]);
    await eventually(() =>
      expect(lab.lab.job("job-1").conditions?.map(({ type }) => type)).toContain("Completed"),
    );
  });
});

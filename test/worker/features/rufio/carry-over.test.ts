import { expect, it } from "vitest";
import { carriedOver } from "../../../../worker/features/rufio/carry-over.ts";

it("takes what was read, and keeps fields and whole parts that were not", () => {
  const before = {
    bmc: { model: "old", nic: { ports: [] } },
    psus: [{ model: "p" }],
    chassis: { model: "c" },
  };

  expect(carriedOver(before, { bmc: { model: "new" }, product: { name: "n" } }, [])).toEqual({
    bmc: { model: "new", nic: { ports: [] } },
    ...{ psus: [{ model: "p" }], chassis: { model: "c" }, product: { name: "n" } },
  });
  expect(carriedOver({}, { product: { name: "n" } }, [])).toEqual({ product: { name: "n" } });
  expect(carriedOver(before, {}, [])).toEqual(before);
});

it("keeps the fields of a part that is still there, and drops parts that a complete list lacks", () => {
  const status = { health: "OK" };
  const before = {
    blockDevices: [
      { serialNumber: "gone", wwn: "1", status },
      { serialNumber: "s2", wwn: "2", smartStatus: "ok", status },
    ],
    memory: { modules: [{ slot: "A1", partNumber: "x", speedMHz: 3_200 }], totalBytes: 1 },
  };

  expect(
    carriedOver(
      before,
      {
        blockDevices: [{ serialNumber: "s2", sizeBytes: 5 }, { serialNumber: "new" }],
        memory: { modules: [{ slot: "A1", sizeBytes: 7 }] },
      },
      ["blockDevices"],
    ),
  ).toEqual({
    blockDevices: [
      { serialNumber: "s2", wwn: "2", smartStatus: "ok", status, sizeBytes: 5 },
      { serialNumber: "new" },
    ],
    memory: { modules: [{ slot: "A1", partNumber: "x", speedMHz: 3_200, sizeBytes: 7 }], totalBytes: 1 },
  });
});

it("takes parts without an identity in their order", () => {
  const sockets = [
    { slot: "CPU.Socket.1", clockSpeedMHz: 2_000 },
    { slot: "CPU.Socket.2", clockSpeedMHz: 3_000 },
  ];

  expect(
    carriedOver({ cpu: { sockets } }, { cpu: { sockets: [{ model: "a" }, { model: "b" }] } }, []),
  ).toEqual({
    cpu: {
      sockets: [
        { ...sockets[0], model: "a" },
        { ...sockets[1], model: "b" },
      ],
    },
  });
});

it("keeps adapters with their ports, and adds the ports of none", () => {
  const adapter = {
    vendor: "Contoso",
    firmwareVersion: "1",
    ports: [{ portID: "1", mac: "aa", mtu: 9_000 }],
  };
  const other = { vendor: "Fabric", ports: [{ portID: "ib0" }] };
  const own = { ports: [{ portID: "NIC.9", mac: "99" }] };
  const before = { networkInterfaces: [adapter, other, own] };

  expect(
    carriedOver(
      before,
      {
        networkInterfaces: [
          { ports: [{ portID: "NIC.1", mac: "aa", linkStatus: "Up" }] },
          { ports: [{ portID: "NIC.2", mac: "bb" }] },
        ],
      },
      ["networkInterfaces"],
    ),
  ).toEqual({
    networkInterfaces: [
      { ...adapter, ports: [{ portID: "NIC.1", mac: "aa", mtu: 9_000, linkStatus: "Up" }] },
      other,
      { ports: [{ portID: "NIC.2", mac: "bb" }] },
    ],
  });
});

it("removes what a complete list lacks, also all of it, and keeps what else is beside it", () => {
  const before = {
    psus: [{ serialNumber: "p1" }],
    gpuDevices: [{ model: "GPU" }],
    cpu: { sockets: [{ slot: "1" }], totalCores: 8 },
    memory: { modules: [{ slot: "A1" }] },
    bmc: { model: "B", nic: { ports: [{ mac: "aa" }] } },
    networkInterfaces: [{ vendor: "Fabric", ports: [{ portID: "ib0" }] }, { ports: [{ mac: "99" }] }],
  };
  const complete = ["psus", "cpu.sockets", "memory.modules", "bmc.nic.ports", "networkInterfaces", "tpms"];

  expect(carriedOver(before, {}, complete)).toEqual({
    gpuDevices: [{ model: "GPU" }],
    cpu: { totalCores: 8 },
    bmc: { model: "B" },
    networkInterfaces: [{ vendor: "Fabric", ports: [{ portID: "ib0" }] }],
  });
});

it("keeps the parts that an incomplete list lacks, and adds none of them twice", () => {
  const before = {
    psus: [
      { serialNumber: "p1", model: "x" },
      { serialNumber: "p2", powerCapacityWatts: 800 },
    ],
    tpms: [{ firmwareVersion: "1" }, { firmwareVersion: "2" }],
    networkInterfaces: [{ ports: [{ mac: "99" }] }, { ports: [{ mac: "aa", mtu: 9_000 }] }],
  };
  const read = {
    psus: [{ serialNumber: "p2", model: "y" }],
    tpms: [{ firmwareVersion: "2" }],
    networkInterfaces: [{ ports: [{ mac: "aa", linkStatus: "Up" }] }],
  };
  const found = {
    psus: [before.psus[0], { serialNumber: "p2", powerCapacityWatts: 800, model: "y" }],
    tpms: before.tpms,
    networkInterfaces: [{ ports: [{ mac: "99" }] }, { ports: [{ mac: "aa", mtu: 9_000, linkStatus: "Up" }] }],
  };

  expect(carriedOver(before, read, [])).toEqual(found);
  expect(carriedOver(found, read, [])).toEqual(found);
});

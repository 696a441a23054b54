import { describe, expect, it } from "vitest";
import { redfish } from "../../../../../shared/bmc/providers/redfish/redfish-provider.ts";
import { systemClock } from "../../../../../shared/clock.ts";
import { Connection } from "../../../../../shared/contract/connection.ts";
import { silentLogger } from "../../../../../shared/logger.ts";
import { redfishConnection } from "../../../../support/bmc-lab.ts";
import {
  collection,
  refusal,
  SYSTEM,
  startTree,
  type TreeAnswer,
  type TreeRequest,
  treeLab,
  treeOf,
} from "../../../../support/redfish-tree.ts";

const signal = new AbortController().signal;
const link = (path: string) => ({ "@odata.id": path });
const CHASSIS = "/redfish/v1/Chassis";
const ACCOUNTS = "/redfish/v1/AccountService/Accounts";
const LICENCE = refusal("SMC.1.0.OemLicenseNotPassed", "Not licensed to perform this request.");

type Tree = ReturnType<typeof treeOf>;

const EXPANDS = { ProtocolFeaturesSupported: { ExpandQuery: { NoLinks: true } } };

describe("accounts", () => {
  const ids = ["1", "2", "3", "4"];
  const account = (id: string) => ({
    ...link(`${ACCOUNTS}/${id}`),
    Id: id,
    UserName: `user${id}`,
    RoleId: "Operator",
  });
  /** The accounts of a directory, of which the connection's is one, are not listed. */
  const directory = { "/redfish/v1/AccountService": { LDAP: { ServiceEnabled: true } } };
  const tree = (): Tree => ({
    ...treeOf({}),
    ...directory,
    "/redfish/v1": EXPANDS,
    [ACCOUNTS]: collection(...ids.map((id) => `${ACCOUNTS}/${id}`)),
    ...Object.fromEntries(ids.map((id) => [`${ACCOUNTS}/${id}`, account(id)])),
  });

  it("that cannot be read are named, and nothing is said to be absent", async () => {
    const denied: TreeAnswer = [403, refusal("Base.1.8.InsufficientPrivilege", "No.")];
    await using lab = await treeLab(tree(), ({ path }) => (path === `${ACCOUNTS}/3` ? denied : undefined));

    const users = await lab.client.listUsers(signal);

    expect(users.map(({ name }) => name)).toEqual(["user1", "user2", "user4", ""]);
    expect(users.at(-1)).toMatchObject({ id: `${ACCOUNTS}/3`, unread: expect.stringContaining("403") });
    await expect(lab.client.deleteUser("user3", signal)).rejects.toThrow(
      /not among the users that can be read/,
    );
    expect(lab.writes()).toEqual([]);
  });

  it("of iLO 4 have privileges in place of a role", async () => {
    const all = Object.fromEntries(
      ["Login", "RemoteConsole", "VirtualMedia", "VirtualPowerAndReset"].map((name) => [`${name}Priv`, true]),
    );
    const ilo = (role?: object) => ({ ...account("1"), RoleId: undefined, Oem: { Hp: role } });
    const hp: Tree = {
      ...treeOf({ Manufacturer: "HP", Oem: { Hp: {} } }),
      ...directory,
      [ACCOUNTS]: collection(`${ACCOUNTS}/1`),
      [`${ACCOUNTS}/1`]: ilo({ Privileges: all }),
    };
    await using lab = await treeLab(hp, ({ method, path, body }) => {
      if (method !== "PATCH") return undefined;
      const unknown = { MessageId: "Base.0.10.PropertyUnknown", MessageArgs: ["RoleId"] };
      if ("RoleId" in Object(body)) return [400, { error: { "@Message.ExtendedInfo": [unknown] } }];
      hp[path] = ilo(Object(body).Oem.Hp);
      return [200, {}];
    });

    expect(await lab.client.listUsers(signal)).toMatchObject([{ name: "user1", role: "operator" }]);
    const request = { name: "user1", role: "readonly", mustExist: true } as const;
    expect(await lab.client.putUser(request, signal)).toMatchObject({ after: { role: "readonly" } });
  });
});

describe("sensors", () => {
  const chassis = (id: string, more: object = {}) => ({ ...link(`${CHASSIS}/${id}`), Id: id, ...more });
  const thermal = (...names: string[]) => ({
    Temperatures: names.map((name) => ({ Name: name, ReadingCelsius: 40, Status: { Health: "OK" } })),
  });

  it("of one collection do not hide what Thermal has, and the worse health counts", async () => {
    const of = (part: string) => link(`${CHASSIS}/1/${part}`);
    await using lab = await treeLab({
      ...treeOf({ Links: { Chassis: [link(`${CHASSIS}/1`)] } }),
      "/redfish/v1": EXPANDS,
      [CHASSIS]: collection(`${CHASSIS}/1`),
      [`${CHASSIS}/1`]: chassis("1", { Sensors: of("Sensors"), Thermal: of("Thermal") }),
      [`${CHASSIS}/1/Sensors`]: collection(`${CHASSIS}/1/Sensors/f`),
      [`${CHASSIS}/1/Sensors/f`]: { Name: "Fan_1", PhysicalContext: "Fan", Status: { Health: "OK" } },
      [`${CHASSIS}/1/Thermal`]: {
        Fans: [{ Name: "Fan 1", Reading: 0, ReadingUnits: "RPM", Status: { Health: "Critical" } }],
        ...thermal("Inlet"),
      },
    });

    const found = await lab.client.getSensors(signal);

    expect(found.map(({ name, value, health }) => [name, value, health])).toEqual([
      ["Fan 1", 0, "critical"],
      ["Inlet", 40, "ok"],
    ]);
  });

  it("are those of all chassis of the machine, found by links in both directions, and of no other machine", async () => {
    const OTHER = "/redfish/v1/Systems/2";
    const BOARD = "/redfish/v1/Systems/board";
    const ids = ["own", "backplane", "card", "board", "enclosure", "other", "othercard"];
    const links: Readonly<Record<string, object>> = {
      own: { Contains: [link(`${CHASSIS}/card`)], ContainedBy: link(`${CHASSIS}/enclosure`) },
      backplane: { ComputerSystems: [link(SYSTEM)] },
      board: { ComputerSystems: [link(BOARD)] },
      other: { ComputerSystems: [link(`${OTHER}/`)], ContainedBy: link(`${CHASSIS}/enclosure`) },
      othercard: { ContainedBy: link(`${CHASSIS}/other`) },
    };
    const each = ids.flatMap((id) => [
      [
        `${CHASSIS}/${id}`,
        chassis(id, { Thermal: link(`${CHASSIS}/${id}/Thermal`), Links: links[id] ?? {} }),
      ],
      [`${CHASSIS}/${id}/Thermal`, thermal(`${id} temp`, "Temp")],
    ]);
    const tree: Tree = {
      ...treeOf({ Links: { Chassis: [link(`${CHASSIS}/own/`)] } }),
      "/redfish/v1/Systems": collection(SYSTEM, OTHER, BOARD),
      [OTHER]: { Id: "2", Actions: { "#ComputerSystem.Reset": {} } },
      [BOARD]: { Id: "board" },
      [CHASSIS]: collection(...ids.map((id) => `${CHASSIS}/${id}`)),
      ...Object.fromEntries(each),
    };
    await using lab = await treeLab(tree, undefined, { system: "1" });

    const names = (await lab.client.getSensors(signal)).map(({ name }) => name);

    const own = ids.slice(0, 5);
    expect(names.toSorted()).toEqual(own.flatMap((id) => [`${id} temp`, `Temp (${id})`]).toSorted());
  });

  it("that cannot be read are named", async () => {
    const parts = { Thermal: link(`${CHASSIS}/1/Thermal`), Power: link(`${CHASSIS}/1/Power`) };
    const tree: Tree = {
      ...treeOf({ Links: { Chassis: [link(`${CHASSIS}/1`)] } }),
      [CHASSIS]: collection(`${CHASSIS}/1`),
      [`${CHASSIS}/1`]: chassis("1", parts),
      [`${CHASSIS}/1/Thermal`]: thermal("Inlet"),
    };
    await using lab = await treeLab(tree, ({ path }) =>
      path.endsWith("/Power") ? [403, LICENCE] : undefined,
    );

    expect(await lab.client.getSensors(signal)).toMatchObject([
      { name: "Inlet" },
      { name: `${CHASSIS}/1/Power`, state: "not read", reason: expect.stringContaining("Not licensed") },
    ]);
  });
});

describe("the inventory", () => {
  const DRIVE = "/redfish/v1/Systems/1/Storage/1/Drives/1";
  const storage = {
    [`${SYSTEM}/Storage`]: collection(`${SYSTEM}/Storage/1`),
    [`${SYSTEM}/Storage/1`]: { Id: "1", Drives: [link(DRIVE)] },
  };

  it("names a drive behind a licence", async () => {
    await using lab = await treeLab(
      { ...treeOf({ Storage: link(`${SYSTEM}/Storage`) }), ...storage },
      ({ path }) => (path === DRIVE ? [403, LICENCE] : undefined),
    );

    const { disks, unread } = await lab.client.getHardware(signal);

    expect(disks).toEqual([]);
    expect(unread).toMatchObject([{ name: DRIVE, reason: expect.stringContaining("Not licensed") }]);
  });

  it("has drives of iLO's SmartStorage, and what only chassis and network adapters lead to", async () => {
    const SMART = `${SYSTEM}/SmartStorage`;
    const hpe: Tree = {
      ...treeOf({ Oem: { Hpe: { Links: { SmartStorage: link(SMART) } } } }),
      [SMART]: { Links: { ArrayControllers: link(`${SMART}/ArrayControllers`) } },
      [`${SMART}/ArrayControllers`]: collection(`${SMART}/ArrayControllers/0`),
      [`${SMART}/ArrayControllers/0`]: { Id: "0" },
      [`${SMART}/ArrayControllers/0/DiskDrives`]: collection(`${SMART}/ArrayControllers/0/DiskDrives/1`),
      [`${SMART}/ArrayControllers/0/DiskDrives/1`]: {
        Name: "HpeSmartStorageDiskDrive",
        Location: "1I:1:1",
        SerialNumber: "S1",
        CapacityGB: 600,
      },
    };
    const ADAPTERS = `${CHASSIS}/nvme/NetworkAdapters`;
    const FUNCTIONS = `${ADAPTERS}/1/NetworkDeviceFunctions`;
    const elsewhere: Tree = {
      ...treeOf({}),
      [CHASSIS]: collection(`${CHASSIS}/nvme`),
      [`${CHASSIS}/nvme`]: { Id: "nvme", Links: { Drives: [link(DRIVE)] }, NetworkAdapters: link(ADAPTERS) },
      [DRIVE]: { Id: "1", Name: "NVMe 1", SerialNumber: "S2" },
      [ADAPTERS]: collection(`${ADAPTERS}/1`),
      [`${ADAPTERS}/1`]: { Id: "1", NetworkDeviceFunctions: link(FUNCTIONS) },
      [FUNCTIONS]: collection(`${FUNCTIONS}/eth0`),
      [`${FUNCTIONS}/eth0`]: { Id: "eth0", Ethernet: { MACAddress: "02:00:00:00:00:0A" } },
    };
    await using first = await treeLab(hpe);
    await using second = await treeLab(elsewhere);

    expect((await first.client.getHardware(signal)).disks).toEqual([
      { name: "1I:1:1", serial: "S1", bytes: 600e9 },
    ]);
    expect(await second.client.getHardware(signal)).toMatchObject({
      disks: [{ name: "NVMe 1", serial: "S2" }],
      nics: [{ name: "eth0", mac: "02:00:00:00:00:0a" }],
    });
  });

  it("has controllers below Storage and of SmartStorage, each once, and no bay that is empty without saying so", async () => {
    const SMART = `${SYSTEM}/SmartStorage`;
    const CONTROLLERS = `${SYSTEM}/Storage/1/Controllers`;
    await using lab = await treeLab({
      ...treeOf({
        Storage: link(`${SYSTEM}/Storage`),
        Oem: { Hpe: { Links: { SmartStorage: link(SMART) } } },
      }),
      [`${SYSTEM}/Storage`]: collection(`${SYSTEM}/Storage/1`),
      [`${SYSTEM}/Storage/1`]: { Id: "1", StorageControllers: [{}], Controllers: link(CONTROLLERS) },
      [CONTROLLERS]: collection(`${CONTROLLERS}/0`),
      [`${CONTROLLERS}/0`]: { Id: "0", Name: "SR416", PartNumber: "P1", SerialNumber: "C1" },
      [SMART]: { Links: { ArrayControllers: link(`${SMART}/ArrayControllers`) } },
      [`${SMART}/ArrayControllers`]: collection(`${SMART}/ArrayControllers/0`, `${SMART}/ArrayControllers/1`),
      [`${SMART}/ArrayControllers/0`]: { Id: "0", Model: "SR416", SerialNumber: "C1" },
      [`${SMART}/ArrayControllers/1`]: {
        ...{ Id: "1", Model: "E208", SerialNumber: "C2" },
        FirmwareVersion: { Current: { VersionString: "1.99" } },
      },
      [CHASSIS]: collection(`${CHASSIS}/1`),
      [`${CHASSIS}/1`]: { Id: "1", Power: link(`${CHASSIS}/1/Power`) },
      [`${CHASSIS}/1/Power`]: {
        PowerSupplies: [{ MemberId: "0", Name: "nil" }, { Status: { State: "Absent" } }],
      },
    });

    const { storageControllers, powerSupplies, complete } = await lab.client.getHardware(signal);

    expect(storageControllers).toEqual([
      { name: "SR416", model: "P1", serial: "C1" },
      { name: "E208", model: "E208", serial: "C2", firmware: "1.99" },
    ]);
    expect(powerSupplies).toEqual([]);
    expect(complete).toContain("powerSupplies");
  });

  it("has graphics processors of a board that cannot be reset, and none of another machine", async () => {
    const system = (name: string) => `/redfish/v1/Systems/${name}`;
    const processors = (name: string) => ({
      [`${system(name)}/Processors`]: collection(`${system(name)}/Processors/1`),
      [`${system(name)}/Processors/1`]: { Name: `GPU of ${name}`, ProcessorType: "GPU" },
    });
    const reset = { "#ComputerSystem.Reset": { target: "/reset" } };
    await using lab = await treeLab({
      ...treeOf({}),
      [CHASSIS]: collection(`${CHASSIS}/1`),
      [`${CHASSIS}/1`]: {
        Id: "1",
        Links: { ComputerSystems: [SYSTEM, system("board"), system("other")].map(link) },
      },
      [system("board")]: { Id: "board", Processors: link(`${system("board")}/Processors`) },
      [system("other")]: { Id: "other", Actions: reset, Processors: link(`${system("other")}/Processors`) },
      ...processors("board"),
      ...processors("other"),
    });

    const { gpus, complete } = await lab.client.getHardware(signal);

    expect(gpus).toEqual([{ name: "GPU of board" }]);
    expect(complete).toContain("gpus");
  });

  it("has all members without a service root, and none of a collection without members", async () => {
    const DIMMS = `${SYSTEM}/Memory`;
    const tree: Tree = {
      ...treeOf({ Memory: link(DIMMS), Processors: link(`${SYSTEM}/Processors`) }),
      [DIMMS]: collection(...["1", "2", "3", "4"].map((id) => `${DIMMS}/${id}`)),
      ...Object.fromEntries(
        ["1", "2", "3", "4"].map((id) => [`${DIMMS}/${id}`, { Id: id, CapacityMiB: 1024 }]),
      ),
      [`${SYSTEM}/Processors`]: { Name: "Processors", Members: null },
    };
    await using lab = await treeLab(tree);

    const { memory, processors, unread } = await lab.client.getHardware(signal);

    expect([memory.length, processors, unread]).toEqual([4, [], undefined]);
  });
});

describe("the event log", () => {
  const LOGS = `${SYSTEM}/LogServices`;
  const entriesOf = (name: string, ...ids: string[]) => ({
    Members: ids.map((id) => ({
      ...link(`${LOGS}/${name}/Entries/${id}`),
      Id: id,
      Message: `${name} ${id}`,
    })),
  });
  const logsOf = (names: readonly string[], gone: readonly string[] = []): Tree => ({
    ...treeOf({ LogServices: link(LOGS) }),
    [LOGS]: collection(...names.map((name) => `${LOGS}/${name}`)),
    ...Object.fromEntries(
      names
        .filter((name) => !gone.includes(name))
        .flatMap((name) => {
          const target = `${LOGS}/${name}/Clear`;
          return [
            [`${LOGS}/${name}`, { Id: name, Actions: { "#LogService.ClearLog": { target } } }],
            [`${LOGS}/${name}/Entries`, entriesOf(name, "1")],
          ];
        }),
    ),
  });

  it("is the next log where the best is listed and gone", async () => {
    await using lab = await treeLab(logsOf(["SEL", "EventLog"], ["SEL"]));

    expect(await lab.client.listSel(signal)).toMatchObject([{ message: "EventLog 1" }]);
  });

  it("is listed without an entry that cannot be read, which is named", async () => {
    const tree = logsOf(["SEL"]);
    tree[`${LOGS}/SEL/Entries`] = collection(`${LOGS}/SEL/Entries/1`, `${LOGS}/SEL/Entries/2`);
    tree[`${LOGS}/SEL/Entries/1`] = { Id: "1", Message: "one" };
    await using lab = await treeLab(tree, ({ path }) => (path.endsWith("/2") ? [500, {}] : undefined));

    expect(await lab.client.listSel(signal)).toMatchObject([
      { message: "one" },
      { id: "2", unread: true, message: expect.stringContaining("answered 500") },
    ]);
  });

  it("is cleared although it cannot be listed", async () => {
    const tree = logsOf(["SEL"]);
    let isBroken = true;
    await using lab = await treeLab(tree, ({ method, path }) => {
      if (method === "POST") {
        isBroken = false;
        tree[`${LOGS}/SEL/Entries`] = entriesOf("SEL");
        return [204];
      }
      return isBroken && path.endsWith("/Entries") ? [500, {}] : undefined;
    });

    expect(await lab.client.clearSel(signal)).toEqual({ changed: true, summary: "event log cleared" });
  });
});

it("the manager is the one that says that it manages the system, not the first", async () => {
  const MANAGERS = "/redfish/v1/Managers";
  await using lab = await treeLab({
    ...treeOf({}),
    [MANAGERS]: collection(`${MANAGERS}/MCU1`, `${MANAGERS}/BMC`),
    [`${MANAGERS}/MCU1`]: { Id: "MCU1", ManagerType: "AuxiliaryController", FirmwareVersion: "1" },
    [`${MANAGERS}/BMC`]: {
      Id: "BMC",
      ManagerType: "EnclosureManager",
      FirmwareVersion: "2",
      Links: { ManagerForServers: [link(`${SYSTEM}/`)] },
    },
  });

  expect(await lab.client.getInfo(signal)).toMatchObject({ firmware: "2" });
});

it("BIOS attributes may be objects with a current value, and StrongPassword is no password", async () => {
  await using lab = await treeLab({
    ...treeOf({ Bios: link(`${SYSTEM}/Bios`) }),
    [`${SYSTEM}/Bios`]: {
      Attributes: {
        "Boot Mode": { current_value: "UEFI", default_value: "UEFI" },
        StrongPassword: "Disabled",
      },
    },
  });

  expect((await lab.client.getBios(signal)).attributes).toEqual({
    "Boot Mode": "UEFI",
    StrongPassword: "Disabled",
  });
});

it("NTP of Supermicro X10 is a resource of its own", async () => {
  const NTP = "/redfish/v1/Managers/1/NTP";
  const tree: Tree = {
    ...treeOf({ Manufacturer: "Supermicro", Links: { ManagedBy: [link("/redfish/v1/Managers/1")] } }),
    "/redfish/v1/Managers/1": { Id: "1" },
    [NTP]: { NTPEnable: true, PrimaryNTPServer: "a.example", SecondaryNTPServer: "" },
  };
  await using lab = await treeLab(tree, ({ method, path, body }) => {
    if (method !== "PATCH") return undefined;
    tree[path] = { ...tree[path], ...Object(body) };
    return [200, {}];
  });

  expect(await lab.client.getNtp(signal)).toEqual({ enabled: true, servers: ["a.example"] });
  const request = { enabled: true, servers: ["b.example", "c.example"] };
  expect(await lab.client.setNtp(request, signal)).toMatchObject({ after: request });
});

describe("a list with a member that cannot be read", () => {
  const BROKEN: TreeAnswer = [500, refusal("Base.1.8.InternalError", "Failed.")];

  it("names the firmware entry, and takes no target for absent", async () => {
    const INVENTORY = "/redfish/v1/UpdateService/FirmwareInventory";
    const tree: Tree = {
      ...treeOf({}),
      "/redfish/v1/UpdateService": { FirmwareInventory: link(INVENTORY) },
      [INVENTORY]: collection(`${INVENTORY}/BMC`, `${INVENTORY}/BIOS`),
      [`${INVENTORY}/BMC`]: { Id: "BMC", Name: "BMC", Version: "1" },
    };
    await using lab = await treeLab(tree, ({ path }) => (path === `${INVENTORY}/BIOS` ? BROKEN : undefined));

    const listed = await lab.client.listFirmware(signal);

    expect(listed).toMatchObject([
      { id: "BMC" },
      { id: `${INVENTORY}/BIOS`, unread: expect.stringContaining("500") },
    ]);
    const image = { uri: "http://192.0.2.1/bios.bin" };
    const request = { image, targets: ["BIOS"], allowDowngrade: false };
    await expect(lab.client.planFirmwareUpdate(request, signal)).rejects.toThrow(
      /list is incomplete: .*BIOS/,
    );
  });

  it("names the virtual drive, and takes nothing for ejected", async () => {
    const MEDIA = `${SYSTEM}/VirtualMedia`;
    const tree: Tree = {
      ...treeOf({ VirtualMedia: link(MEDIA) }),
      [MEDIA]: collection(`${MEDIA}/1`, `${MEDIA}/2`),
      [`${MEDIA}/1`]: { MediaTypes: ["CD"], Inserted: false },
    };
    await using lab = await treeLab(tree, ({ path }) => (path === `${MEDIA}/2` ? BROKEN : undefined));

    expect(await lab.client.getMedia(signal)).toMatchObject({
      inserted: false,
      unread: [{ name: `${MEDIA}/2` }],
    });
    await expect(lab.client.ejectMedia(signal)).rejects.toThrow(/list is incomplete: .*VirtualMedia/);
    expect(lab.writes()).toEqual([]);
  });

  it("says which boot option has no title, and takes no title for absent", async () => {
    const OPTIONS = `${SYSTEM}/BootOptions`;
    const tree: Tree = {
      ...treeOf({ Boot: { BootOrder: ["Boot1", "Boot2"], BootOptions: link(OPTIONS) } }),
      [OPTIONS]: collection(`${OPTIONS}/1`, `${OPTIONS}/2`),
      [`${OPTIONS}/1`]: { BootOptionReference: "Boot1", DisplayName: "Disk" },
    };
    await using lab = await treeLab(tree, ({ path }) => (path === `${OPTIONS}/2` ? BROKEN : undefined));

    expect(await lab.client.getBootOrder(signal)).toMatchObject([
      { id: "Boot1", name: "Disk" },
      { id: "Boot2", unread: expect.stringContaining("500") },
    ]);
    await expect(lab.client.setBootOrder(["PXE"], signal)).rejects.toThrow(/list is incomplete: Boot2/);
  });

  it("keeps the other RAID controllers, and takes no volume for absent", async () => {
    const STORAGE = `${SYSTEM}/Storage`;
    const tree: Tree = {
      ...treeOf({ Storage: link(STORAGE) }),
      [STORAGE]: collection(`${STORAGE}/a`, `${STORAGE}/b`),
      [`${STORAGE}/a`]: { Id: "a", Drives: [], Volumes: link(`${STORAGE}/a/Volumes`) },
      [`${STORAGE}/a/Volumes`]: collection(),
    };
    await using lab = await treeLab(tree, ({ path }) => (path === `${STORAGE}/b` ? BROKEN : undefined));

    const request = { volumes: ["data"] };
    await expect(lab.client.planRaidClear(request, signal)).rejects.toThrow(
      /list is incomplete: RAID controller b/,
    );
    expect(await lab.client.planRaidClear({ ...request, controller: "a" }, signal)).toMatchObject({
      steps: [],
    });
  });

  it.each([
    ["is missing", [404, {}]],
    ["fails", BROKEN],
    ["is junk", [200, { Members: 7 }]],
    ["leads back", [200, { Members: [], "Members@odata.nextLink": ACCOUNTS }]],
  ] as const)("says so where a later page %s", async (_, page) => {
    const tree: Tree = {
      ...treeOf({}),
      [ACCOUNTS]: { Members: [link(`${ACCOUNTS}/1`)], "Members@odata.nextLink": `${ACCOUNTS}/more` },
      [`${ACCOUNTS}/1`]: { Id: "1", UserName: "user1", RoleId: "Operator" },
    };
    await using lab = await treeLab(tree, ({ path }) => (path === `${ACCOUNTS}/more` ? page : undefined));

    const users = await lab.client.listUsers(signal);

    expect(users).toMatchObject([{ name: "user1" }, { unread: expect.any(String) }]);
    await expect(lab.client.deleteUser("user2", signal)).rejects.toThrow(/not among the users/);
  });
});

describe("what depends on a list with a gap", () => {
  const BROKEN: TreeAnswer = [500, refusal("Base.1.8.InternalError", "Failed.")];
  const failsAt =
    (broken: string) =>
    ({ path }: TreeRequest) =>
      path === broken ? BROKEN : undefined;
  const MANAGER = "/redfish/v1/Managers/1";
  const NICS = `${MANAGER}/EthernetInterfaces`;
  const managed = (more: object, system: object = {}): Tree => ({
    ...treeOf({ Links: { ManagedBy: [link(MANAGER)] }, ...system }),
    [MANAGER]: { Id: "1", ...more },
  });
  const volume = (id: string) => ({ Id: id, Name: `v${id}`, RAIDType: "RAID1", CapacityBytes: 1 });
  const raid = (): Tree => {
    const STORAGE = `${SYSTEM}/Storage`;
    return {
      ...treeOf({ Storage: link(STORAGE) }),
      [STORAGE]: collection(`${STORAGE}/a`, `${STORAGE}/b`),
      ...Object.fromEntries(
        ["a", "b"].flatMap((id) => [
          [`${STORAGE}/${id}`, { Id: id, Drives: [], Volumes: link(`${STORAGE}/${id}/Volumes`) }],
          [`${STORAGE}/${id}/Volumes`, collection(`${STORAGE}/${id}/Volumes/1`)],
          [`${STORAGE}/${id}/Volumes/1`, volume(id)],
        ]),
      ),
    };
  };

  it("shows the BMC's other interfaces, and none is absent", async () => {
    const tree: Tree = {
      ...managed({ EthernetInterfaces: link(NICS) }),
      [NICS]: collection(`${NICS}/eth0`, `${NICS}/eth1`),
      [`${NICS}/eth0`]: { Id: "eth0", HostName: "bmc" },
    };
    await using lab = await treeLab(tree, failsAt(`${NICS}/eth1`));

    expect(await lab.client.listNetwork(signal)).toMatchObject([
      { id: "eth0" },
      { id: `${NICS}/eth1`, unread: expect.stringContaining("500") },
    ]);
    const request = { interface: "eth1", hostName: "x" };
    await expect(lab.client.planNetwork(request, signal)).rejects.toMatchObject({
      class: "verify",
      message: expect.stringMatching(/not among those that can be read.*eth1/),
    });
  });

  it("makes a RAID controller with an unreadable volume one that is not read", async () => {
    await using lab = await treeLab(raid(), failsAt(`${SYSTEM}/Storage/a/Volumes/1`));

    const request = { volumes: ["va"] };
    await expect(lab.client.planRaidClear(request, signal)).rejects.toThrow(
      /list is incomplete: RAID controller a/,
    );
    expect(await lab.client.planRaidClear({ volumes: ["vb"] }, signal)).toMatchObject({
      steps: [expect.stringContaining("/b/Volumes/1")],
    });
  });

  it("does not claim that no change of volumes waits", async () => {
    const TASKS = "/redfish/v1/TaskService/Tasks";
    const tree: Tree = { ...raid(), [TASKS]: collection(`${TASKS}/1`) };
    await using lab = await treeLab(tree, failsAt(`${TASKS}/1`));

    await expect(lab.client.planRaidClear({ volumes: ["va"] }, signal)).rejects.toThrow(
      /whether a change of the volumes of a waits is not known; .*Tasks\/1/,
    );
  });

  it("takes no power limit for absent", async () => {
    const CONTROLS = `${CHASSIS}/1/Controls`;
    const tree: Tree = {
      ...treeOf({ Links: { Chassis: [link(`${CHASSIS}/1`)] } }),
      [`${CHASSIS}/1`]: { Id: "1", Controls: link(CONTROLS) },
      [CONTROLS]: collection(`${CONTROLS}/1`),
    };
    await using lab = await treeLab(tree, failsAt(`${CONTROLS}/1`));

    await expect(lab.client.getPowerLimit(signal)).rejects.toThrow(/the power limit is not known/);
  });

  it("takes no other manager for the system's", async () => {
    const MANAGERS = "/redfish/v1/Managers";
    const tree: Tree = {
      ...treeOf({}),
      [MANAGERS]: collection(MANAGER, `${MANAGERS}/2`),
      [MANAGER]: { Id: "1", ManagerType: "BMC", EthernetInterfaces: link(NICS) },
    };
    await using lab = await treeLab(tree, failsAt(`${MANAGERS}/2`));

    await expect(lab.client.listNetwork(signal)).rejects.toThrow(/the manager of the system is not known/);
  });

  it("takes no BIOS job for absent", async () => {
    const BIOS = `${SYSTEM}/Bios`;
    const JOBS = `${MANAGER}/Jobs`;
    const tree: Tree = {
      ...managed({}, { Manufacturer: "Dell Inc.", Bios: link(BIOS) }),
      [BIOS]: {
        Attributes: { BootMode: "Uefi" },
        "@Redfish.Settings": { SettingsObject: link(`${BIOS}/Settings`) },
      },
      [`${BIOS}/Settings`]: { Attributes: { BootMode: "Bios" } },
      [JOBS]: collection(`${JOBS}/1`),
    };
    await using lab = await treeLab(tree, failsAt(`${JOBS}/1`));

    await expect(lab.client.getBios(signal)).rejects.toThrow(/whether a BIOS job waits or runs is not known/);
  });

  it("does not say that DHCP supplies no time servers", async () => {
    const PROTOCOL = `${MANAGER}/NetworkProtocol`;
    const tree: Tree = {
      ...managed({ EthernetInterfaces: link(NICS), NetworkProtocol: link(PROTOCOL) }),
      [NICS]: collection(`${NICS}/eth0`, `${NICS}/eth1`),
      [`${NICS}/eth0`]: { DHCPv4: { DHCPEnabled: false } },
      [PROTOCOL]: { NTP: { ProtocolEnabled: true, NTPServers: ["dhcp.example"] } },
    };
    await using lab = await treeLab(tree, ({ method, path }) => {
      if (method === "GET") return failsAt(`${NICS}/eth1`)({ method, path, body: undefined, headers: {} });
      tree[PROTOCOL] = { NTP: { ProtocolEnabled: true, NTPServers: ["a.example", "dhcp.example"] } };
      return [200, {}];
    });

    const request = { enabled: true, servers: ["a.example"] };
    // That the BMC changed its list is then what counts.
    expect(await lab.client.setNtp(request, signal)).toMatchObject({
      changed: true,
      summary: expect.stringContaining("the BMC also lists dhcp.example"),
    });
  });

  it("takes no POST code for the latest that stands before a page which cannot be read", async () => {
    const ENTRIES = `${SYSTEM}/LogServices/PostCodes/Entries`;
    const code = (Id: string) => ({ ...link(`${ENTRIES}/${Id}`), Id, MessageArgs: ["0x10"] });
    const treeWith = (...ids: string[]): Tree => ({
      ...treeOf({ LogServices: link(`${SYSTEM}/LogServices`) }),
      [ENTRIES]: { Members: ids.map(code), "Members@odata.nextLink": `${ENTRIES}/more` },
    });
    await using cut = await startTree(treeWith("B1-1"), failsAt(`${ENTRIES}/more`));
    await using whole = await startTree(treeWith("B1-1", "B2-1"), failsAt(`${ENTRIES}/more`));
    const seeBoot = async ({ port }: { port: number }) => {
      const context = { clock: systemClock, log: silentLogger, hint: undefined };
      const session = await redfish.open(Connection.parse(redfishConnection(port)), context, signal);
      return await Promise.resolve(session.boot.see?.(true, signal)).finally(() => session.close());
    };

    await expect(seeBoot(cut)).rejects.toThrow(/the latest POST code is not known/);
    expect(await seeBoot(whole)).toMatchObject({ progress: { postCodes: ["0x10"] } });
  });

  it("says so where a list has more members than are read", async () => {
    const ids = Array.from({ length: 40 }, (_, index) => `${NICS}/${index}`);
    const tree: Tree = {
      ...managed({ EthernetInterfaces: link(NICS) }),
      [NICS]: { Members: ids.map(link) },
      ...Object.fromEntries(ids.map((path) => [path, { Id: path.split("/").at(-1) }])),
    };
    await using lab = await treeLab(tree);

    const listed = await lab.client.listNetwork(signal);

    expect(listed.at(-1)).toMatchObject({ id: NICS, unread: expect.stringMatching(/more than 16 members/) });
  });
});

describe("the system of a machine", () => {
  const OTHER = "/redfish/v1/Systems/2";
  const SYSTEMS = "/redfish/v1/Systems";

  it.each(["Members@odata.nextLink", "@odata.nextLink"])("may be on a page that %s names", async (next) => {
    const tree: Tree = {
      ...treeOf({}),
      [SYSTEMS]: { Members: [], [next]: `${SYSTEMS}/more` },
      [`${SYSTEMS}/more`]: collection(SYSTEM),
    };
    await using lab = await treeLab(tree);
    await using endless = await treeLab({ ...tree, [`${SYSTEMS}/more`]: tree[SYSTEMS] ?? {} });

    expect(await lab.client.getPower(signal)).toBe("on");
    await expect(endless.client.getPower(signal)).rejects.toThrow(/list is incomplete: .*pages do not end/);
    expect(endless.requests.length).toBeLessThan(20);
  });

  it.each<[string, TreeAnswer]>([
    ["404", [404, {}]],
    ["500", [500, refusal("Base.1.8.InternalError", "Failed.")]],
  ])("is not chosen where another one answers %s, which is named", async (_, answer) => {
    const tree: Tree = { ...treeOf({}), [SYSTEMS]: collection(SYSTEM, OTHER) };
    await using lab = await treeLab(tree, ({ path }) => (path === OTHER ? answer : undefined));

    await expect(lab.client.getPower(signal)).rejects.toThrow(
      /set redfish.system to one of .*; \/redfish\/v1\/Systems\/2 cannot be read: /,
    );
  });

  it.each<[string, object, TreeAnswer | undefined]>([
    ["one cannot be read", collection(SYSTEM, OTHER), [500, refusal("Base.1.8.InternalError", "Failed.")]],
    ["one is not listed", { ...collection(SYSTEM), "Members@odata.count": 2 }, undefined],
  ])("is not said to be absent where %s", async (_, listed, answer) => {
    const tree: Tree = { ...treeOf({}), [SYSTEMS]: { ...listed } };
    const hook = ({ path }: TreeRequest) => (path === OTHER ? answer : undefined);
    await using lab = await treeLab(tree, hook, { system: "node-7" });

    const error = await lab.client.getPower(signal).catch((thrown: unknown) => String(thrown));

    expect(error).toMatch(/system node-7 is not/);
    expect(error).not.toMatch(/has no system/);
  });

  it("is not chosen from a collection that lists fewer than it counts", async () => {
    const tree = {
      ...treeOf({}),
      "/redfish/v1/Systems": { ...collection(SYSTEM), "Members@odata.count": 2 },
    };
    await using lab = await treeLab(tree);

    await expect(lab.client.getPower(signal)).rejects.toThrow(
      /set redfish.system.*list is incomplete: .*counts 2 members and lists 1/,
    );
  });
});

describe("a setting whose settings resource does not hold it", () => {
  it.each([
    ["takes it", [200, {}], 1],
    ["refuses it", [400, refusal("Base.1.8.PropertyUnknown", "No.")], 2],
  ] as const)(
    "is written to the resource itself only after the settings resource %s",
    async (_, answer, writes) => {
      const MANAGER = "/redfish/v1/Managers/1";
      const NICS = `${MANAGER}/EthernetInterfaces`;
      const NIC = `${NICS}/eth0`;
      const tree: Tree = {
        ...treeOf({ Links: { ManagedBy: [link(MANAGER)] } }),
        [MANAGER]: { Id: "1", EthernetInterfaces: link(NICS) },
        [NICS]: collection(NIC),
        [NIC]: {
          Id: "eth0",
          HostName: "old",
          "@Redfish.Settings": { SettingsObject: link(`${NIC}/Settings`) },
        },
        [`${NIC}/Settings`]: { HostName: "old" },
      };
      await using lab = await treeLab(tree, ({ method, path, body }) => {
        if (method !== "PATCH") return undefined;
        if (path !== NIC && answer[0] !== 200) return answer;
        tree[NIC] = { ...tree[NIC], ...Object(body) };
        return [200, {}];
      });

      await lab.client.setNetwork({ hostName: "new" }, 60_000, signal);

      const places = [`${NIC}/Settings`, NIC].slice(0, writes);
      expect(lab.writes().map(([, path]) => path)).toEqual(places);
    },
  );

  it("is written to the network protocols themselves where the settings have no NTP", async () => {
    const MANAGER = "/redfish/v1/Managers/1";
    const PROTOCOL = `${MANAGER}/NetworkProtocol`;
    const tree: Tree = {
      ...treeOf({ Links: { ManagedBy: [link(MANAGER)] } }),
      [MANAGER]: { Id: "1", NetworkProtocol: link(PROTOCOL) },
      [PROTOCOL]: {
        NTP: { ProtocolEnabled: false, NTPServers: [] },
        "@Redfish.Settings": { SettingsObject: link(`${PROTOCOL}/Settings`) },
      },
      [`${PROTOCOL}/Settings`]: { HTTPS: { Port: 443 } },
    };
    await using lab = await treeLab(tree);

    const { steps } = await lab.client.planNtp({ enabled: true, servers: ["a.example"] }, signal);

    expect(steps).toEqual([expect.stringContaining(`PATCH ${PROTOCOL} `)]);
  });

  const SECURE_BOOT = `${SYSTEM}/SecureBoot`;

  it.each([
    ["is written to the resource itself", {}, SECURE_BOOT],
    ["is written to the settings resource otherwise", { SecureBootEnable: false }, `${SECURE_BOOT}/Settings`],
  ])("%s", async (_, settings, place) => {
    const tree: Tree = {
      ...treeOf({ SecureBoot: link(SECURE_BOOT) }),
      [SECURE_BOOT]: {
        SecureBootEnable: false,
        "@Redfish.Settings": { SettingsObject: link(`${SECURE_BOOT}/Settings`) },
      },
      [`${SECURE_BOOT}/Settings`]: settings,
    };
    await using lab = await treeLab(tree);

    const { steps } = await lab.client.planSecureBoot(true, signal);

    expect(steps).toEqual([`PATCH ${place} {"SecureBootEnable":true}`]);
  });
});

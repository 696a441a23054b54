import { describe, expect, it } from "vitest";
import { describeHardware, hardwareTables } from "../../actions/inventory/describe-hardware.ts";
import { reference } from "../../actions/inventory/reference.ts";
import type { Hardware } from "../../shared/bmc/operations/inventory.ts";
import { SimulatedMachine } from "../../simulators/machine.ts";
import { resultOf, runAction } from "./action-run.ts";
import { actionLab, TESTED_PROVIDERS } from "./lab.ts";

const asTable = { OUTPUT: "table" };

const REDFISH_TABLES = `\
system   model  serial      UUID                                  BIOS
-------  -----  ----------  ------------------------------------  ------
Contoso  3500   CZ00000001  4c4c4544-0000-1000-8000-b4c04f303032  2.19.1

part       vendor   model  serial
---------  -------  -----  ----------
chassis    Contoso  3500   CH00000001
mainboard  Contoso  MB-7   MB00000001
BMC                 3500

processor     cores  threads  model
------------  -----  -------  -----------------
CPU.Socket.1     16       32  Contoso Fast 9000
CPU.Socket.2     16       32  Contoso Fast 9000

memory    size  kind  serial
------  ------  ----  ------
A1      32 GiB  DDR4  MEM-A1
B1      32 GiB  DDR4  MEM-B1
A2      32 GiB  DDR4  MEM-A2

disk        size  kind     serial  model
------  --------  -------  ------  ---------------
Disk 0  960.2 GB  SAS SSD  DISK-0  Contoso Platter
Disk 1  960.2 GB  SAS SSD  DISK-1  Contoso Platter

NIC    MAC                link  Mbit/s
-----  -----------------  ----  ------
NIC.1  52:54:00:aa:bb:01  up     25000
NIC.2  52:54:00:aa:bb:02  down

BMC NIC  MAC                link  Mbit/s
-------  -----------------  ----  ------
eth0     02:00:00:00:00:0b

storage controller  health  firmware  serial  model
------------------  ------  --------  ------  -----
RAID                OK      51.10     RC-1    RC-9

TPM    interface  firmware  state
-----  ---------  --------  -------
TPM 1  TPM2_0     7.2.2.0   Enabled

firmware      version
------------  -------
BMC firmware  1.2.3
BIOS          2.19.1`;

const IPMI_TABLES = `\
system   model     serial  UUID                                  BIOS
-------  --------  ------  ------------------------------------  ----
Example  Server 1  SYS-1   674523a1-ab89-efcd-a123-456789abcdef

part       vendor   model           serial
---------  -------  --------------  ------
chassis             CHASSIS-1       CHS-1
mainboard  Example  Server 1 board  BRD-1
BMC        Intel

firmware  version
--------  -------
BMC       3.45`;

const nothing: Hardware = { system: {}, processors: [], memory: [], disks: [], nics: [], firmware: [] };

describe.concurrent("inventory", () => {
  it.each([
    {
      provider: "redfish",
      message: "Contoso 3500 CZ00000001: 2 processors, 96 GiB memory, 2 disks, 2 NICs via redfish",
      tables: REDFISH_TABLES,
    },
    {
      provider: "ipmi",
      message: "Example Server 1 SYS-1: the BMC reports no parts via ipmi",
      tables: IPMI_TABLES,
    },
  ] as const)("reads what the BMC reports via $provider, as tables for people", async (expected) => {
    await using lab = await actionLab();

    const ended = await runAction("inventory", { env: { ...lab.env(expected.provider), ...asTable } });

    const said = resultOf(ended);
    expect(said).toMatchObject({ ok: true, message: expected.message, changed: false });
    expect(ended.stdout.replace(/\n\n\{.*\n$/, "")).toBe(expected.tables);
    expect(ended).toMatchObject({ code: 0, stderr: "" });
    expect(lab.writes()).toEqual([]);
  });

  it.each(TESTED_PROVIDERS)("has the data that its reference describes, via %s", async (provider) => {
    await using lab = await actionLab();

    const { data } = resultOf(await runAction("inventory", { env: lab.env(provider) }));

    expect(reference.output.data?.safeParse(data).error).toBeUndefined();
  });

  it("names the systems where there are several, and reads the one that is asked for", async () => {
    const machines = [new SimulatedMachine(), new SimulatedMachine()];
    await using lab = await actionLab({ redfish: { machines } });

    const any = await runAction("inventory", { env: lab.env("redfish") });
    const second = await runAction("inventory", { env: { ...lab.env("redfish"), REDFISH_SYSTEM: "1-2" } });

    expect(resultOf(any)).toMatchObject({ ok: false, class: "usage" });
    expect(resultOf(any).message).toContain("/redfish/v1/Systems/1-1");
    expect(resultOf(any).message).toContain("/redfish/v1/Systems/1-2");
    expect(resultOf(second).message).toContain("2 processors, 96 GiB memory");
    expect(lab.redfish.log).not.toContain("GET /redfish/v1/Systems/1-1/Memory");
  });

  it("reports the rest where a part of it is broken, and does not count what it does not know", async () => {
    await using lab = await actionLab();
    for (const path of [/Memory$/, /Systems.*EthernetInterfaces$/]) {
      lab.redfish.fail({ kind: "refuse", status: 500, messageId: "Base.1.8.InternalError", path, times: 9 });
    }

    const ended = await runAction("inventory", { env: lab.env("redfish") });

    expect(resultOf(ended)).toMatchObject({
      ok: true,
      message: expect.stringMatching(/2 processors, 96 GiB memory, 2 disks; 2 parts not read: \S+Memory \(/),
      data: {
        memory: [],
        nics: [],
        unread: [
          { name: expect.stringMatching(/Memory$/) },
          { name: expect.stringMatching(/EthernetInterfaces$/) },
        ],
      },
    });
  });
});

describe("hardware in one line", () => {
  it.each<[string, Partial<Hardware>, string]>([
    ["of nothing", {}, "machine: the BMC reports no parts"],
    ["of one of each", one(), "machine: 1 processor, 16 GiB memory, 1 disk, 1 NIC"],
    [
      "with modules some of which report no size",
      { memory: [{ name: "A1", bytes: 2 ** 34 }, { name: "B1" }] },
      "machine: at least 16 GiB memory",
    ],
    [
      "with modules none of which reports a size",
      { memory: [{ name: "A1" }, { name: "B1" }] },
      "machine: 2 memory modules",
    ],
    [
      "with the BMC's own sum, and its maker once",
      { system: { vendor: "HPE", model: "HPE ProLiant", memoryBytes: 2 ** 35 }, memory: [{ name: "A1" }] },
      "HPE ProLiant: 32 GiB memory",
    ],
    [
      "with names alone",
      { system: { model: "R1" }, firmware: [{ name: "BMC", version: "1" }] },
      "R1: the BMC reports no parts",
    ],
  ])("%s is true", (_, reported, line) => {
    expect(describeHardware({ ...nothing, ...reported })).toBe(line);
  });
});

describe("hardware as tables", () => {
  it("leaves out the kinds that there are none of, and fields that are absent", () => {
    const text = hardwareTables({
      ...nothing,
      processors: [{ name: "CPU1" }, { name: "CPU2", cores: 8 }],
      disks: [
        { name: "Disk 0", bytes: 7_681_501_126_656 },
        { name: "Disk 1", kind: "NVMe SSD" },
      ],
      nics: [{ name: "NIC.1" }, { name: "NIC.2", up: false }],
    });

    expect(text).toBe(
      [
        "processor  cores  threads  model",
        "---------  -----  -------  -----",
        "CPU1",
        "CPU2           8",
        "",
        "disk      size  kind      serial  model",
        "------  ------  --------  ------  -----",
        "Disk 0  7.7 TB",
        "Disk 1          NVMe SSD",
        "",
        "NIC    MAC  link  Mbit/s",
        "-----  ---  ----  ------",
        "NIC.1",
        "NIC.2       down",
      ].join("\n"),
    );
  });

  it("of nothing at all says so", () => {
    expect(hardwareTables(nothing)).toBe("The BMC reports no hardware.");
  });
});

function one(): Partial<Hardware> {
  return {
    processors: [{ name: "CPU1" }],
    memory: [{ name: "A1", bytes: 2 ** 34 }],
    disks: [{ name: "Disk 0" }],
    nics: [{ name: "NIC.1" }],
  };
}

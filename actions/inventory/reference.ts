import { z } from "zod";
import type { HardwareList } from "../../shared/bmc/operations/inventory.ts";
import { actionReference } from "../harness/input/reference.ts";
import { unread } from "../harness/input/reference-parts.ts";

const LISTS = [
  ...(["processors", "memory", "disks", "nics", "firmware", "powerSupplies", "tpms"] as const),
  ...(["storageControllers", "gpus", "bmc.nics"] as const),
] satisfies readonly HardwareList[];

const name = z.string().describe("The BMC's name for it");
const serial = z.string().optional();
const model = z.string().optional();
const vendor = z.string().optional().describe("The manufacturer");
const nameplate = {
  vendor,
  model: model.describe("The model"),
  serial: serial.describe("The serial number"),
};
const bytes = z.number().min(0).optional();
const condition = {
  firmware: z.string().optional().describe("The firmware version"),
  health: z.string().optional().describe("Redfish's word for it: OK, Warning or Critical"),
  state: z.string().optional().describe("Redfish's word for it, such as Enabled"),
};
const component = { name, ...nameplate, ...condition };
const nics = z.array(
  z.strictObject({
    name,
    mac: z.string().optional().describe("The permanent MAC address if reported, in lower case"),
    speedMbps: z.number().min(0).optional().describe("The link's speed"),
    up: z.boolean().optional().describe("Whether there is a link"),
  }),
);

export const reference = actionReference("inventory", {
  keywords: ["hardware", "serial", "mac-address", "firmware"],
  readsOnly: true,
  mostRoundTrips: { redfish: 30, ipmi: 12 },
  output: {
    data: z
      .strictObject({
        system: z
          .strictObject({
            ...nameplate,
            uuid: z.string().optional().describe("The SMBIOS UUID"),
            biosVersion: z.string().optional().describe("The BIOS or UEFI version"),
            memoryBytes: z.number().optional().describe("Installed memory in total"),
          })
          .describe("The machine as a whole"),
        chassis: z.strictObject(nameplate).optional().describe("The enclosure"),
        mainboard: z.strictObject(nameplate).optional().describe("The mainboard"),
        bmc: z
          .strictObject({
            ...nameplate,
            ...condition,
            nics: nics.optional().describe("Its network interfaces"),
          })
          .optional()
          .describe("The BMC itself"),
        processors: z
          .array(
            z.strictObject({
              name,
              vendor,
              model: model.describe("The model"),
              cores: z.number().min(0).optional().describe("Number of cores"),
              threads: z.number().min(0).optional().describe("Number of threads"),
            }),
          )
          .describe("Processors; empty slots are left out"),
        memory: z
          .array(
            z.strictObject({
              name,
              bytes: bytes.describe("Its capacity"),
              kind: z.string().optional().describe("Such as DDR4"),
              vendor,
              serial: serial.describe("The serial number"),
            }),
          )
          .describe("Memory modules; empty slots are left out"),
        disks: z
          .array(
            z.strictObject({
              ...component,
              bytes: bytes.describe("Its capacity"),
              kind: z.string().optional().describe("Protocol and medium, such as NVMe SSD"),
            }),
          )
          .describe("Disks; empty slots are left out"),
        nics: nics.describe("Network interfaces"),
        firmware: z
          .array(z.strictObject({ name, version: z.string().describe("The version in use") }))
          .describe("Firmware of the components"),
        powerSupplies: z
          .array(
            z.strictObject({
              ...component,
              watts: z.number().min(0).optional().describe("The most power that it can give"),
            }),
          )
          .optional()
          .describe("Power supplies; empty bays are left out"),
        tpms: z
          .array(
            z.strictObject({
              ...component,
              interfaceType: z.string().optional().describe("Such as TPM2_0"),
            }),
          )
          .optional()
          .describe("Trusted platform modules"),
        storageControllers: z.array(z.strictObject(component)).optional().describe("Storage controllers"),
        gpus: z
          .array(z.strictObject(component))
          .optional()
          .describe("Graphics processors, also those of an accelerator board"),
        complete: z
          .array(z.enum(LISTS))
          .optional()
          .describe("The lists that were read completely; others may lack parts"),
        unread: unread("What the BMC lists and could not be read, so that it is missing above"),
      })
      .describe("What the BMC reports; fields that it does not report are absent, and lists may be empty"),
  },
  result: {
    message: "Contoso 3500 CZ00000001: 1 processor, 32 GiB memory, 1 disk, 1 NIC via redfish",
    changed: false,
    durationMs: 3104,
    roundTrips: 17,
    data: {
      system: {
        vendor: "Contoso",
        model: "3500",
        serial: "CZ00000001",
        uuid: "4c4c4544-0000-1000-8000-b4c04f303032",
        biosVersion: "2.19.1",
        memoryBytes: 34_359_738_368,
      },
      chassis: { vendor: "Contoso", model: "3500", serial: "CH00000001" },
      mainboard: { vendor: "Contoso", model: "MB-7", serial: "MB00000001" },
      bmc: {
        model: "BMC-2000",
        firmware: "1.45.455b66",
        nics: [{ name: "1", mac: "52:54:00:00:00:01", speedMbps: 1000, up: true }],
      },
      processors: [
        { name: "CPU.Socket.1", vendor: "Contoso", model: "Contoso Fast 9000", cores: 16, threads: 32 },
      ],
      memory: [{ name: "A1", bytes: 34359738368, kind: "DDR4", serial: "MEM-A1" }],
      disks: [
        { name: "Disk 0", model: "Contoso Platter", serial: "DISK-0", bytes: 960197124096, kind: "SAS SSD" },
      ],
      nics: [{ name: "NIC.1", mac: "52:54:00:aa:bb:01", speedMbps: 25000, up: true }],
      firmware: [{ name: "BIOS", version: "2.19.1" }],
      powerSupplies: [
        { name: "PSU 1", model: "PS-800", serial: "PSU-1", watts: 800, health: "OK", state: "Enabled" },
      ],
      tpms: [{ name: "TPM 1", firmware: "7.2.2.0", interfaceType: "TPM2_0", state: "Enabled" }],
      storageControllers: [{ name: "RAID", model: "RC-9", serial: "RC-1", firmware: "51.10", health: "OK" }],
      gpus: [],
      complete: ["processors", "memory", "disks", "nics", "firmware", "tpms", "storageControllers", "gpus"],
    },
  },
});

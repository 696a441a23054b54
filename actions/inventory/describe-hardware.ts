import type { Hardware, HardwareComponent } from "../../shared/bmc/operations/inventory.ts";
import { vendorAndModel } from "../../shared/bmc/operations/manager.ts";
import { describeUnread } from "../../shared/bmc/operations/unread.ts";
import { count } from "../../shared/count.ts";
import { formatTable } from "../../shared/table.ts";

/**
 * Describes hardware in one line: `Contoso 3500 437XR1138R2: 2 processors, 128 GiB memory, 4 disks, 2 NICs`. Leaves out
 * kinds of parts that the BMC does not report.
 */
export function describeHardware(hardware: Hardware): string {
  const { system, processors, memory, disks, nics, gpus = [], unread } = hardware;
  const { vendor, model, serial = "" } = system;
  const named = `${vendorAndModel(vendor, model)} ${serial}`.trim();
  const parts = [
    counted(processors.length, "processor"),
    describeMemory(memory, system.memoryBytes),
    counted(disks.length, "disk"),
    counted(nics.length, "NIC"),
    counted(gpus.length, "GPU"),
  ].filter((part) => part !== undefined);
  const reported = parts.length > 0 ? parts.join(", ") : "the BMC reports no parts";
  return `${named || "machine"}: ${reported}${describeUnread(unread, "part")}`;
}

/**
 * Describes the memory. If the BMC reports no sum and the size of a module is unknown, the sum of the others is a lower
 * bound.
 */
function describeMemory(modules: Hardware["memory"], total: number | undefined): string | undefined {
  const sizes = modules.flatMap(({ bytes }) => (bytes === undefined ? [] : [bytes]));
  if (total !== undefined && sizes.length === 0) return `${gibibytes(total)} memory`;
  if (sizes.length === 0) return counted(modules.length, "memory module");
  const sum = gibibytes(sizes.reduce((total, bytes) => total + bytes, 0));
  return `${sizes.length < modules.length ? "at least " : ""}${sum} memory`;
}

function counted(number: number, what: string): string | undefined {
  return number === 0 ? undefined : count(number, what);
}

interface Table {
  readonly head: readonly string[];
  readonly rows: readonly (readonly (string | number | undefined)[])[];
  /** The columns to align to the right. */
  readonly numbers?: readonly number[];
}

/** Makes one table per kind of part that the BMC reports. A field that it does not report is empty. */
export function hardwareTables(hardware: Hardware): string {
  const tables = tablesOf(hardware)
    .map((table) => ({ ...table, rows: table.rows.filter((row) => row.some((cell) => cell !== undefined)) }))
    .filter(({ rows }) => rows.length > 0);
  if (tables.length === 0) return "The BMC reports no hardware.";
  return tables.map(({ head, rows, numbers }) => formatTable(head, rows.map(texts), numbers)).join("\n\n");
}

function tablesOf(hardware: Hardware): readonly Table[] {
  const {
    system,
    chassis,
    mainboard,
    bmc,
    processors,
    memory,
    disks,
    nics,
    firmware,
    powerSupplies = [],
    tpms = [],
    storageControllers = [],
    gpus = [],
    unread = [],
  } = hardware;
  const built = Object.entries({ chassis, mainboard, BMC: bmc });
  return [
    {
      head: ["system", "model", "serial", "UUID", "BIOS"],
      rows: [[system.vendor, system.model, system.serial, system.uuid, system.biosVersion]],
    },
    {
      head: ["part", "vendor", "model", "serial"],
      rows: built.flatMap(([name, part]) => (part ? [[name, part.vendor, part.model, part.serial]] : [])),
    },
    {
      head: ["processor", "cores", "threads", "model"],
      rows: processors.map(({ name, model, cores, threads }) => [name, cores, threads, model]),
      numbers: [1, 2],
    },
    {
      head: ["memory", "size", "kind", "serial"],
      rows: memory.map(({ name, bytes, kind, serial }) => [name, gibibytes(bytes), kind, serial]),
      numbers: [1],
    },
    {
      head: ["disk", "size", "kind", "serial", "model"],
      rows: disks.map(({ name, bytes, kind, model, serial }) => [
        name,
        gigabytes(bytes),
        kind,
        serial,
        model,
      ]),
      numbers: [1],
    },
    {
      head: ["NIC", "MAC", "link", "Mbit/s"],
      rows: nics.map(({ name, mac, up, speedMbps }) => [name, mac, link(up), speedMbps]),
      numbers: [3],
    },
    {
      head: ["BMC NIC", "MAC", "link", "Mbit/s"],
      rows: (bmc?.nics ?? []).map(({ name, mac, up, speedMbps }) => [name, mac, link(up), speedMbps]),
      numbers: [3],
    },
    components("storage controller", storageControllers),
    components("GPU", gpus),
    {
      head: ["power supply", "watts", "health", "serial", "model"],
      rows: powerSupplies.map(({ name, watts, health, serial, model }) => [
        name,
        watts,
        health,
        serial,
        model,
      ]),
      numbers: [1],
    },
    {
      head: ["TPM", "interface", "firmware", "state"],
      rows: tpms.map(({ name, interfaceType, firmware, state }) => [name, interfaceType, firmware, state]),
    },
    {
      head: ["firmware", "version"],
      rows: firmware.map(({ name, version }) => [name, version]),
    },
    {
      head: ["not read", "reason"],
      rows: unread.map(({ name, reason }) => [name, reason]),
    },
  ];
}

function components(what: string, found: readonly HardwareComponent[]): Table {
  return {
    head: [what, "health", "firmware", "serial", "model"],
    rows: found.map(({ name, health, firmware, serial, model }) => [name, health, firmware, serial, model]),
  };
}

function texts(row: readonly (string | number | undefined)[]): readonly string[] {
  return row.map((cell) => (cell === undefined ? "" : String(cell)));
}

function link(up: boolean | undefined): string | undefined {
  return up === undefined ? undefined : up ? "up" : "down";
}

const GIB = 1024 ** 3;
const GB = 1_000 ** 3;
const TB = 1_000 ** 4;

/** Formats a size in powers of two, as is usual for memory: `32 GiB`. Returns undefined if the size is unknown. */
function gibibytes(bytes: number | undefined): string | undefined {
  return bytes === undefined ? undefined : `${rounded(bytes / GIB)} GiB`;
}

/** Formats a size in powers of ten, as is usual for disks: `960.2 GB`, `7.7 TB`. Returns undefined if it is unknown. */
function gigabytes(bytes: number | undefined): string | undefined {
  if (bytes === undefined) return undefined;
  return bytes < TB ? `${rounded(bytes / GB)} GB` : `${rounded(bytes / TB)} TB`;
}

function rounded(value: number): string {
  return String(Math.round(value * 10) / 10);
}

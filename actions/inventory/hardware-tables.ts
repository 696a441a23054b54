import type { Hardware } from "../../shared/bmc/operations/inventory.ts";
import { formatTable } from "../../shared/table.ts";
import { gibibytes, gigabytes } from "./sizes.ts";

interface Table {
  readonly head: readonly string[];
  readonly rows: readonly (readonly (string | number | undefined)[])[];
  /** Columns that line up to the right. */
  readonly numbers?: readonly number[];
}

/** One table per kind of part that the BMC reports; a field that it does not report is empty. */
export function hardwareTables(hardware: Hardware): string {
  const tables = tablesOf(hardware)
    .map((table) => ({ ...table, rows: table.rows.filter((row) => row.some((cell) => cell !== undefined)) }))
    .filter(({ rows }) => rows.length > 0);
  if (tables.length === 0) return "The BMC reports no hardware.";
  return tables.map(({ head, rows, numbers }) => formatTable(head, rows.map(texts), numbers)).join("\n\n");
}

function tablesOf({ system, processors, memory, disks, nics, firmware }: Hardware): readonly Table[] {
  return [
    {
      head: ["system", "model", "serial", "UUID", "BIOS"],
      rows: [[system.vendor, system.model, system.serial, system.uuid, system.biosVersion]],
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
      head: ["firmware", "version"],
      rows: firmware.map(({ name, version }) => [name, version]),
    },
  ];
}

function texts(row: readonly (string | number | undefined)[]): readonly string[] {
  return row.map((cell) => (cell === undefined ? "" : String(cell)));
}

function link(up: boolean | undefined): string | undefined {
  return up === undefined ? undefined : up ? "up" : "down";
}

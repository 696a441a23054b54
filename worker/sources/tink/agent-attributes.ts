import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import type { Hardware } from "../../../shared/bmc/operations/inventory.ts";
import { type AgentAttributes, AgentAttributesSchema } from "./gen/workflow_pb.ts";

type Init = MessageInitShape<typeof AgentAttributesSchema>;

/** The attributes are sent with every poll. The server stores up to 256 KiB of them as an annotation. */
const MOST_BYTES = 64 * 1_024;
const MOST_PARTS = 128;
const MAX_UINT32 = 0xffff_ffff;
const KB = 1_024;
const UNITS = ["B", "KB", "MB", "GB", "TB", "PB", "EB"] as const;
const MAC = /^[0-9a-f]{2}(:[0-9a-f]{2}){5}$/;

const made = new WeakMap<Hardware, AgentAttributes>();

/**
 * A machine's hardware in the format in which Tinkerbell's agent reports its own machine, so that one rule can match both.
 * Sizes and speeds are sent as text and as numbers; a server reads those that it knows (Tinkerbell pull request 913). What
 * only an operating system knows, such as usable memory or PCI devices, is absent. Never larger than `MOST_BYTES`.
 */
export function agentAttributes(hardware: Hardware): AgentAttributes {
  const known = made.get(hardware);
  if (known) return known;
  let most = MOST_PARTS;
  let attributes = create(AgentAttributesSchema, attributesOf(hardware, most));
  while (most > 0 && toBinary(AgentAttributesSchema, attributes).length > MOST_BYTES) {
    most >>= 1;
    attributes = create(AgentAttributesSchema, attributesOf(hardware, most));
  }
  made.set(hardware, attributes);
  return attributes;
}

/** The attributes with at most this number of parts of each kind. */
function attributesOf(hardware: Hardware, most: number): Init {
  const { system, chassis, mainboard, processors, disks, nics } = hardware;
  const bytes = system.memoryBytes ?? sum(hardware.memory.map((module) => module.bytes));
  return present({
    cpu: present({
      totalCores: total(processors.map(({ cores }) => cores)),
      totalThreads: total(processors.map(({ threads }) => threads)),
      processors: processors
        .slice(0, most)
        .map(({ cores, threads, vendor, model }, id) =>
          filled({ id, cores: uint32(cores), threads: uint32(threads), vendor, model }),
        ),
    }),
    memory: present({ total: bytes ? sizeText(bytes) : undefined, totalBytes: int64(bytes) }),
    block: disks.slice(0, most).map(({ name, bytes: size, kind, vendor, model, serial: serialNumber }) =>
      filled({
        // The server dereferences the name of a disk that has a size.
        name,
        size: size ? sizeText(size) : undefined,
        sizeBytes: int64(size),
        ...driveOf(kind),
        vendor,
        model,
        serialNumber,
      }),
    ),
    network: nics.slice(0, most).map(({ name, mac, speedMbps }) =>
      filled({
        name,
        mac: mac && MAC.test(mac) ? mac : undefined,
        speed: speedMbps ? `${speedMbps}Mb/s` : undefined,
        speedMbps: uint32(speedMbps || undefined),
      }),
    ),
    chassis: present({ serial: chassis?.serial, vendor: chassis?.vendor }),
    bios: present({ version: system.biosVersion }),
    baseboard: present({
      vendor: mainboard?.vendor,
      product: mainboard?.model,
      serialNumber: mainboard?.serial,
    }),
    product: present({ name: system.model, vendor: system.vendor, serialNumber: system.serial }),
  }) as Init;
}

/** A copy without the fields that are undefined. */
function filled<T extends object>(fields: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as never;
}

/** A copy without the fields that are undefined or empty lists; undefined if nothing is left. */
function present<T extends object>(fields: T) {
  const given = Object.entries(fields).filter(
    ([, value]) => value !== undefined && !(Array.isArray(value) && value.length === 0),
  );
  return given.length > 0
    ? (Object.fromEntries(given) as { [K in keyof T]: Exclude<T[K], undefined> })
    : undefined;
}

/** Names of controllers in Linux: SAS and SATA disks are SCSI devices. */
const CONTROLLERS: Readonly<Record<string, string>> = { NVMe: "NVMe", SAS: "SCSI", SATA: "SCSI" };

/** Reads a kind such as `SAS SSD` or `HDD`. */
function driveOf(kind = "") {
  const words = kind.split(" ");
  return {
    controllerType: words.map((word) => CONTROLLERS[word]).find((found) => found !== undefined),
    driveType: words.find((word) => word === "SSD" || word === "HDD"),
  };
}

/** A size in the agent's format: rounded up, in powers of 1,024, such as `96GB`. */
function sizeText(bytes: number): string {
  const power = Math.min(UNITS.length - 1, Math.max(0, Math.floor(Math.log2(bytes) / 10)));
  return `${Math.ceil(bytes / KB ** power)}${UNITS[power]}`;
}

/** The sum; undefined if one of the amounts is unknown. */
function total(amounts: readonly (number | undefined)[]): number | undefined {
  return amounts.includes(undefined) ? undefined : uint32(sum(amounts) || undefined);
}

function sum(amounts: readonly (number | undefined)[]): number {
  return amounts.reduce<number>((all, amount) => all + (amount ?? 0), 0);
}

/** A 64-bit integer; undefined for 0, which means an unknown size. */
function int64(value: number | undefined): bigint | undefined {
  return value ? BigInt(Math.trunc(value)) : undefined;
}

function uint32(value: number | undefined): number | undefined {
  return value === undefined ? undefined : Math.min(MAX_UINT32, Math.trunc(value));
}

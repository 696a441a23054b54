import type { Hardware } from "../../../shared/bmc/operations/inventory.ts";

type Fields = Readonly<Record<string, unknown>>;

const MAX_UINT32 = 0xffff_ffff;

/**
 * `status.attributes.outOfBand` of Tinkerbell's Hardware, without `lastUpdated` and `collectionMethod`: what is unknown is
 * absent, and parts are sorted by name, because BMCs list them in changing order. As in Rufio, sums over parts are absent.
 */
export function outOfBand(hardware: Hardware): Fields {
  const { system, chassis, mainboard, bmc, processors, memory, disks, nics } = hardware;
  return filled({
    product: part(system),
    bios: filled({ firmwareVersion: system.biosVersion }),
    bmc: part({ ...bmc, firmwareVersion: bmc?.firmware }),
    chassis: part(chassis),
    baseboard: part(mainboard),
    cpu: filled({
      sockets: byName(processors).map(({ name: slot, vendor, model, cores, threads }) =>
        filled({ slot, vendor, model, cores: uint32(cores), threads: uint32(threads) }),
      ),
    }),
    memory: filled({
      modules: byName(memory).map(({ name: slot, vendor, serial: serialNumber, bytes }) =>
        filled({ slot, vendor, serialNumber, sizeBytes: whole(bytes) }),
      ),
    }),
    blockDevices: byName(disks).map((disk) =>
      filled({ ...part(disk), driveType: disk.kind?.split(" ").at(-1), sizeBytes: whole(disk.bytes) }),
    ),
    networkInterfaces: byName(nics).map(({ name: portID, mac, speedMbps, up }) => ({
      ports: [
        filled({
          ...{ portID, mac, speedMbps: uint32(speedMbps) },
          linkStatus: up === undefined ? undefined : up ? "Up" : "Down",
        }),
      ],
    })),
  });
}

interface Part {
  readonly vendor?: string;
  readonly model?: string;
  readonly serial?: string;
  readonly firmwareVersion?: string | undefined;
}

function part({ vendor, model, serial: serialNumber, firmwareVersion }: Part = {}): Fields {
  return filled({ vendor, model, serialNumber, firmwareVersion });
}

/** A copy without fields that are undefined or empty, as Go's `omitempty` has it. */
function filled(fields: Fields): Fields {
  const given = Object.entries(fields).filter(([, value]) => value !== undefined && !isEmpty(value));
  return Object.fromEntries(given);
}

function isEmpty(value: unknown): boolean {
  if (value === "" || value === 0) return true;
  return typeof value === "object" && value !== null && Object.keys(value).length === 0;
}

function byName<T extends { readonly name: string }>(parts: readonly T[]): readonly T[] {
  return parts.toSorted((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
}

function uint32(value: number | undefined): number | undefined {
  return value === undefined ? undefined : Math.min(MAX_UINT32, Math.trunc(value));
}

function whole(value: number | undefined): number | undefined {
  return value === undefined ? undefined : Math.trunc(value);
}

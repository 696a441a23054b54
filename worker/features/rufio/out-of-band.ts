import type { Hardware, HardwareComponent, HardwareList } from "../../../shared/bmc/operations/inventory.ts";

type Fields = Readonly<Record<string, unknown>>;

const MAX_UINT32 = 0xffff_ffff;

/** The paths of the lists in `outOfBand`. Rufio has no list of firmware. */
const PATHS: { readonly [List in HardwareList]?: string } = {
  processors: "cpu.sockets",
  memory: "memory.modules",
  disks: "blockDevices",
  nics: "networkInterfaces",
  powerSupplies: "psus",
  tpms: "tpms",
  storageControllers: "storageControllers",
  gpus: "gpuDevices",
  "bmc.nics": "bmc.nic.ports",
};

/** The paths of the lists that were read completely, such as `cpu.sockets`. */
export function completeLists({ complete = [] }: Hardware): readonly string[] {
  return complete.flatMap((list) => PATHS[list] ?? []);
}

/**
 * Builds `status.attributes.outOfBand` of Tinkerbell's Hardware, without `lastUpdated` and `collectionMethod`. Omits unknown
 * values, and sums over parts, which Rufio omits too. Sorts parts by name, because BMCs list them in changing order.
 */
export function outOfBand(hardware: Hardware): Fields {
  const { system, chassis, mainboard, bmc, processors, memory, disks, nics } = hardware;
  const { powerSupplies = [], tpms = [], storageControllers = [], gpus = [] } = hardware;
  return filled({
    product: part(system),
    bios: filled({ firmwareVersion: system.biosVersion }),
    bmc: filled({ ...part(bmc), nic: filled({ ports: byName(bmc?.nics ?? []).map(port) }) }),
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
    networkInterfaces: byName(nics).map((nic) => filled({ ports: [port(nic)] })),
    psus: byName(powerSupplies).map((supply) =>
      filled({ ...component(supply), powerCapacityWatts: whole(supply.watts) }),
    ),
    tpms: byName(tpms).map((tpm) => filled({ ...part(tpm), interfaceType: tpm.interfaceType })),
    storageControllers: byName(storageControllers).map(component),
    gpuDevices: byName(gpus).map(component),
  });
}

function port({ name: portID, mac, speedMbps, up }: Hardware["nics"][number]): Fields {
  const linkStatus = up === undefined ? undefined : up ? "Up" : "Down";
  return filled({ portID, mac, speedMbps: uint32(speedMbps), linkStatus });
}

function component(found: HardwareComponent): Fields {
  return filled({ description: found.name, ...part(found) });
}

interface Part {
  readonly vendor?: string | undefined;
  readonly model?: string | undefined;
  readonly serial?: string | undefined;
  readonly firmware?: string | undefined;
  readonly health?: string | undefined;
  readonly state?: string | undefined;
}

function part({
  vendor,
  model,
  serial: serialNumber,
  firmware: firmwareVersion,
  health,
  state,
}: Part = {}): Fields {
  return filled({ vendor, model, serialNumber, firmwareVersion, status: filled({ health, state }) });
}

/** Copies an object without its undefined and empty fields, like Go's `omitempty`, and its lists without empty parts. */
function filled(fields: Fields): Fields {
  const given = Object.entries(fields)
    .map(
      ([name, value]) => [name, Array.isArray(value) ? value.filter((one) => !isEmpty(one)) : value] as const,
    )
    .filter(([, value]) => value !== undefined && !isEmpty(value));
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

import { type Answer, methodNotAllowed, ok } from "./answer.ts";
import type { RedfishProfile } from "./profiles.ts";
import { collection, type ResourceRequest, type ResourceService } from "./resource-service.ts";
import { resource } from "./schema-types.ts";

type Resource = Readonly<Record<string, unknown>>;
type Part = { readonly Id: string; readonly Name: string } & Resource;
type GroupType = "Processor" | "Memory" | "EthernetInterface";

/** The components of one machine: collections below its system. */
export class SimulatedInventory implements ResourceService {
  readonly #resources: ReadonlyMap<string, Resource>;

  constructor(system: string, { gpus = 0 }: RedfishProfile) {
    const groups: readonly (readonly [string, GroupType, readonly Part[]])[] = [
      [`${system}/Processors`, "Processor", [...processors, ...Array.from({ length: gpus }, gpu)]],
      [`${system}/Memory`, "Memory", memory],
      [`${system}/EthernetInterfaces`, "EthernetInterface", nics],
    ];
    this.#resources = new Map([
      ...groups.map(([path, name, members]) => {
        const paths = members.map((member) => `${path}/${member.Id}`);
        return [path, collection(path, name, paths)] as const;
      }),
      ...groups.flatMap(([path, type, members]) =>
        members.map((member) => {
          const own = `${path}/${member.Id}`;
          return [own, resource(own, type, member)] as const;
        }),
      ),
    ]);
  }

  answer({ method, path }: ResourceRequest): Answer | undefined {
    const resource = this.#resources.get(path);
    return resource && (method === "GET" ? ok(resource) : methodNotAllowed(method));
  }
}

const enabled = { State: "Enabled", Health: "OK" };

const processors = [1, 2].map((n) => ({
  Id: `CPU.Socket.${n}`,
  Name: `CPU ${n}`,
  Socket: `CPU.Socket.${n}`,
  ProcessorType: "CPU",
  Manufacturer: "Contoso",
  Model: "Contoso Fast 9000",
  TotalCores: 16,
  TotalThreads: 32,
  Status: enabled,
}));

function gpu(_: unknown, index: number): Part {
  const n = index + 1;
  return {
    Id: `GPU.Slot.${n}`,
    Name: `GPU ${n}`,
    ProcessorType: "GPU",
    Manufacturer: "Contoso",
    Model: "Contoso Shader 40",
    SerialNumber: `GPU-${n}`,
    FirmwareVersion: "95.02.39",
    Status: enabled,
  };
}

const memory = [
  ...["A1", "B1", "A2"].map((slot) => ({
    Id: `DIMM.${slot}`,
    Name: `DIMM ${slot}`,
    DeviceLocator: slot,
    CapacityMiB: 32_768,
    MemoryDeviceType: "DDR4",
    Manufacturer: "Contoso Memory",
    SerialNumber: `MEM-${slot}`,
    Status: enabled,
  })),
  { Id: "DIMM.B2", Name: "DIMM B2", CapacityMiB: null, Status: { State: "Absent" } },
];

const nics = [
  {
    Id: "NIC.1",
    Name: "Ethernet Interface",
    MACAddress: "52:54:00:AA:BB:01",
    PermanentMACAddress: "52:54:00:AA:BB:01",
    SpeedMbps: 25_000,
    LinkStatus: "LinkUp",
  },
  { Id: "NIC.2", Name: "Ethernet Interface", MACAddress: "52:54:00:AA:BB:02", LinkStatus: "NoLink" },
];

import { type Answer, methodNotAllowed, ok } from "./answer.ts";
import type { RedfishProfile } from "./profiles.ts";
import { collection, type ResourceRequest, type ResourceService } from "./resource-service.ts";
import { resource } from "./schema-types.ts";

export const REGISTRIES = "/redfish/v1/Registries";
export const BIOS_REGISTRY = "BiosAttributeRegistry.v1_0_0";
const FILE = `${REGISTRIES}/BiosAttributeRegistry`;
const CONTENT = `${FILE}/${BIOS_REGISTRY}.json`;

const choice = (name: string, values: Readonly<Record<string, string>>) => ({
  AttributeName: name,
  Type: "Enumeration",
  Value: Object.entries(values).map(([ValueName, ValueDisplayName]) => ({ ValueName, ValueDisplayName })),
});

/** A rule under which `MapToProperty` of `attribute` is true while SysProfile is not Custom. */
const unlessCustom = (attribute: string, property: string) => ({
  DependencyFor: attribute,
  Type: "Map",
  Dependency: {
    MapFrom: [
      {
        MapFromAttribute: "SysProfile",
        MapFromProperty: "CurrentValue",
        MapFromCondition: "NEQ",
        MapFromValue: "Custom",
      },
    ],
    MapToAttribute: attribute,
    MapToProperty: property,
    MapToValue: true,
  },
});

/** Descriptions of the BIOS attributes of `SimulatedMachine`, one for each type. */
const ENTRIES = {
  Attributes: [
    choice("BootMode", { Uefi: "UEFI", Bios: "Legacy BIOS" }),
    choice("ProcTurboMode", { Enabled: "Enabled", Disabled: "Disabled" }),
    choice("SysProfile", { Custom: "Custom", PerfOptimized: "Performance" }),
    { AttributeName: "NumCores", Type: "Integer", LowerBound: 2, UpperBound: 32, ScalarIncrement: 2 },
    { AttributeName: "SerialConsole", Type: "Boolean" },
    { AttributeName: "AssetTag", Type: "String", MinLength: 0, MaxLength: 8 },
    { AttributeName: "SetupPassword", Type: "Password" },
    { AttributeName: "SystemServiceTag", Type: "String", ReadOnly: true },
  ],
  Dependencies: [unlessCustom("ProcTurboMode", "ReadOnly"), unlessCustom("SerialConsole", "Hidden")],
};

/** The registry of BIOS attributes among the BMC's registries. */
export class SimulatedBiosRegistry implements ResourceService {
  readonly #profile: RedfishProfile;

  constructor(profile: RedfishProfile) {
    this.#profile = profile;
  }

  answer({ method, path }: ResourceRequest): Answer | undefined {
    const found = this.#profile.bios.registry ? this.#resource(path) : undefined;
    if (!found) return undefined;
    return method === "GET" ? ok(found) : methodNotAllowed(method);
  }

  #resource(path: string): object | undefined {
    switch (path) {
      case REGISTRIES:
        return collection(path, "MessageRegistryFile", [`${REGISTRIES}/Base`, FILE]);
      case `${REGISTRIES}/Base`:
        return registryFile(path, "Base.1.8", []);
      case FILE:
        return registryFile(path, BIOS_REGISTRY, [{ Language: "en", Uri: CONTENT }]);
      case CONTENT:
        return resource(path, "AttributeRegistry", {
          Name: "BIOS Attribute Registry",
          Language: "en",
          RegistryVersion: "1.0.0",
          OwningEntity: this.#profile.manufacturer,
          RegistryEntries: ENTRIES,
        });
      default:
        return undefined;
    }
  }
}

function registryFile(path: string, Registry: string, Location: readonly object[]) {
  return resource(path, "MessageRegistryFile", { Name: Registry, Registry, Languages: ["en"], Location });
}

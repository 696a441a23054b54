import type { Hint } from "./hint.ts";
import type { System } from "./service/schema.ts";
import type { Resource } from "./service/service.ts";

/** The system as a hint remembers it. What the hint does not say is absent, and read when it is needed. */
export function rememberedSystem(hint: Hint): Resource<System> {
  const { boot, reset, settings } = hint;
  const ownReset = reset && isBelow(reset.target, hint.system) ? reset : undefined;
  const value: System = {
    "@odata.id": hint.system,
    Manufacturer: hint.manufacturer,
    Model: hint.model,
    Oem: Object.fromEntries(hint.oem.map((key) => [key, {}])),
    ...(boot && {
      Boot: {
        BootSourceOverrideMode: boot.mode,
        "BootSourceOverrideTarget@Redfish.AllowableValues": boot.targets,
        "BootSourceOverrideEnabled@Redfish.AllowableValues": boot.enabled,
        "BootSourceOverrideMode@Redfish.AllowableValues": boot.modes,
      },
    }),
    ...(ownReset && {
      Actions: {
        "#ComputerSystem.Reset": {
          target: ownReset.target,
          "ResetType@Redfish.AllowableValues": ownReset.values,
        },
      },
    }),
    ...(settings && { "@Redfish.Settings": { SettingsObject: { "@odata.id": settings.path } } }),
  };
  return { path: hint.system, value, etag: undefined };
}

/** What a hint says about a system must be about that one: a reset of another would be a wrong action. */
function isBelow(path: string, system: string): boolean {
  return path.startsWith(`${system.replace(/\/$/, "")}/`) && !path.includes("..") && !path.includes("%2e");
}

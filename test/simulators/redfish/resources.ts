import type { SimulatedMachine, SimulatedPower } from "../machine.ts";
import { showBoot } from "./boot-override.ts";
import type { RedfishProfile } from "./profiles.ts";
import { SESSIONS } from "./sessions.ts";

export const ROOT = "/redfish/v1";
export const SYSTEMS = `${ROOT}/Systems`;
const MANAGERS = `${ROOT}/Managers`;

/** The resources that never change, by path. */
export function staticResources(
  profile: RedfishProfile,
  systemPaths: readonly string[],
): Map<string, unknown> {
  const members = systemPaths.map((path) => ({ "@odata.id": path }));
  const manager = `${MANAGERS}/1`;
  return new Map<string, unknown>([
    [
      ROOT,
      {
        "@odata.id": `${ROOT}/`,
        "@odata.type": "#ServiceRoot.v1_9_0.ServiceRoot",
        Id: "RootService",
        Name: "Root Service",
        RedfishVersion: "1.11.0",
        Systems: { "@odata.id": SYSTEMS },
        Managers: { "@odata.id": MANAGERS },
        SessionService: { "@odata.id": `${ROOT}/SessionService` },
        Links: { Sessions: { "@odata.id": SESSIONS } },
      },
    ],
    [
      SYSTEMS,
      { "@odata.id": SYSTEMS, Name: "Systems", Members: members, "Members@odata.count": members.length },
    ],
    [MANAGERS, { "@odata.id": MANAGERS, Name: "Managers", Members: [{ "@odata.id": manager }] }],
    [manager, { "@odata.id": manager, Id: "1", Name: "Manager", ManagerType: "BMC", Model: profile.model }],
    [
      `${ROOT}/SessionService`,
      { "@odata.id": `${ROOT}/SessionService`, Sessions: { "@odata.id": SESSIONS } },
    ],
  ]);
}

/** A ComputerSystem as it now is, without its entity tag. */
export function systemResource(
  path: string,
  id: string,
  machine: SimulatedMachine,
  profile: RedfishProfile,
): Record<string, unknown> {
  const action = {
    target: `${path}/Actions/ComputerSystem.Reset`,
    ...(profile.resetListing === "system" ? { "ResetType@Redfish.AllowableValues": profile.resetTypes } : {}),
    ...(profile.resetListing === "action-info" ? { "@Redfish.ActionInfo": `${path}/ResetActionInfo` } : {}),
  };
  const settings = {
    "@odata.type": "#Settings.v1_3_0.Settings",
    SettingsObject: { "@odata.id": `${path}/Settings` },
  };
  return {
    "@odata.id": path,
    "@odata.type": "#ComputerSystem.v1_16_0.ComputerSystem",
    Id: id,
    Name: machine.name,
    Manufacturer: profile.manufacturer,
    Model: profile.model,
    PowerState: powerState(machine.power, profile),
    Boot: showBoot(machine, profile),
    Actions: { "#ComputerSystem.Reset": action },
    ...(profile.bootOwner === "settings" ? { "@Redfish.Settings": settings } : {}),
    Oem: { [profile.oem]: {} },
  };
}

/** The resource beside the system that takes its settings: `Settings` or `SD`. */
export function pendingResource(
  path: string,
  machine: SimulatedMachine,
  profile: RedfishProfile,
): Record<string, unknown> {
  return { "@odata.id": path, Id: "Settings", Name: "Settings", Boot: showBoot(machine, profile) };
}

export function resetActionInfo(path: string, profile: RedfishProfile): Record<string, unknown> {
  return {
    "@odata.id": path,
    Id: "ResetActionInfo",
    Parameters: [
      { Name: "ResetType", Required: true, DataType: "String", AllowableValues: profile.resetTypes },
    ],
  };
}

function powerState(power: SimulatedPower, profile: RedfishProfile): string {
  switch (power) {
    case "on":
      return "On";
    case "off":
      return "Off";
    case "powering-on":
      return profile.showsTransitions ? "PoweringOn" : "Off";
    case "powering-off":
      return profile.showsTransitions ? "PoweringOff" : "On";
    default:
      return power satisfies never;
  }
}

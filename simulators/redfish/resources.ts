import type { SimulatedMachine, SimulatedPower } from "../machine.ts";
import { accountServicePath } from "./accounts.ts";
import { REGISTRIES } from "./bios-registry.ts";
import { showBootOrder } from "./boot-options.ts";
import { showBoot } from "./boot-override.ts";
import { CERTIFICATE_SERVICE } from "./certificates.ts";
import { CHASSIS, CHASSIS_COLLECTION } from "./chassis.ts";
import type { RedfishProfile } from "./profiles.ts";
import { collection } from "./resource-service.ts";
import { resource } from "./schema-types.ts";
import { SESSIONS } from "./sessions.ts";
import { RESTORE_POLICIES, showIndicator } from "./system-settings.ts";
import { UPDATE_SERVICE } from "./update-service.ts";

export const ROOT = "/redfish/v1";
export const SYSTEMS = `${ROOT}/Systems`;
export const MANAGERS = `${ROOT}/Managers`;
const SYSTEM_TYPE = "#ComputerSystem.v1_16_0.ComputerSystem";

/** Returns the resources that never change, by path. */
export function staticResources(
  profile: RedfishProfile,
  systemPaths: readonly string[],
): Map<string, unknown> {
  const manager = `${MANAGERS}/${profile.managerId}`;
  const expand = { NoLinks: profile.expand === ".", ExpandAll: profile.expand === "*", Levels: false };
  return new Map<string, unknown>([
    [
      ROOT,
      {
        "@odata.id": `${ROOT}/`,
        "@odata.type": "#ServiceRoot.v1_9_0.ServiceRoot",
        Id: "RootService",
        Name: "Root Service",
        RedfishVersion: "1.11.0",
        Vendor: profile.manufacturer,
        UUID: "92384634-2938-2342-8820-489239905423",
        ...(profile.expand === "none" ? {} : { ProtocolFeaturesSupported: { ExpandQuery: expand } }),
        Systems: { "@odata.id": SYSTEMS },
        Managers: { "@odata.id": MANAGERS },
        Chassis: { "@odata.id": CHASSIS_COLLECTION },
        UpdateService: { "@odata.id": UPDATE_SERVICE },
        AccountService: { "@odata.id": accountServicePath(profile, manager) },
        ...(profile.bios.registry && { Registries: { "@odata.id": REGISTRIES } }),
        ...(profile.certificates === "hpe" || profile.certificates === "none"
          ? {}
          : { CertificateService: { "@odata.id": CERTIFICATE_SERVICE } }),
        SessionService: { "@odata.id": `${ROOT}/SessionService` },
        Links: { Sessions: { "@odata.id": SESSIONS } },
      },
    ],
    [SYSTEMS, collection(SYSTEMS, "ComputerSystem", systemPaths)],
    [MANAGERS, collection(MANAGERS, "Manager", [manager])],
    [
      `${ROOT}/SessionService`,
      resource(`${ROOT}/SessionService`, "SessionService", {
        Name: "Session Service",
        ServiceEnabled: true,
        Sessions: { "@odata.id": SESSIONS },
      }),
    ],
  ]);
}

/** Returns the current ComputerSystem without its entity tag. The system's number determines its identity. */
export function systemResource(
  path: string,
  id: string,
  machine: SimulatedMachine,
  profile: RedfishProfile,
  number = 1,
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
    "@odata.type": SYSTEM_TYPE,
    Id: id,
    Name: machine.name,
    Manufacturer: profile.manufacturer,
    Model: profile.model,
    PowerState: powerState(machine.power, profile),
    SerialNumber: number === 1 ? machine.serialNumber : `CZ0000000${number}`,
    UUID: number === 1 ? machine.uuid : `4c4c4544-0000-1000-8000-b4c04f30303${number + 1}`,
    BiosVersion: "2.19.1",
    ...showIndicator(machine, profile),
    ...showBootProgress(machine, profile),
    ...showConsole(machine),
    ...(profile.restorePolicy && { PowerRestorePolicy: RESTORE_POLICIES[machine.restorePolicy] }),
    TrustedModules: [{ FirmwareVersion: "7.2.2.0", InterfaceType: "TPM2_0", Status: { State: "Enabled" } }],
    MemorySummary: { TotalSystemMemoryGiB: 96 },
    ...(profile.bootTargets.length > 0
      ? { Boot: { ...showBoot(machine, profile), ...showBootOrder(machine, profile, path) } }
      : {}),
    ...Object.fromEntries(
      ["Processors", "Memory", "Storage", "EthernetInterfaces"].map((name) => [
        name,
        { "@odata.id": `${path}/${name}` },
      ]),
    ),
    ...(profile.media.below === "system"
      ? { VirtualMedia: { "@odata.id": `${path}/${profile.media.name}` } }
      : {}),
    ...(profile.sel.below === "system" ? { LogServices: { "@odata.id": `${path}/LogServices` } } : {}),
    ...(profile.bios.offered && { Bios: { "@odata.id": `${path}/Bios` } }),
    SecureBoot: { "@odata.id": `${path}/SecureBoot` },
    Links: {
      ManagedBy: [{ "@odata.id": `${MANAGERS}/${profile.managerId}` }],
      Chassis: [{ "@odata.id": CHASSIS }],
    },
    Actions: { "#ComputerSystem.Reset": action },
    ...(profile.bootOwner === "settings" ? { "@Redfish.Settings": settings } : {}),
    ...(machine.resetCause === undefined ? {} : { LastResetCause: machine.resetCause }),
    ...(profile.oem !== "" && {
      Oem: { [profile.oem]: { ...postState(machine, profile), ...bootCount(machine) } },
    }),
  };
}

function showConsole({ sshConsole }: SimulatedMachine) {
  if (!sshConsole) return {};
  const { port: Port, entryCommand: ConsoleEntryCommand } = sshConsole;
  const shared = ConsoleEntryCommand === undefined ? {} : { SharedWithManagerCLI: true, ConsoleEntryCommand };
  return { SerialConsole: { MaxConcurrentSessions: 1, SSH: { ServiceEnabled: true, Port, ...shared } } };
}

function showBootProgress({ bootProgress }: SimulatedMachine, { progress }: RedfishProfile) {
  if (!bootProgress || progress !== "boot-progress") return {};
  const { state, sinceMs, resetMs } = bootProgress;
  return {
    BootProgress: { LastState: state, ...(sinceMs && { LastStateTime: new Date(sinceMs).toISOString() }) },
    ...(resetMs && { LastResetTime: new Date(resetMs).toISOString() }),
  };
}

function postState({ bootProgress }: SimulatedMachine, { progress }: RedfishProfile) {
  return bootProgress && progress === "post-state" ? { PostState: bootProgress.state } : {};
}

function bootCount({ bootCount: NumberOfReboots }: SimulatedMachine) {
  return NumberOfReboots === undefined ? {} : { NumberOfReboots };
}

/** Returns the resource that takes a system's settings: `Settings` or `SD`. */
export function pendingResource(
  path: string,
  machine: SimulatedMachine,
  profile: RedfishProfile,
): Record<string, unknown> {
  const systemPath = path.slice(0, path.lastIndexOf("/"));
  const order = showBootOrder(machine, profile, systemPath);
  // An iDRAC shows an order there only until the next boot applies it.
  const waiting = profile.bootOwner === "settings" && profile.bootOrder ? { BootOrder: [] } : {};
  const boot = { ...showBoot(machine, profile), ...order, ...waiting };
  return {
    "@odata.id": path,
    "@odata.type": SYSTEM_TYPE,
    Id: "Settings",
    Name: "Settings",
    Boot: boot,
  };
}

export function resetActionInfo(path: string, profile: RedfishProfile): Record<string, unknown> {
  const parameter = { Name: "ResetType", Required: true, DataType: "String" };
  const Parameters = [{ ...parameter, AllowableValues: profile.resetTypes }];
  return resource(path, "ActionInfo", { Name: "Reset Action Info", Parameters });
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

import type { Recording } from "../../shared/recording/recording.ts";
import { BOOT_TARGETS } from "../redfish/boot-override.ts";
import { type RedfishProfile, redfishProfile } from "../redfish/profiles.ts";
import { type Body, isBody, linkOf, membersOf, type RecordedResources } from "./resources.ts";

const ROOT = "/redfish/v1";

/** Parts of a profile that have their own fields. */
type Part = "managerReset" | "media" | "accounts" | "sel" | "bios";

/** The part of a profile that resources show. They say nothing about an absent field. */
export type ShownProfile = Partial<Omit<RedfishProfile, Part>> & {
  readonly [Name in Part]?: Partial<RedfishProfile[Name]>;
};

/** Returns the behaviour of the recorded BMC as far as its resources show it, and otherwise that of the specification. */
export function profileOf(resources: RecordedResources, { etag }: Pick<Recording, "etag">): RedfishProfile {
  const generic = redfishProfile("generic");
  const shown = shownBy(resources);
  return {
    ...generic,
    certificates: "several",
    ...shown,
    name: "recorded",
    etagSent: etag ?? "strong",
    managerReset: { ...generic.managerReset, ...shown.managerReset },
    media: { ...generic.media, ...shown.media },
    accounts: { ...generic.accounts, ...shown.accounts },
    sel: { ...generic.sel, ...shown.sel },
    bios: { ...generic.bios, ...shown.bios },
  };
}

/** Reads the resources of the main system, of its manager and of its chassis. */
export function shownBy(resources: RecordedResources): ShownProfile {
  const root = resources.get(ROOT) ?? {};
  const system = mainSystem(resources);
  const manager = mainManager(resources);
  const chassis = mainChassis(resources, system);
  const owners = [system, manager, chassis].filter((owner) => owner !== undefined);
  return {
    ...shownByRoot(root),
    ...(system && shownBySystem(resources, ...system)),
    ...(manager && shownByManager(resources, ...manager)),
    ...(chassis && shownByChassis(resources, chassis[1])),
    ...media(resources, owners),
    ...log(resources, owners),
    ...accounts(resources, root),
  };
}

type Found = readonly [path: string, body: Body];

function mainSystem(resources: RecordedResources): Found | undefined {
  const systems = resources.ofType("ComputerSystem").filter(([path]) => /\/Systems\/[^/]+$/.test(path));
  return systems.find(([, body]) => actionOf(body, "#ComputerSystem.Reset")) ?? systems[0];
}

function mainManager(resources: RecordedResources): Found | undefined {
  const managers = resources.ofType("Manager");
  const isBmc = ([, { ManagerType: type }]: Found) => type === "BMC" || type === "ManagementController";
  return managers.find(isBmc) ?? managers[0];
}

function mainChassis(resources: RecordedResources, system: Found | undefined): Found | undefined {
  const links = system?.[1]["Links"];
  const [first] = isBody(links) && Array.isArray(links["Chassis"]) ? links["Chassis"] : [];
  const path = linkOf(first);
  const body = path === undefined ? undefined : resources.get(path);
  return path !== undefined && body ? [path, body] : undefined;
}

function shownByRoot(root: Body): ShownProfile {
  const features = bodyIn(root, "ProtocolFeaturesSupported");
  const expand = bodyIn(features, "ExpandQuery");
  if (Object.keys(root).length === 0) return {};
  return { expand: expand["NoLinks"] === true ? "." : expand["ExpandAll"] === true ? "*" : "none" };
}

function shownBySystem(resources: RecordedResources, path: string, body: Body): ShownProfile {
  const reset = actionOf(body, "#ComputerSystem.Reset");
  const types = reset && allowedValues(resources, reset, "ResetType");
  const [oem = ""] = Object.keys(bodyIn(body, "Oem"));
  const etag = body["@odata.etag"];
  const boot = bodyIn(body, "Boot");
  const targets = listed(boot, "BootSourceOverrideTarget");
  const enabled = listed(boot, "BootSourceOverrideEnabled");
  const modes = "BootSourceOverrideMode" in boot ? listed(boot, "BootSourceOverrideMode") : [];
  const settings = settingsOf(body);
  const takesOverride = "BootSourceOverrideTarget" in bodyIn(resources.get(settings ?? "") ?? {}, "Boot");
  return {
    systemId: path.split("/").at(-1) ?? "",
    oem,
    ...(typeof etag === "string" && { etagSent: etag.startsWith("W/") ? "weak" : "strong" }),
    ...(types && { resetTypes: types }),
    ...(reset && { resetListing: listingOf(reset, "system") }),
    ...(targets && { bootTargets: targets }),
    ...(enabled && { bootEnabled: enabled }),
    ...(modes && { bootModes: modes }),
    bootListing: targets !== undefined,
    bootOwner: takesOverride ? "settings" : "system",
    bootOrder: "BootOrder" in boot,
    httpBootUri: "HttpBootUri" in boot,
    indicator: "LocationIndicatorActive" in body ? "location" : "IndicatorLED" in body ? "led" : "none",
    restorePolicy: "PowerRestorePolicy" in body,
    progress: progressOf(body),
    ...bios(resources, body),
  };
}

function progressOf(system: Body): RedfishProfile["progress"] {
  if ("BootProgress" in system) return "boot-progress";
  return "PostState" in bodyIn(bodyIn(system, "Oem"), "Hpe") ? "post-state" : "none";
}

function bios(resources: RecordedResources, system: Body): ShownProfile {
  const path = linkOf(system["Bios"]);
  if (path === undefined) return { bios: { offered: false } };
  const body = resources.get(path);
  if (!body) return {};
  const times = bodyIn(body, "@Redfish.Settings")["SupportedApplyTimes"];
  return {
    bios: {
      offered: true,
      settings: settingsOf(body) !== undefined,
      registry: "AttributeRegistry" in body,
      applyTimes: textsIn(times) ?? [],
    },
  };
}

function shownByManager(resources: RecordedResources, path: string, body: Body): ShownProfile {
  const reset = actionOf(body, "#Manager.Reset");
  const types = reset && allowedValues(resources, reset, "ResetType");
  const dell = bodyIn(bodyIn(bodyIn(body, "Links"), "Oem"), "Dell");
  const lifecycle = resources.get(linkOf(dell["DellLCService"]) ?? "");
  return {
    managerId: path.split("/").at(-1) ?? "",
    ...(reset && { managerReset: { types: types ?? [], listing: listingOf(reset, "resource") } }),
    ...ntp(resources, body),
    ...network(resources, body),
    ...certificates(resources, path),
    screenshot:
      lifecycle !== undefined && actionOf(lifecycle, "#DellLCService.ExportServerScreenShot") !== undefined,
  };
}

function ntp(resources: RecordedResources, manager: Body): ShownProfile {
  const links = bodyIn(bodyIn(bodyIn(manager, "Oem"), "Hpe"), "Links");
  if ("DateTimeService" in links) return { ntp: "hpe-date-time" };
  const protocol = resources.get(linkOf(manager["NetworkProtocol"]) ?? "");
  if (!protocol) return {};
  const hasAttributes = "DellAttributes" in bodyIn(bodyIn(bodyIn(manager, "Links"), "Oem"), "Dell");
  if (!("NTP" in protocol)) return { ntp: hasAttributes ? "dell-attributes" : "none" };
  return { ntp: settingsOf(protocol) === undefined ? "standard" : "settings" };
}

function network(resources: RecordedResources, manager: Body): ShownProfile {
  const [body, ...more] = bodiesAt(resources, manager["EthernetInterfaces"]) ?? [];
  if (!body) return {};
  if (more.length > 0) return { network: "several" };
  if (settingsOf(body) !== undefined) return { network: "settings" };
  if ("DHCPv4" in body) return { network: "standard" };
  return { network: "IPv4StaticAddresses" in body ? "no-dhcpv4" : "old" };
}

function certificates(resources: RecordedResources, manager: string): ShownProfile {
  if (resources.has(`${manager}/SecurityService/HttpsCert`)) return { certificates: "hpe" };
  const listed = resources.get(`${manager}/NetworkProtocol/HTTPS/Certificates`);
  if (!listed) return {};
  const service = resources.get(`${ROOT}/CertificateService`) ?? {};
  if (!actionOf(service, "#CertificateService.ReplaceCertificate")) return { certificates: "post" };
  return { certificates: membersOf(listed).length === 1 ? "replace" : "several" };
}

/** Returns the virtual drives of the first system or manager that has some. */
function media(resources: RecordedResources, owners: readonly Found[]): ShownProfile {
  for (const [, owner] of owners) {
    const link = linkOf(owner["VirtualMedia"]);
    const drives = bodiesAt(resources, owner["VirtualMedia"]);
    const [first] = drives ?? [];
    if (link === undefined || !first) continue;
    const insert = actionOf(first, "#VirtualMedia.InsertMedia");
    const protocols = insert && listed(insert, "TransferProtocolType");
    return {
      media: {
        below: link.includes("/Systems/") ? "system" : "manager",
        name: link.split("/").at(-1) ?? "",
        slots: (drives ?? []).map(({ Id: id, MediaTypes: types }) => ({
          id: typeof id === "string" ? id : "",
          types: textsIn(types) ?? [],
        })),
        actions: insert !== undefined,
        showsInserted: "Inserted" in first,
        ...(protocols && { protocols }),
      },
    };
  }
  return {};
}

/** The names of the system event log, best first. */
const SEL = [/^(sel|iml|log1)$/i, /^(event|platform|standard|system_?event)_?log$/i, /^audit2$/i];

function log(resources: RecordedResources, owners: readonly Found[]): ShownProfile {
  const logs = owners.flatMap(([, owner]) => membersAt(resources, owner["LogServices"]) ?? []);
  const recorded = logs.filter((path) => resources.has(linkOf(resources.get(path)?.["Entries"]) ?? ""));
  const [path] = SEL.flatMap((name) => recorded.find((one) => name.test(one.split("/").at(-1) ?? "")) ?? []);
  const body = path === undefined ? undefined : resources.get(path);
  if (path === undefined || !body) return {};
  const entries = membersOf(resources.get(linkOf(body["Entries"]) ?? "") ?? {}).filter(isBody);
  const [first, last] = textsIn([entries[0]?.["Created"], entries.at(-1)?.["Created"]]) ?? [];
  return {
    sel: {
      below: path.includes("/Systems/") ? "system" : path.includes("/Managers/") ? "manager" : "chassis",
      name: path.split("/").at(-1) ?? "",
      clearable: actionOf(body, "#LogService.ClearLog") !== undefined,
      ...(first && last && first !== last && { newestFirst: first > last }),
      ...(entries.length > 0 && { embedded: entries.every((entry) => "Id" in entry) }),
    },
  };
}

function accounts(resources: RecordedResources, root: Body): ShownProfile {
  const path = linkOf(root["AccountService"]);
  const service = resources.get(path ?? "");
  const members = bodiesAt(resources, service?.["Accounts"]);
  return {
    accounts: {
      ...(path !== undefined && { below: path.includes("/Managers/") ? "manager" : "service" }),
      ...(members?.length && {
        kind: members.some((account) => account["UserName"] === "") ? "slots" : "collection",
      }),
    },
  };
}

function shownByChassis(resources: RecordedResources, body: Body): ShownProfile {
  const places = ["Sensors", "Thermal", "ThermalSubsystem"] as const;
  return { powerLimit: powerLimitOf(resources, body), sensors: places.filter((name) => name in body) };
}

function powerLimitOf(resources: RecordedResources, chassis: Body): RedfishProfile["powerLimit"] {
  const metrics = resources.get(linkOf(chassis["EnvironmentMetrics"]) ?? "") ?? {};
  if ("PowerLimitWatts" in metrics) return "environment-metrics";
  const controls = resources.get(linkOf(chassis["Power"]) ?? "")?.["PowerControl"];
  const [first] = Array.isArray(controls) ? controls : [];
  if (isBody(first) && "PowerLimit" in first) return "power";
  return "Controls" in chassis ? "controls" : "none";
}

/** Returns what a system's `Boot` offers, for the rules of the simulator. */
export function bootProfile(profile: RedfishProfile, boot: Body): RedfishProfile {
  const hasMode = "BootSourceOverrideMode" in boot;
  return {
    ...profile,
    bootTargets: listed(boot, "BootSourceOverrideTarget") ?? Object.keys(BOOT_TARGETS),
    bootEnabled: listed(boot, "BootSourceOverrideEnabled") ?? ["Disabled", "Once", "Continuous"],
    bootModes: hasMode ? (listed(boot, "BootSourceOverrideMode") ?? ["Legacy", "UEFI"]) : [],
    bootListing: false,
    httpBootUri: "HttpBootUri" in boot,
  };
}

/** Returns the types that an action accepts: they are listed with it, in its ActionInfo, or nowhere. */
export function allowedValues(
  resources: RecordedResources,
  action: Body,
  parameter: string,
): readonly string[] | undefined {
  const values = listed(action, parameter);
  if (values) return values;
  const info = action["@Redfish.ActionInfo"];
  const parameters = typeof info === "string" ? resources.get(info)?.["Parameters"] : undefined;
  const found = Array.isArray(parameters)
    ? parameters.find((entry) => isBody(entry) && entry["Name"] === parameter)
    : undefined;
  const inInfo = isBody(found) ? found["AllowableValues"] : undefined;
  return textsIn(inInfo);
}

/** Returns the path of the resource that takes the settings of another. */
export function settingsOf(body: Body): string | undefined {
  return linkOf(bodyIn(body, "@Redfish.Settings")["SettingsObject"]);
}

function listingOf<Own extends string>(action: Body, own: Own): Own | "action-info" | "none" {
  if (listed(action, "ResetType")) return own;
  return "@Redfish.ActionInfo" in action ? "action-info" : "none";
}

function listed(body: Body, name: string): readonly string[] | undefined {
  return textsIn(body[`${name}@Redfish.AllowableValues`]);
}

/** Returns the texts of a list, or undefined if there is no list. */
function textsIn(values: unknown): readonly string[] | undefined {
  return Array.isArray(values) ? values.filter((value) => typeof value === "string") : undefined;
}

function membersAt(resources: RecordedResources, link: unknown): readonly string[] | undefined {
  const collection = resources.get(linkOf(link) ?? "");
  return collection && membersOf(collection).flatMap((member) => linkOf(member) ?? []);
}

/** Returns the members that were recorded. */
function bodiesAt(resources: RecordedResources, link: unknown): readonly Body[] | undefined {
  return membersAt(resources, link)?.flatMap((path) => {
    const body = resources.get(path);
    return body ? [body] : [];
  });
}

function actionOf(body: Body, name: string): Body | undefined {
  const action = bodyIn(body, "Actions")[name];
  return isBody(action) ? action : undefined;
}

function bodyIn(body: Body, name: string): Body {
  const value = body[name];
  return isBody(value) ? value : {};
}

import type { Recording } from "../../shared/recording/recording.ts";
import { BOOT_TARGETS } from "../redfish/boot-override.ts";
import { type RedfishProfile, redfishProfiles } from "../redfish/profiles.ts";
import { type Body, isBody, linkOf, type RecordedResources } from "./resources.ts";

const { generic } = redfishProfiles;

/** How the recorded BMC behaves, where its resources say so; otherwise as the specification has it. */
export function profileOf(resources: RecordedResources, { etag }: Pick<Recording, "etag">): RedfishProfile {
  if (!generic) throw new Error("there is no generic profile");
  const root = resources.get("/redfish/v1") ?? {};
  const features = isBody(root["ProtocolFeaturesSupported"]) ? root["ProtocolFeaturesSupported"] : {};
  const expand = isBody(features["ExpandQuery"]) ? features["ExpandQuery"] : {};
  const managers = resources.ofType("Manager");
  const [manager] = managers.find(([, body]) =>
    /^(BMC|ManagementController)$/.test(String(body["ManagerType"])),
  ) ??
    managers[0] ?? [""];
  const hasHpe = resources.has(`${manager}/SecurityService/HttpsCert`);
  return {
    ...generic,
    name: "recorded",
    managerId: manager.split("/").at(-1) ?? generic.managerId,
    expand: expand["NoLinks"] === true ? "." : expand["ExpandAll"] === true ? "*" : "none",
    etagSent: etag ?? "strong",
    certificates: hasHpe ? "hpe" : "several",
    ...certificatesOf(resources, manager),
  };
}

function certificatesOf(
  resources: RecordedResources,
  manager: string,
): Pick<RedfishProfile, "certificates"> | object {
  const count = resources.get(`${manager}/NetworkProtocol/HTTPS/Certificates`)?.["Members"];
  if (!Array.isArray(count)) return {};
  const service = resources.get("/redfish/v1/CertificateService");
  const actions = isBody(service?.["Actions"]) ? service["Actions"] : {};
  if (!("#CertificateService.ReplaceCertificate" in actions)) return { certificates: "post" };
  return count.length === 1 ? { certificates: undefined } : { certificates: "several" };
}

/** What a system's `Boot` offers, for the rules of the simulator. */
export function bootProfile(profile: RedfishProfile, boot: Body): RedfishProfile {
  const offered = (name: string) => {
    const listed = boot[`BootSourceOverride${name}@Redfish.AllowableValues`];
    return Array.isArray(listed) ? listed.map(String) : undefined;
  };
  const hasMode = "BootSourceOverrideMode" in boot;
  return {
    ...profile,
    bootTargets: offered("Target") ?? Object.keys(BOOT_TARGETS),
    bootEnabled: offered("Enabled") ?? ["Disabled", "Once", "Continuous"],
    bootModes: hasMode ? (offered("Mode") ?? ["Legacy", "UEFI"]) : [],
    bootListing: false,
    ...("HttpBootUri" in boot ? { httpBootUri: undefined } : { httpBootUri: false }),
  } as RedfishProfile;
}

/** The types that an action takes: listed with it, in its ActionInfo, or nowhere. */
export function allowedValues(
  resources: RecordedResources,
  action: Body,
  parameter: string,
): readonly string[] | undefined {
  const listed = action[`${parameter}@Redfish.AllowableValues`];
  if (Array.isArray(listed)) return listed.map(String);
  const info = action["@Redfish.ActionInfo"];
  const parameters = typeof info === "string" ? resources.get(info)?.["Parameters"] : undefined;
  const found = Array.isArray(parameters)
    ? parameters.find((entry) => isBody(entry) && entry["Name"] === parameter)
    : undefined;
  const values = isBody(found) ? found["AllowableValues"] : undefined;
  return Array.isArray(values) ? values.map(String) : undefined;
}

/** The resource that takes another one's settings. */
export function settingsOf(body: Body): string | undefined {
  const settings = body["@Redfish.Settings"];
  return isBody(settings) ? linkOf(settings["SettingsObject"]) : undefined;
}

import type { BootOverride } from "../../operations/boot-port.ts";
import type { InstanceReference, ResourceClass } from "./messages.ts";
import { childOf, childrenOf, findElement, type XmlElement } from "./xml.ts";

export const BOOT_CONFIGURATION: InstanceReference = {
  class: "CIM_BootConfigSetting",
  keys: { InstanceID: "Intel(r) AMT: Boot Configuration 0" },
};

const PXE_SOURCE = "Intel(r) AMT: Force PXE Boot";
export const PXE_BOOT: InstanceReference = {
  class: "CIM_BootSourceSetting",
  keys: { InstanceID: PXE_SOURCE },
};

const SOURCES: Readonly<Record<string, BootOverride["device"]>> = {
  [PXE_SOURCE]: "pxe",
  "Intel(r) AMT: Force Hard-drive Boot": "disk",
  "Intel(r) AMT: Force CD/DVD Boot": "cdrom",
  "Intel(r) AMT: Force Diagnostic Boot": "diag",
  "Intel(r) AMT: Force OCR UEFI HTTPS Boot": "uefi-http",
};

/** CIM_ElementSettingData.IsNext: the configuration is the next boot's, permanently or for one boot. */
const IS_NEXT = ["1", "3"];

/** Whether the boot configuration is the next boot's, by the instances of CIM_ElementSettingData. */
export function isArmed(instances: readonly XmlElement[]): boolean {
  const configuration = instances.find((instance) =>
    refersTo(childOf(instance, "SettingData"), "CIM_BootConfigSetting"),
  );
  return IS_NEXT.includes(childOf(configuration, "IsNext")?.text ?? "");
}

/**
 * The boot source that comes first, by the instances of CIM_OrderedComponent; undefined when none is chosen. The
 * lowest sequence counts, 0 is not in use.
 */
export function chosenSource(instances: readonly XmlElement[]): string | undefined {
  const inUse = instances
    .map((instance) => ({
      sequence: Number(childOf(instance, "AssignedSequence")?.text),
      source: childOf(instance, "PartComponent"),
    }))
    .filter(({ sequence, source }) => sequence > 0 && refersTo(source, "CIM_BootSourceSetting"));
  const [first] = inUse.toSorted((a, b) => a.sequence - b.sequence);
  return selectorOf(first?.source, "InstanceID");
}

/** What an armed configuration does: it has a source, or options that AMT has in place of one. */
export function armedOverride(source: string | undefined, settings: XmlElement | undefined): BootOverride {
  if (source !== undefined) return { device: SOURCES[source] ?? "unknown", persistent: false };
  const options = settings ? setOptions(settings) : [];
  if (options.includes("BIOSSetup")) return { device: "bios", persistent: false };
  return options.includes("UseIDER") ? { device: "unknown", persistent: false } : { device: "none" };
}

function refersTo(reference: XmlElement | undefined, resource: ResourceClass): boolean {
  return findElement(reference, "ResourceURI")?.text.endsWith(`/${resource}`) ?? false;
}

function selectorOf(reference: XmlElement | undefined, name: string): string | undefined {
  const selectors = childrenOf(findElement(reference, "SelectorSet"), "Selector");
  return selectors.find(({ attributes }) => attributes.get("Name") === name)?.text;
}

/**
 * The settings that speak into the next boot, all of which a boot source of its own wants off (AMT_BootSettingData).
 */
const OPTIONS = [
  "BIOSPause",
  "BIOSSetup",
  "BootMediaIndex",
  "ConfigurationDataReset",
  "FirmwareVerbosity",
  "ForcedProgressEvents",
  "IDERBootDevice",
  "LockKeyboard",
  "LockPowerButton",
  "LockResetButton",
  "LockSleepButton",
  "PlatformErase",
  "ReflashBIOS",
  "SecureErase",
  "UefiBootNumberOfParams",
  "UseIDER",
  "UseSOL",
  "UseSafeMode",
  "UserPasswordBypass",
];
/** Writable, and not for us to change. The rest is read-only: a device refuses a Put that repeats it. */
const KEPT = ["ElementName", "EnforceSecureBoot", "InstanceID", "OwningEntity"];
const CLEAR = ["false", "0"];

/** The options that are set; none after a boot has used them up. */
export function setOptions(settings: XmlElement): readonly string[] {
  return OPTIONS.filter((name) => !CLEAR.includes(childOf(settings, name)?.text ?? "false"));
}

/** The settings with every option off, as a Put takes them. */
export function clearedSettings(settings: XmlElement): readonly (readonly [string, string])[] {
  return settings.children.flatMap(({ name, text }) => {
    if (KEPT.includes(name)) return [[name, text] as const];
    return OPTIONS.includes(name) ? [[name, /^\d+$/.test(text) ? "0" : "false"] as const] : [];
  });
}

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

/** CIM_ElementSettingData.IsNext: the configuration applies to the next boot, permanently or once. */
const IS_NEXT = ["1", "3"];

/** Whether the boot configuration applies to the next boot, according to the instances of CIM_ElementSettingData. */
export function isArmed(instances: readonly XmlElement[]): boolean {
  const configuration = instances.find((instance) =>
    refersTo(childOf(instance, "SettingData"), "CIM_BootConfigSetting"),
  );
  return IS_NEXT.includes(childOf(configuration, "IsNext")?.text ?? "");
}

/**
 * The first boot source, according to the instances of CIM_OrderedComponent; undefined if none is selected. The lowest
 * sequence comes first; 0 is not in use.
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

/** The effect of an armed configuration: it has a source, or AMT's options that replace one. */
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

/** Settings that affect the next boot. A boot source requires all of them to be off (AMT_BootSettingData). */
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
/** Writable settings that must not be changed. Others are read-only: a device refuses a Put that repeats them. */
const KEPT = ["ElementName", "EnforceSecureBoot", "InstanceID", "OwningEntity"];
const CLEAR = ["false", "0"];

/** The options that are set; none after a boot has used them. */
export function setOptions(settings: XmlElement): readonly string[] {
  return OPTIONS.filter((name) => !CLEAR.includes(childOf(settings, name)?.text ?? "false"));
}

/** The settings for a Put, with every option off. */
export function clearedSettings(settings: XmlElement): readonly (readonly [string, string])[] {
  return settings.children.flatMap(({ name, text }) => {
    if (KEPT.includes(name)) return [[name, text] as const];
    return OPTIONS.includes(name) ? [[name, /^\d+$/.test(text) ? "0" : "false"] as const] : [];
  });
}

import { childOf, type XmlElement } from "./xml.ts";

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

import type { BootDevice } from "../../../../contract/vocabulary.ts";

/**
 * DMTF `BootSource` values (DSP0268, ComputerSystem) for each device, the best first. The first is sent if the BMC lists no
 * values. The others are vendor-specific or second best, and only sent if they are listed.
 */
const TARGETS: Readonly<Record<BootDevice, readonly string[]>> = {
  none: ["None"],
  pxe: ["Pxe"],
  disk: ["Hdd"],
  bios: ["BiosSetup"],
  cdrom: ["Cd", "UsbCd"],
  // The enumeration has no safe mode.
  safe: [],
  diag: ["Diags"],
  floppy: ["Floppy"],
  usb: ["Usb"],
  "uefi-http": ["UefiHttp"],
  "remote-drive": ["RemoteDrive"],
  "sd-card": ["SDCard"],
  utilities: ["Utilities"],
};

const VENDOR_TARGETS: Readonly<Partial<Record<BootDevice, readonly string[]>>> = {
  safe: ["Safe", "SafeMode"],
  diag: ["Utilities"],
};

const DEVICES = new Map<string, BootDevice>(
  [...Object.entries(VENDOR_TARGETS), ...Object.entries(TARGETS)].flatMap(([device, targets]) =>
    targets.map((target) => [target, device as BootDevice] as const),
  ),
);

/** The value to send for `device`, considering the values that the BMC lists; undefined if none is suitable. */
export function targetFor(
  device: BootDevice,
  listed: readonly string[] | undefined,
  cdTargets: readonly string[],
): string | undefined {
  const standard = device === "cdrom" ? cdTargets : TARGETS[device];
  if (!listed) return standard[0];
  const candidates = [...standard, ...TARGETS[device], ...(VENDOR_TARGETS[device] ?? [])];
  return candidates.find((target) => listed.includes(target));
}

/** The device of a reported value; `unknown` for the many other values. */
export function deviceOf(target: string): BootDevice | "unknown" {
  return DEVICES.get(target) ?? "unknown";
}

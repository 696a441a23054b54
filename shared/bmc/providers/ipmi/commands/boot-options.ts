import { BmcError } from "../../../../contract/bmc-error.ts";
import type { BootDevice } from "../../../../contract/vocabulary.ts";
import type { BootOverride } from "../../../operations/boot-port.ts";
import { type Command, ipmiCommand, NetFn } from "./command.ts";

const VALID = 0x80;
const PERSISTENT = 0x40;
const EFI = 0x20;
const SELECTOR_MASK = 0x0f;
/** Selector "primary remote media", which some BMCs use for the first UEFI disk. */
export const REMOTE_MEDIA = 0x09;

/** The boot device selectors (IPMI 2.0 table 28-14, parameter 5 data 2) that mean exactly one of our devices. */
const SELECTORS: ReadonlyMap<BootDevice, number> = new Map([
  ["none", 0x00],
  ["pxe", 0x01],
  ["disk", 0x02],
  ["safe", 0x03],
  ["diag", 0x04],
  ["cdrom", 0x05],
  ["bios", 0x06],
  ["floppy", 0x0f],
]);

/** The boot flags, parameter 5. BIOS verbosity, locks and similar flags are left at zero. */
export interface BootFlags {
  readonly valid: boolean;
  readonly persistent: boolean;
  readonly efi: boolean;
  /** 0 to 15. */
  readonly selector: number;
}

/** The selector of a device. Throws `unsupported` for a device that IPMI does not have. */
export function selectorOf(device: BootDevice): number {
  const selector = SELECTORS.get(device);
  if (selector !== undefined) return selector;
  const reason =
    device === "usb"
      ? "its nearest selector, 15, is floppy or primary removable media, and machines differ in what they boot"
      : "there is no selector for it";
  throw new BmcError("unsupported", `IPMI cannot boot from ${device}: ${reason}`);
}

/** Encodes boot flags as five bytes: flags, selector and three zeros. */
export function encodeBootFlags({ valid, persistent, efi, selector }: BootFlags): Buffer {
  const flags = (valid ? VALID : 0) | (persistent ? PERSISTENT : 0) | (efi ? EFI : 0);
  return Buffer.from([flags, selector << 2, 0, 0, 0]);
}

/** Decodes boot flags. Throws `protocol` if the two significant bytes are missing. */
export function decodeBootFlags(bytes: Buffer): BootFlags {
  if (bytes.length < 2) throw new BmcError("protocol", "the boot flags are shorter than two bytes");
  const flags = bytes.readUInt8(0);
  return {
    valid: (flags & VALID) !== 0,
    persistent: (flags & PERSISTENT) !== 0,
    efi: (flags & EFI) !== 0,
    selector: (bytes.readUInt8(1) >> 2) & SELECTOR_MASK,
  };
}

/** The override that boot flags describe. Flags that are not valid mean no override. */
export function overrideOf(flags: BootFlags): BootOverride {
  if (!flags.valid || flags.selector === 0) return { device: "none" };
  const found = [...SELECTORS].find(([, selector]) => selector === flags.selector);
  return {
    device: found?.[0] ?? "unknown",
    persistent: flags.persistent,
    mode: flags.efi ? "uefi" : "legacy",
  };
}

/** The code for "Parameter not supported" (section 28.13). Some BMCs answer with it until the flags are set. */
export const NO_BOOT_FLAGS = 0x80;

/** Get System Boot Options, parameter 5 (section 28.13). */
export const GET_BOOT_FLAGS = ipmiCommand("Get System Boot Options", NetFn.chassis, 0x09, {
  data: Uint8Array.of(0x05, 0x00, 0x00),
  needs: "operator",
});

/** Reads the boot flags from the answer: version, parameter and lock bit, flags. */
export function parseBootFlags(data: Buffer): BootFlags {
  if (data.length < 2 || (data.readUInt8(1) & 0x7f) !== 0x05) {
    throw new BmcError("protocol", "Get System Boot Options: the answer is not about the boot flags");
  }
  const flags = decodeBootFlags(data.subarray(2));
  const locked = (data.readUInt8(1) & 0x80) !== 0;
  return locked ? { ...flags, valid: false } : flags;
}

/** Set System Boot Options, parameter 5 (section 28.12). */
export function setBootFlags(flags: BootFlags): Command {
  return setBootOption(0x05, encodeBootFlags(flags));
}

/**
 * Set System Boot Options, parameter 3, "boot flag valid bit clearing": bit 3 keeps the flags from expiring
 * when no Chassis Control follows within 60 seconds.
 */
export const STOP_BOOT_FLAG_EXPIRY: Command = { ...setBootOption(0x03, Buffer.of(0x08)), prepares: true };

function setBootOption(parameter: number, value: Buffer): Command {
  return ipmiCommand("Set System Boot Options", NetFn.chassis, 0x08, {
    data: Buffer.concat([Buffer.of(parameter), value]),
    needs: "operator",
    effect: "set",
    refusals: {
      128: { class: "unsupported", reason: `the BMC does not have parameter ${parameter}` },
      129: { class: "busy", reason: "another console is setting the boot options" },
      130: { class: "unsupported", reason: `parameter ${parameter} is read-only` },
    },
  });
}

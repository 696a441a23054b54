import * as z from "zod/mini";

/** One way to talk to a BMC. */
export const ProviderName = z.enum(["redfish", "ipmi", "ipmitool", "amt", "rpc", "homeassistant", "ironic"]);
export type ProviderName = z.infer<typeof ProviderName>;

/** What carries out operations: a provider, or `metal3`, with which a worker asks Metal3's operator. No connection names it. */
export const SessionProvider = z.enum([...ProviderName.options, "metal3"]);
export type SessionProvider = z.infer<typeof SessionProvider>;

/** Power as every provider reports it; anything transitional or strange is `unknown`, never `off`. */
export const PowerState = z.enum(["on", "off", "unknown"]);
export type PowerState = z.infer<typeof PowerState>;

/** The devices of a boot override; `none` is no override. */
export const BootDevice = z.enum([
  "none",
  "pxe",
  "disk",
  "bios",
  "cdrom",
  "safe",
  "diag",
  "floppy",
  "usb",
  "uefi-http",
]);
export type BootDevice = z.infer<typeof BootDevice>;

/** How the machine boots. */
export const BootMode = z.enum(["uefi", "legacy"]);
export type BootMode = z.infer<typeof BootMode>;

/** `keep` leaves the machine's boot mode as it is. */
export const BootModeChoice = z.enum(["uefi", "legacy", "keep"]);
export type BootModeChoice = z.infer<typeof BootModeChoice>;

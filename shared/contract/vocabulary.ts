import * as z from "zod/mini";

/** A protocol or program with which a BMC is reached. */
export const ProviderName = z.enum(["redfish", "ipmi", "ipmitool", "amt", "rpc", "homeassistant", "ironic"]);
export type ProviderName = z.infer<typeof ProviderName>;

/** The executor of operations: a provider, or `metal3`, which asks Metal3's operator and never appears in a connection. */
export const SessionProvider = z.enum([...ProviderName.options, "metal3"]);
export type SessionProvider = z.infer<typeof SessionProvider>;

/** The power state of every provider. Transitional and unusual states are `unknown`, never `off`. */
export const PowerState = z.enum(["on", "off", "unknown"]);
export type PowerState = z.infer<typeof PowerState>;

/** The devices of a boot override; `none` means no override. */
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
  "remote-drive",
  "sd-card",
  "utilities",
]);
export type BootDevice = z.infer<typeof BootDevice>;

/** Device names that bmclib, and therefore Rufio, spells differently (bmclib, `bmc/boot_device.go`). */
const BMCLIB_NAMES: Readonly<Record<string, BootDevice>> = {
  uefi_http: "uefi-http",
  remote_drive: "remote-drive",
  sd_card: "sd-card",
};

/** The names of boot devices in Rufio's tasks. */
export const RUFIO_BOOT_DEVICES: readonly string[] = [
  ...BootDevice.options.filter((device) => !Object.values(BMCLIB_NAMES).includes(device)),
  ...Object.keys(BMCLIB_NAMES),
];

/** A boot device in a task of Rufio, which may also have this project's name. */
export const RufioBootDevice = z.pipe(
  z.enum([...RUFIO_BOOT_DEVICES, ...Object.values(BMCLIB_NAMES)]),
  z.transform((name: string) => BMCLIB_NAMES[name] ?? BootDevice.parse(name)),
);

/** How the machine boots. */
export const BootMode = z.enum(["uefi", "legacy"]);
export type BootMode = z.infer<typeof BootMode>;

/** The boot mode to set; `keep` leaves the machine's boot mode unchanged. */
export const BootModeChoice = z.enum(["uefi", "legacy", "keep"]);
export type BootModeChoice = z.infer<typeof BootModeChoice>;

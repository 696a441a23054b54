import * as z from "zod/mini";

/** One way to talk to a BMC. */
export const ProviderName = z.enum(["redfish", "ipmi", "ipmitool", "amt", "rpc", "homeassistant", "ironic"]);
export type ProviderName = z.infer<typeof ProviderName>;

/** What carries out operations: a provider, or `metal3`, which asks Metal3's operator and is never named in a connection. */
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
  "remote-drive",
  "sd-card",
  "utilities",
]);
export type BootDevice = z.infer<typeof BootDevice>;

/** Device names that bmclib, and so Rufio, spells differently (bmclib, `bmc/boot_device.go`). */
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

/** A boot device of one of Rufio's tasks, which may have this project's name, too. */
export const RufioBootDevice = z.pipe(
  z.enum([...RUFIO_BOOT_DEVICES, ...Object.values(BMCLIB_NAMES)]),
  z.transform((name: string) => BMCLIB_NAMES[name] ?? BootDevice.parse(name)),
);

/** How the machine boots. */
export const BootMode = z.enum(["uefi", "legacy"]);
export type BootMode = z.infer<typeof BootMode>;

/** `keep` leaves the machine's boot mode as it is. */
export const BootModeChoice = z.enum(["uefi", "legacy", "keep"]);
export type BootModeChoice = z.infer<typeof BootModeChoice>;

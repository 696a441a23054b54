import type { BootDevice, BootMode, BootModeChoice, PowerState } from "../../contract/vocabulary.ts";

/** A boot override to set. */
export interface BootRequest {
  /** What to boot from; `none` removes the override. */
  readonly device: BootDevice;
  /** True for every boot, false for the next one. */
  readonly persistent: boolean;
  /** `keep` is the connection's `bootMode`. */
  readonly mode: BootModeChoice;
}

/** A boot override as the BMC reports it; a field it does not report is absent. */
export interface BootOverride {
  /** `unknown` if it cannot be read or is none of these. */
  readonly device: BootDevice | "unknown";
  /** False is once. Absent when there is no override, too. */
  readonly persistent?: boolean;
  /** How the machine boots. */
  readonly mode?: BootMode;
  /** The BMC's own word for the device, if it is another one than was asked for, such as `UefiBootNext` or `UsbCd`. */
  readonly shownAs?: string;
}

/** Stages of a boot, in this order. */
export const BOOT_STAGES = ["hardware-ready", "boot-started", "os-running"] as const;
/** A stage of a boot: the firmware has initialized the hardware, has handed over to what it boots, or an operating system runs. */
export type BootStage = (typeof BOOT_STAGES)[number];

/** What to wait for. */
export type BootTarget =
  | {
      /** This stage or a later one. */
      readonly stage: BootStage;
    }
  | {
      /** A code of the firmware, such as `0xad`; see `postCodeOf`. */
      readonly postCode: string;
    };

/** One spelling of each POST code: `0xad` for `AD`, `0x000000AD`; undefined if the text is none. */
export function postCodeOf(text: string): string | undefined {
  const digits = /^(?:0x)?([0-9a-f]{1,32})$/i.exec(text.trim())?.[1]?.toLowerCase();
  return digits && `0x${digits.replace(/^0+/, "").padStart(2, "0")}`;
}

/** The firmware's progress as the BMC reports it. */
export interface BootProgress {
  /** In the BMC's words. */
  readonly state: string;
  /** The last stage that it has passed; absent before the first, and if the state names none. */
  readonly stage?: BootStage;
  /** The POST codes of the latest boot, if they were asked for. */
  readonly postCodes?: readonly string[];
  /** Differs from boot to boot; absent if the BMC tells them apart by nothing. */
  readonly boot?: string;
  /**
   * Whether the state is of a time after the machine's last reset, by the BMC's own clock; absent if the BMC does not give
   * both times.
   */
  readonly isOfThisBoot?: boolean;
}

/** What shows how far a boot has come. A field that the BMC does not report is absent. */
export interface BootSight {
  readonly power: PowerState;
  readonly override?: BootOverride;
  readonly progress?: BootProgress;
}

/** The boot override through one provider, under the same terms as `PowerDriver`. */
export interface BootDriver {
  /** Set where a request succeeds without effect, because the machine has no boot device. */
  readonly ignored?: true;
  /** One-time overrides stay in force, and read as persistent. */
  readonly keepsOverrides?: boolean;
  /** Undefined where it cannot be read back. */
  read(signal: AbortSignal): Promise<BootOverride | undefined>;
  plan(request: BootRequest, signal: AbortSignal): Promise<string>;
  /** May send several forms of the request until the BMC takes one; reads nothing back. */
  write(request: BootRequest, signal: AbortSignal): Promise<void>;
  /** What a user should know of an override that is in force, in one line; undefined if nothing. */
  note?(request: BootRequest, signal: AbortSignal): Promise<string | undefined>;
  /** The task or job in which the last write waits for the machine's next boot; undefined if none does. */
  waiting?(signal: AbortSignal): Promise<string | undefined>;
  /** Power, override and the firmware's progress at one time, where that is less than reading each; POST codes only if asked for. */
  see?(postCodes: boolean, signal: AbortSignal): Promise<BootSight>;
}

export function describeRequest({ device, persistent, mode }: BootRequest): string {
  return describe(device, persistent, mode === "keep" ? undefined : mode);
}

/** For people: `pxe once (uefi)`, `disk persistent`, `none`. */
export function describeOverride({ device, persistent, mode, shownAs }: BootOverride): string {
  return describe(device, persistent, mode) + (shownAs === undefined ? "" : `, shown as ${shownAs}`);
}

function describe(device: string, persistent: boolean | undefined, mode: string | undefined): string {
  if (device === "none") return "none";
  const lasting = persistent === undefined ? "" : persistent ? " persistent" : " once";
  return `${device}${lasting}${mode ? ` (${mode})` : ""}`;
}

import type { BootDevice, BootMode, BootModeChoice, PowerState } from "../../contract/vocabulary.ts";

/** A boot override to set. */
export interface BootRequest {
  /** The device to boot from; `none` removes the override. */
  readonly device: BootDevice;
  /** Whether the override applies to every boot or only to the next one. */
  readonly persistent: boolean;
  /** The boot mode. `keep` is the connection's `bootMode`. */
  readonly mode: BootModeChoice;
}

/** A boot override that the BMC reports. A field that it does not report is absent. */
export interface BootOverride {
  /** The device; `unknown` if it cannot be read or is not one of these. */
  readonly device: BootDevice | "unknown";
  /** False for a one-time override. Also absent if there is no override. */
  readonly persistent?: boolean;
  /** The boot mode of the machine. */
  readonly mode?: BootMode;
  /** The BMC's name of the device if it differs from the requested one, such as `UefiBootNext` or `UsbCd`. */
  readonly shownAs?: string;
}

/** The stages of a boot in order. */
export const BOOT_STAGES = ["hardware-ready", "boot-started", "os-running"] as const;
/** A stage of a boot: the firmware has initialized the hardware, has started what it boots, or an operating system runs. */
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

/** Normalizes a POST code: `0xad` for `AD` and `0x000000AD`. Returns undefined if the text is not a POST code. */
export function postCodeOf(text: string): string | undefined {
  const digits = /^(?:0x)?([0-9a-f]{1,32})$/i.exec(text.trim())?.[1]?.toLowerCase();
  return digits && `0x${digits.replace(/^0+/, "").padStart(2, "0")}`;
}

/** The firmware's progress that the BMC reports. */
export interface BootProgress {
  /** The progress in the BMC's words. */
  readonly state: string;
  /** The last stage that was passed; absent before the first, and if the progress names no stage. */
  readonly stage?: BootStage;
  /** The POST codes of the latest boot, if they were requested. */
  readonly postCodes?: readonly string[];
  /** A value that differs between boots; absent if the BMC has none. */
  readonly boot?: string;
  /**
   * Whether the progress is from after the machine's last reset, by the BMC's own clock; absent if the BMC does not give
   * both times.
   */
  readonly isOfThisBoot?: boolean;
}

/** Facts that show how far a boot has come. A field that the BMC does not report is absent. */
export interface BootSight {
  readonly power: PowerState;
  readonly override?: BootOverride;
  readonly progress?: BootProgress;
}

/** The boot override through one provider, with the same rules as `PowerDriver`. */
export interface BootDriver {
  /** Set if a request succeeds without effect, because the machine has no boot device. */
  readonly ignored?: true;
  /** Whether one-time overrides stay in force and read as persistent. */
  readonly keepsOverrides?: boolean;
  /** Reads the override. Resolves to undefined if it cannot be read back. */
  read(signal: AbortSignal): Promise<BootOverride | undefined>;
  plan(request: BootRequest, signal: AbortSignal): Promise<string>;
  /** Sends the request, possibly in several forms until the BMC accepts one. Reads nothing back. */
  write(request: BootRequest, signal: AbortSignal): Promise<void>;
  /** Returns a note for the user about an override in force, in one line; undefined if there is none. */
  note?(request: BootRequest, signal: AbortSignal): Promise<string | undefined>;
  /** Returns the task or job in which the last write waits for the machine's next boot; undefined if none does. */
  waiting?(signal: AbortSignal): Promise<string | undefined>;
  /**
   * Reads power, override and the firmware's progress together, if that needs fewer requests than separate reads. Reads POST
   * codes only if requested.
   */
  see?(postCodes: boolean, signal: AbortSignal): Promise<BootSight>;
}

export function describeRequest({ device, persistent, mode }: BootRequest): string {
  return describe(device, persistent, mode === "keep" ? undefined : mode);
}

/** Describes an override: `pxe once (uefi)`, `disk persistent`, `none`. */
export function describeOverride({ device, persistent, mode, shownAs }: BootOverride): string {
  return describe(device, persistent, mode) + (shownAs === undefined ? "" : `, shown as ${shownAs}`);
}

function describe(device: string, persistent: boolean | undefined, mode: string | undefined): string {
  if (device === "none") return "none";
  const lasting = persistent === undefined ? "" : persistent ? " persistent" : " once";
  return `${device}${lasting}${mode ? ` (${mode})` : ""}`;
}

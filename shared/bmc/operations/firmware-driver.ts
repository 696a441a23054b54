import type { Unread } from "./unread.ts";

/** A program in the firmware inventory. */
export interface FirmwareItem {
  /** The BMC's name of the program, which is used in `targets`. */
  readonly id: string;
  /** The title of the program. */
  readonly name: string;
  /** Absent if the BMC does not report it. */
  readonly version?: string;
  /** Absent if it is in use, or if the BMC does not say. */
  readonly state?: "standby" | "updating";
  /** Whether the BMC can update it; absent if it does not say. */
  readonly updateable?: boolean;
  /** The paths of the resources to which it belongs. */
  readonly related: readonly string[];
  /** Why it could not be read. Then nothing else is known about it. */
  readonly unread?: string;
}

/** Represents an entry, or a part of the inventory, that could not be read. `id` is its path. */
export function unreadFirmware(id: string, reason: string): FirmwareItem {
  return { id, name: "", related: [], unread: reason };
}

/** The parts of the inventory that could not be read. */
export function unreadFirmwareOf(items: readonly FirmwareItem[]): readonly Unread[] {
  return items.flatMap(({ id, unread }) => (unread === undefined ? [] : [{ name: id, reason: unread }]));
}

/** When an update takes effect. */
export type FirmwareApplyTime = "immediate" | "on-reset";

/** An image: a URI that the BMC fetches, or a file that is uploaded. */
export type FirmwareImage =
  | {
      /** What the BMC fetches. */
      readonly uri: string;
    }
  | {
      /** The file's name. */
      readonly name: string;
      /** Its bytes, which are read while they are sent. */
      readonly content: Blob;
    };

/** What to install, and where. */
export interface FirmwareRequest {
  /** The image to install. */
  readonly image: FirmwareImage;
  /** IDs of the inventory; empty leaves the choice to the BMC. */
  readonly targets: readonly string[];
  /** The BMC decides if absent. */
  readonly applyTime?: FirmwareApplyTime;
  /** What all targets must have afterwards; needs targets. */
  readonly version?: string;
  /** Whether `version` may be older than what a target has, or of another kind. */
  readonly allowDowngrade: boolean;
}

/** What a driver sends. */
export interface FirmwareSend extends Pick<FirmwareRequest, "image" | "applyTime"> {
  /** Listed components to update; empty leaves the choice to the BMC. */
  readonly targets: readonly Pick<FirmwareItem, "id" | "name">[];
}

export interface FirmwareDriver {
  list(signal: AbortSignal): Promise<readonly FirmwareItem[]>;
  /** What `send` would send, in one line for people. Throws `unsupported` where the BMC does not offer it. */
  plan(update: FirmwareSend, signal: AbortSignal): Promise<string>;
  /** Sends the update for `timeoutMs` at most. Resolves when the BMC accepted it: true if it keeps the image for a reset. */
  send(update: FirmwareSend, timeoutMs: number, signal: AbortSignal): Promise<boolean>;
}

export type FirmwareDrivers = { readonly firmware: FirmwareDriver };

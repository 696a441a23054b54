import * as z from "zod/mini";
import { defined } from "../../../../defined.ts";
import { imageSpellings, parseImageAddress, withoutCredentials } from "../../../operations/image-address.ts";
import type { ListedMediaDrive, MediaDrive, MediaImage, MediaState } from "../../../operations/media.ts";
import { ListedAction } from "../resources/action-parameters.ts";
import type { Behaviour } from "../service/behaviour-quirks.ts";
import { lenient, Values } from "../service/schema.ts";
import type { Resource } from "../service/service.ts";
import type { ExtraParameter, InsertForm } from "./media-refusal.ts";

/** A VirtualMedia resource (DSP0268): one virtual drive. */
export const VirtualMedia = z.object({
  "@odata.etag": lenient(z.string()),
  Id: lenient(z.string()),
  MediaTypes: lenient(Values),
  Image: lenient(z.string()),
  Inserted: lenient(z.boolean()),
  ConnectedVia: lenient(z.string()),
  WriteProtected: lenient(z.boolean()),
  /** A drive that is written directly accepts credentials if it has fields for them, usually with null. */
  UserName: z.optional(z.unknown()),
  Actions: lenient(
    z.object({
      "#VirtualMedia.InsertMedia": lenient(ListedAction),
      "#VirtualMedia.EjectMedia": lenient(ListedAction),
    }),
  ),
});
export type VirtualMedia = z.infer<typeof VirtualMedia>;

export type Slot = Resource<VirtualMedia>;

const DISC = /^(cd|dvd)$/i;
const STICK = /^usb ?stick$/i;

/** Whether the drive accepts the type. A drive that does not say is tried with a CD, and with a USB stick if it was named. */
export function takes({ value }: Slot, { name, type = "cd" }: MediaDrive): boolean {
  const kind = type === "usb" ? STICK : DISC;
  return value.MediaTypes?.some((known) => kind.test(known)) ?? (type === "cd" || name !== undefined);
}

/** Whether it accepts USB sticks but no CDs. */
export function takesOnlySticks(slot: Slot): boolean {
  return takes(slot, { type: "usb" }) && !takes(slot, { type: "cd" });
}

export function nameOf({ path, value }: Slot): string {
  return value.Id?.trim() || (path.replace(/\/+$/, "").split("/").pop() ?? path);
}

export function isNamed(slot: Slot, name: string): boolean {
  return nameOf(slot).toLowerCase() === name.toLowerCase() || slot.path === name;
}

type EmptySlot = Pick<Behaviour, "emptySlot">;

export function mediaState(slot: Slot, { emptySlot }: EmptySlot, drive: MediaDrive = {}): MediaState {
  const { value } = slot;
  const isChosen = drive.name !== undefined || drive.type === "usb";
  const chosen = isChosen ? { drive: nameOf(slot) } : {};
  // MegaRAC shows "None" as the image of an empty drive.
  const shown = value.Image?.trim().replace(/^none$/i, "");
  const image = shown ? withoutCredentials(shown) : undefined;
  const isConnected = value.ConnectedVia !== "NotConnected";
  const isEmpty = value.Inserted === false || (emptySlot === "not-connected" && !isConnected);
  if (isEmpty || !(value.Inserted ?? image !== undefined)) return { inserted: false, ...chosen };
  const writeProtected = isChosen ? value.WriteProtected : undefined;
  const lost = isConnected ? {} : { connected: false as const };
  return { inserted: true, ...defined({ image, writeProtected }), ...chosen, ...lost };
}

export function listedDrive(slot: Slot, behaviour: EmptySlot): ListedMediaDrive {
  const { inserted, image } = mediaState(slot, behaviour);
  const { MediaTypes: types = [], ConnectedVia: connectedVia, WriteProtected } = slot.value;
  const writeProtected = inserted ? WriteProtected : undefined;
  return { name: nameOf(slot), types, inserted, ...defined({ image, connectedVia, writeProtected }) };
}

type Parameter = readonly [string, unknown];

interface FormOptions {
  /** The first form in which to write an image on a share. */
  readonly wanted: "uri" | "share";
  /** Parameters that the BMC requested. */
  readonly extras?: readonly ExtraParameter[];
  /** The types that the drive lists. */
  readonly types?: readonly string[];
}

/** Name and password for a BMC that requires them although the image server does not. */
const ANYBODY = "none";

/** The type of the image in the drive's own spelling (DSP0268, VirtualMedia.MediaType). */
function mediaTypeFor({ drive }: MediaImage, types: readonly string[]): string {
  const kind = drive?.type === "usb" ? STICK : DISC;
  return types.find((type) => kind.test(type)) ?? (drive?.type === "usb" ? "USBStick" : "CD");
}

/**
 * The bodies of an InsertMedia request. The schema requires only `Image`; BMCs differ in what else they require, in what
 * they refuse, and in the form of a share. Each body has one more optional parameter than the previous one. Credentials,
 * write access and requested parameters are in all of them.
 */
export function insertForms(
  image: MediaImage,
  { wanted, extras = [], types = [] }: FormOptions,
): readonly InsertForm[] {
  const { url, credentials, writable = false } = image;
  const protocol = transferProtocol(url);
  const isShare = protocol === "NFS" || protocol === "CIFS";
  const always: readonly Parameter[] = [
    ...(credentials
      ? [["UserName", credentials.username] as const, ["Password", credentials.password] as const]
      : []),
    ...(writable ? [["WriteProtected", false] as const] : []),
    ...extras.map((name) => [name, name === "MediaType" ? mediaTypeFor(image, types) : ANYBODY] as const),
  ];
  const transfer: Parameter = ["TransferProtocolType", protocol];
  const protect: readonly Parameter[] = writable ? [] : [["WriteProtected", true]];
  // A host with a path contains no protocol, and not every BMC protects a USB stick without being asked.
  const first = [...(isShare ? [transfer] : []), ...(image.drive?.type === "usb" ? protect : [])];
  const order: readonly Parameter[] = [
    ["Inserted", true],
    ...protect,
    transfer,
    ["TransferMethod", "Stream"],
  ];
  const rest = order.filter(([name]) => !first.some(([other]) => other === name));
  const prefixes = (least: number, parameters: readonly Parameter[]) =>
    Array.from({ length: parameters.length - least + 1 }, (_, more) => parameters.slice(0, least + more));
  const optional = [
    ...prefixes(first.length, [...first, ...rest]),
    ...(first.length > 0 ? prefixes(0, rest) : []),
  ];
  return imageSpellings(url, wanted).flatMap((spelling) =>
    optional.map((parameters) => Object.fromEntries([["Image", spelling], ...always, ...parameters])),
  );
}

/** DSP0268, VirtualMedia.TransferProtocolType. */
export function transferProtocol(url: string): string {
  const scheme = parseImageAddress(url)?.protocol ?? /^([a-z][a-z0-9+.-]*):/i.exec(url)?.[1] ?? "http";
  return scheme.toUpperCase();
}

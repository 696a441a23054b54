import * as z from "zod/mini";
import type { MediaState } from "../../../operations/media.ts";
import type { Behaviour } from "../service/behaviour-quirks.ts";
import { lenient, Values } from "../service/schema.ts";
import type { Resource } from "../service/service.ts";
import type { InsertForm } from "./media-refusal.ts";

const Action = lenient(z.object({ target: lenient(z.string()) }));

/** A VirtualMedia resource (DSP0268): one virtual drive. */
export const VirtualMedia = z.object({
  "@odata.etag": lenient(z.string()),
  MediaTypes: lenient(Values),
  Image: lenient(z.string()),
  Inserted: lenient(z.boolean()),
  ConnectedVia: lenient(z.string()),
  Actions: lenient(z.object({ "#VirtualMedia.InsertMedia": Action, "#VirtualMedia.EjectMedia": Action })),
});
export type VirtualMedia = z.infer<typeof VirtualMedia>;

export type Slot = Resource<VirtualMedia>;

/** Whether the drive takes a CD or DVD; one that does not say is tried. */
export function takesDisc({ value }: Slot): boolean {
  return value.MediaTypes?.some((type) => /^(cd|dvd)$/i.test(type)) ?? true;
}

export function mediaState({ value }: Slot, { emptySlot }: Pick<Behaviour, "emptySlot">): MediaState {
  const image = value.Image?.trim() || undefined;
  const isEmpty =
    value.Inserted === false || (emptySlot === "not-connected" && value.ConnectedVia === "NotConnected");
  if (isEmpty || !(value.Inserted ?? image !== undefined)) return { inserted: false };
  return image === undefined ? { inserted: true } : { inserted: true, image };
}

/**
 * The bodies of an InsertMedia request, each with one parameter more than the one before: `Image` is all that the
 * schema requires, and BMCs differ in what they require beside it and in what they refuse.
 */
export function insertForms(url: string): readonly InsertForm[] {
  const parameters: readonly (readonly [string, unknown])[] = [
    ["Image", url],
    ["Inserted", true],
    ["WriteProtected", true],
    ["TransferProtocolType", transferProtocol(url)],
    ["TransferMethod", "Stream"],
  ];
  return parameters.map((_, index) => Object.fromEntries(parameters.slice(0, index + 1)));
}

/** DSP0268, VirtualMedia.TransferProtocolType: the scheme in upper case. */
function transferProtocol(url: string): string {
  return (/^([a-z][a-z0-9+.-]*):/i.exec(url)?.[1] ?? "http").toUpperCase();
}

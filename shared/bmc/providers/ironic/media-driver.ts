import * as z from "zod/mini";
import { BmcError } from "../../../contract/bmc-error.ts";
import { defined } from "../../../defined.ts";
import {
  type MediaDrive,
  type MediaDriver,
  type MediaImage,
  refuseBeyondUrls,
} from "../../operations/media.ts";
import { describeRequest, type IronicRequest } from "./api.ts";
import type { IronicNode } from "./node.ts";
import { orUndefined } from "./optional-reading.ts";

const ATTACH_MINOR = 89;
const READ_MINOR = 93;

const Drives = z.array(
  z.object({
    media_types: z._default(z.array(z.string()), []),
    inserted: z.optional(z.nullable(z.boolean())),
    image: z.optional(z.nullable(z.string())),
  }),
);

/**
 * Virtual media: the BMC's drive for CDs or for USB sticks. Ironic is asked to leave the image in its place, but Ironic 39
 * loads and serves it itself anyway (ironic/conductor/rpcapi.py, `attach_virtual_media`).
 */
export function ironicMedia(node: IronicNode): MediaDriver {
  const path = node.path("/vmedia");
  /** The image that this session inserted. The drive may show it with another URL. */
  let own: string | undefined;

  function request(image: MediaImage | undefined, drive = image?.drive): IronicRequest {
    node.api.require(ATTACH_MINOR, "virtual media");
    refuseBeyondUrls("Ironic", image ?? (drive ? { drive } : {}));
    const device = drive?.type === "usb" ? "disk" : "cdrom";
    if (!image) return { method: "DELETE", path, query: `device_types=${device}` };
    const body = { device_type: device, image_url: image.url, image_download_source: "http" };
    return { method: "POST", path, body };
  }

  async function change(
    image: MediaImage | undefined,
    signal: AbortSignal,
    from?: MediaDrive,
  ): Promise<void> {
    const asked = request(image, image ? image.drive : from);
    await node.permit(signal);
    own = undefined;
    await node.change(asked, signal);
    own = image?.url;
  }

  return {
    async read(signal, chosen = {}) {
      refuseBeyondUrls("Ironic", { drive: chosen });
      node.api.require(ATTACH_MINOR, "virtual media");
      if (node.api.minor < READ_MINOR) return undefined;
      const answer = await orUndefined(node.api.call({ method: "GET", path }, signal));
      if (answer === undefined) return undefined;
      const parsed = Drives.safeParse(answer);
      if (!parsed.success) throw new BmcError("protocol", `GET /v1${path} did not return drives`);
      const drives = parsed.data.filter(({ media_types: types }) =>
        types.some((type) => (chosen.type === "usb" ? /usb/i : /cd|dvd/i).test(type)),
      );
      const drive = drives.find(({ inserted }) => inserted) ?? drives[0];
      if (!drive) return undefined;
      const isServed = own !== undefined && drive.image !== own;
      const image = isServed ? undefined : drive.image || undefined;
      return { inserted: drive.inserted ?? false, ...defined({ image }) };
    },
    check: async (image) => void request(image),
    async plan(image, signal, drive) {
      const asked = request(image, image ? image.drive : drive);
      await node.permit(signal);
      return describeRequest(asked);
    },
    insert: (image, signal) => change(image, signal),
    eject: (signal, drive) => change(undefined, signal, drive),
  };
}

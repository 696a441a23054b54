import { z } from "zod";
import { type Answer, methodNotAllowed, noContent, notFound, ok, refusal } from "./answer.ts";
import { checkIfMatch, withTag } from "./etag.ts";
import type { RedfishProfile } from "./profiles.ts";
import { collection, type ResourceRequest, type ResourceService } from "./resource-service.ts";

/** The current state of a virtual drive. */
export interface SimulatedSlot {
  readonly id: string;
  readonly types: readonly string[];
  image: string | null;
  inserted: boolean;
  writeProtected: boolean;
  /** The credentials for the image server. */
  credentials: { readonly username: string | undefined; readonly password: string | undefined };
}

const Login = { UserName: z.string().optional(), Password: z.string().optional() };
const Insert = z.strictObject({
  Image: z.string(),
  ...Login,
  Inserted: z.boolean().optional(),
  WriteProtected: z.boolean().optional(),
  TransferProtocolType: z.enum(["HTTP", "HTTPS", "NFS", "CIFS", "FTP"]).optional(),
  TransferMethod: z.enum(["Stream", "Upload"]).optional(),
});
const Patch = z.strictObject({
  Image: z.string().nullable(),
  ...Login,
  Inserted: z.boolean().optional(),
  WriteProtected: z.boolean().optional(),
  TransferProtocolType: z.string().optional(),
  TransferMethod: z.string().optional(),
});

/** The virtual drives of a resource, in this vendor's form. */
export class VirtualDrives implements ResourceService {
  readonly path: string;
  readonly slots: SimulatedSlot[];
  /** The number of insertions that are still refused after an ejection, because the old image counts as attached. */
  stale = 0;
  readonly #profile: RedfishProfile;

  constructor(owner: string, profile: RedfishProfile) {
    this.path = `${owner}/${profile.media.name}`;
    this.#profile = profile;
    this.slots = profile.media.slots.map(({ id, types }) => ({
      id,
      types,
      image: null,
      inserted: false,
      writeProtected: true,
      credentials: { username: undefined, password: undefined },
    }));
  }

  answer({ method, path, body, ifMatch }: ResourceRequest): Answer | undefined {
    if (path !== this.path && !path.startsWith(`${this.path}/`)) return undefined;
    const slots = this.slots.map(({ id }) => `${this.path}/${id}`);
    if (path === this.path) return ok(collection(path, "VirtualMedia", slots));
    const slot = this.slots.find(
      ({ id }) => path === `${this.path}/${id}` || path.startsWith(`${this.path}/${id}/`),
    );
    if (!slot) return notFound(path);
    const own = `${this.path}/${slot.id}`;
    const resource = this.#resource(own, slot);
    if (path === own && method === "GET") return withTag(resource, this.#profile);
    const { media } = this.#profile;
    if (path === own && method === "PATCH" && !media.actions) {
      return checkIfMatch(ifMatch, resource, this.#profile) ?? this.#patch(slot, body);
    }
    if (path === own) return methodNotAllowed(method);
    if (media.actions && method === "POST" && path.endsWith(".InsertMedia")) return this.#insert(slot, body);
    if (media.actions && method === "POST" && path.endsWith(".EjectMedia")) return this.#eject(slot);
    return notFound(path);
  }

  #resource(path: string, slot: SimulatedSlot): Record<string, unknown> {
    const { media } = this.#profile;
    const action = (name: string) => ({ target: `${path}/Actions/VirtualMedia.${name}` });
    return {
      "@odata.id": path,
      "@odata.type": "#VirtualMedia.v1_3_2.VirtualMedia",
      Id: slot.id,
      Name: "Virtual Removable Media",
      ...(slot.types.length > 0 && { MediaTypes: slot.types }),
      Image: slot.image,
      ...(media.showsInserted ? { Inserted: slot.inserted } : {}),
      ConnectedVia: slot.inserted ? "URI" : "NotConnected",
      WriteProtected: slot.writeProtected,
      UserName: slot.credentials.username ?? null,
      Password: null,
      ...(media.actions
        ? {
            Actions: {
              "#VirtualMedia.InsertMedia": {
                ...action("InsertMedia"),
                ...(media.protocols
                  ? { "TransferProtocolType@Redfish.AllowableValues": media.protocols }
                  : {}),
              },
              "#VirtualMedia.EjectMedia": action("EjectMedia"),
            },
          }
        : {}),
    };
  }

  #insert(slot: SimulatedSlot, body: unknown): Answer {
    const parsed = Insert.safeParse(body);
    const { media } = this.#profile;
    if (!parsed.success) {
      return refusal(400, "Base.1.8.ActionParameterUnknown", "The action does not know a parameter.");
    }
    const given: Readonly<Record<string, unknown>> = parsed.data;
    const missing = media.requires?.find((name) => given[name] === undefined);
    if (missing !== undefined) {
      const message = `The action requires that the parameter ${missing} be present in the request body.`;
      return refusal(400, "Base.1.8.ActionParameterMissing", message);
    }
    if (media.refusesSlots?.includes(slot.id)) return methodNotAllowed("POST");
    if (slot.inserted || this.stale > 0) {
      this.stale = Math.max(0, this.stale - 1);
      const message = "Virtual Media is detached or Virtual Media redirection is already in use.";
      return refusal(500, "IDRAC.2.8.VRM0021", message);
    }
    const wrong = this.#wrongImage(parsed.data);
    if (wrong) return wrong;
    fill(slot, parsed.data);
    slot.inserted = parsed.data.Inserted ?? true;
    return noContent;
  }

  #eject(slot: SimulatedSlot): Answer {
    const { media } = this.#profile;
    if (!slot.inserted) {
      return refusal(500, "IDRAC.2.8.VRM0009", "No Virtual Media devices are currently connected.");
    }
    slot.inserted = false;
    if (!media.keepsImage) slot.image = null;
    this.stale = media.staleInserts ?? 0;
    return noContent;
  }

  #patch(slot: SimulatedSlot, body: unknown): Answer {
    const parsed = Patch.safeParse(body);
    if (!parsed.success) return refusal(400, "Base.1.8.PropertyUnknown", "A property is not known.");
    const wrong = this.#wrongImage(parsed.data);
    if (wrong) return wrong;
    fill(slot, parsed.data);
    slot.inserted = parsed.data.Image !== null && (parsed.data.Inserted ?? false);
    return noContent;
  }

  /**
   * Refuses an image in the wrong form. The profile determines how a share is written; a host and a path do not name their
   * protocol.
   */
  #wrongImage({ Image: image, TransferProtocolType: protocol }: Given): Answer | undefined {
    if (image === null || /^https?:/i.test(image)) return undefined;
    const isUri = /^(nfs|cifs|smb):\/\//i.test(image);
    if (isUri !== (this.#profile.media.imageShares === "uri")) {
      return refusal(
        400,
        "Base.1.8.ActionParameterValueFormatError",
        `The value ${image} of Image has another format.`,
      );
    }
    if (isUri || protocol === (image.startsWith("//") ? "CIFS" : "NFS")) return undefined;
    const message =
      "The action requires that the parameter TransferProtocolType be present in the request body.";
    return refusal(400, "Base.1.8.ActionParameterMissing", message);
  }
}

type Given = z.infer<typeof Patch>;

function fill(slot: SimulatedSlot, { Image, WriteProtected, UserName, Password }: Given): void {
  slot.image = Image;
  slot.writeProtected = WriteProtected ?? true;
  slot.credentials = { username: UserName, password: Password };
}

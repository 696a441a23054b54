import * as z from "zod/mini";
import { Link, lenient } from "../service/schema.ts";
import type { Resource, Service } from "../service/service.ts";
import type { Resources } from "./resources.ts";
import type { WriteRequest } from "./writer.ts";

/** A resource's reference to its settings resource. */
export const SettingsLink = lenient(z.object({ SettingsObject: lenient(Link) }));

/** A resource that accepts properties, with its latest content. */
interface SettingsPlace {
  readonly path: string;
  readonly etag: string | undefined;
}

/** A PATCH, and its target if the settings resource refuses it. */
export interface SettingsWrite {
  readonly request: WriteRequest;
  readonly own: SettingsPlace;
}

/** A resource with its reference to its settings resource, if any. */
export type Described = Resource<{ readonly "@Redfish.Settings"?: z.infer<typeof SettingsLink> }>;

/** The settings resource of a resource. If the reference lacks its path, it is below the resource. */
export function settingsPathOf(
  service: Service,
  { path, value }: Pick<Described, "path" | "value">,
): string | undefined {
  const settings = value["@Redfish.Settings"];
  if (!settings) return undefined;
  const link = settings.SettingsObject?.["@odata.id"];
  return link === undefined ? `${path.replace(/\/$/, "")}${SETTINGS}` : service.localPath(link);
}

/** The usual path of a settings resource (DSP0266 section 9.10). */
export const SETTINGS = "/Settings";

const AnyResource = z.record(z.string(), z.unknown());

/**
 * Builds the PATCH of `body`. It goes to the settings resource if that contains every property, and therefore the next
 * values (DSP0266 section 9.10), otherwise to the resource itself. Costs a request only if there is a reference.
 */
export async function settingsWrite(
  service: Service,
  { path, etag, value }: Described,
  body: object,
  signal: AbortSignal,
): Promise<SettingsWrite> {
  const own = { path, etag };
  const settings = settingsPathOf(service, { path, value });
  const found = settings === undefined ? undefined : await service.find(settings, AnyResource, signal);
  const place = found && holdsAll(found.value, body) ? found : own;
  return { request: { method: "PATCH", path: place.path, body, etag: place.etag }, own };
}

/** Sends the PATCH. If a settings resource refuses it, it is sent to the resource itself, whose answer counts. */
export async function writeSettings(
  { system: { service }, writer }: Pick<Resources, "system" | "writer">,
  { request, own }: SettingsWrite,
  signal: AbortSignal,
): Promise<void> {
  if (request.path === own.path) {
    await writer.write(request, signal);
    return;
  }
  const answer = await writer.attempt(request, signal);
  if (answer.status < 300) return;
  const refused = service.refusal(answer, request);
  if (![400, 404, 405, 422, 501].includes(answer.status) || refused.class === "busy") throw refused;
  await writer.write({ ...request, ...own }, signal);
}

function holdsAll(held: unknown, asked: object): boolean {
  return Object.entries(asked).every(([name, value]) => {
    const has = Object(held)[name];
    if (has === undefined) return false;
    return typeof value === "object" && value !== null && !Array.isArray(value) ? holdsAll(has, value) : true;
  });
}

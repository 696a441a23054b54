import * as z from "zod/mini";
import { Link, lenient } from "../service/schema.ts";
import type { Resource, Service } from "../service/service.ts";
import type { Resources } from "./resources.ts";
import type { WriteRequest } from "./writer.ts";

/** What a resource says of its settings resource. */
export const SettingsLink = lenient(z.object({ SettingsObject: lenient(Link) }));

/** A resource that takes properties, as it was just read. */
interface SettingsPlace {
  readonly path: string;
  readonly etag: string | undefined;
}

/** A PATCH, and where it goes if the settings resource refuses it. */
export interface SettingsWrite {
  readonly request: WriteRequest;
  readonly own: SettingsPlace;
}

/** A resource with its reference to its settings resource, if any. */
export type Described = Resource<{ readonly "@Redfish.Settings"?: z.infer<typeof SettingsLink> }>;

/** The settings resource that a resource refers to; below the resource where the reference lacks its path. */
export function settingsPathOf(
  service: Service,
  { path, value }: Pick<Described, "path" | "value">,
): string | undefined {
  const settings = value["@Redfish.Settings"];
  if (!settings) return undefined;
  const link = settings.SettingsObject?.["@odata.id"];
  return link === undefined ? `${path.replace(/\/$/, "")}${SETTINGS}` : service.localPath(link);
}

/** Where services keep the settings of a resource (DSP0266 section 9.10). */
export const SETTINGS = "/Settings";

const AnyResource = z.record(z.string(), z.unknown());

/**
 * The PATCH of `body`: to what `@Redfish.Settings` of the resource refers to if that holds every property of it, and so what is in
 * force next (DSP0266 section 9.10), else to the resource itself. Costs a request only where there is such a reference.
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

/** Sends it: what a settings resource refuses goes to the resource itself, which then decides. */
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

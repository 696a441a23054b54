import type * as z from "zod/mini";
import type { Resource } from "../service/service.ts";
import type { ManagedSystem } from "./system.ts";

/** As many chassis of the system are looked at. */
export const MOST_CHASSIS = 4;

/** The chassis that the system is in, one request each. */
export async function* chassisOf<Schema extends z.ZodMiniType>(
  { service, last }: ManagedSystem,
  schema: Schema,
  signal: AbortSignal,
): AsyncGenerator<Resource<z.output<Schema>>> {
  for (const link of (last.value.Links?.Chassis ?? []).slice(0, MOST_CHASSIS)) {
    const path = service.localPath(link["@odata.id"]);
    const found = path === undefined ? undefined : await service.find(path, schema, signal);
    if (found) yield found;
  }
}

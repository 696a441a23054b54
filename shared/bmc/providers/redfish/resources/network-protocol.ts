import type * as z from "zod/mini";
import type { Resource } from "../service/service.ts";
import type { Resources } from "./resources.ts";

/** The ManagerNetworkProtocol (DSP0268) of the manager; undefined if it has none. */
export async function findNetworkProtocol<T extends z.ZodMiniType>(
  { system: { service }, manager }: Pick<Resources, "system" | "manager">,
  schema: T,
  signal: AbortSignal,
): Promise<Resource<z.infer<T>> | undefined> {
  // Nearly every service uses this name, so guessing it saves reading the manager.
  const guess = manager.path === undefined ? undefined : `${manager.path}/NetworkProtocol`;
  const found = guess === undefined ? undefined : await service.find(guess, schema, signal);
  if (found) return found;
  const link = (await manager.seen(signal)).value.NetworkProtocol?.["@odata.id"];
  const path = service.localPath(link);
  return path === undefined || path === guess ? undefined : await service.find(path, schema, signal);
}

import * as z from "zod/mini";
import { BmcError } from "../../../../contract/bmc-error.ts";
import { defined } from "../../../../defined.ts";
import type { BootOption, BootOrderDriver } from "../../../operations/bootorder.ts";
import type { Unread } from "../../../operations/unread.ts";
import type { Resources } from "../resources/resources.ts";
import { describeWrite, type WriteRequest } from "../resources/writer.ts";
import { lenient } from "../service/schema.ts";
import { bootPlace, writeBootField } from "./boot-place.ts";

/** The maximum number of options to read; machines with many network ports have dozens. */
const MOST_OPTIONS = 256;

/** BootOption (DSP0268). */
const BootOptionResource = z.object({
  BootOptionReference: lenient(z.string()),
  DisplayName: lenient(z.string()),
});

interface Titles {
  readonly named: ReadonlyMap<string, string>;
  readonly unread: readonly Unread[];
}

/** `Boot.BootOrder` of the system, with the titles of `Boot.BootOptions` (DSP0268, ComputerSystem 1.5). */
export function redfishBootOrder(resources: Resources): BootOrderDriver {
  const { system, members } = resources;
  const find = async (signal: AbortSignal) => {
    const place = await bootPlace(system, (boot) => boot.BootOrder !== undefined, signal);
    if (!place) throw new BmcError("unsupported", "the BMC offers no boot order");
    return { ...place, order: place.boot.BootOrder ?? [] };
  };
  const titles = async (signal: AbortSignal): Promise<Titles> => {
    const path = system.service.localPath(system.last.value.Boot?.BootOptions?.["@odata.id"]);
    if (path === undefined) return { named: new Map(), unread: [] };
    const unread: Unread[] = [];
    const limits = {
      members: MOST_OPTIONS,
      requests: { left: MOST_OPTIONS },
      unread: (gap: Unread) => unread.push(gap),
    };
    const options = (await members.read(path, BootOptionResource, signal, limits)) ?? [];
    const named = new Map<string, string>();
    for (const { path: name, value } of options) {
      const { BootOptionReference: id, DisplayName: title } = value;
      if (id === undefined) unread.push({ name, reason: "it has no BootOptionReference" });
      else if (title !== undefined) named.set(id, title);
    }
    return { named, unread };
  };
  const request = async (ids: readonly string[], signal: AbortSignal): Promise<WriteRequest> => {
    const { path, etag } = await find(signal);
    return { method: "PATCH", path, body: { Boot: { BootOrder: ids } }, etag };
  };
  let known: Titles | undefined;
  return {
    async read(signal) {
      const { order } = await find(signal);
      const { named, unread } = known ?? (await titles(signal));
      if (unread.length === 0) known = { named, unread };
      return order.map((id): BootOption => {
        // NVIDIA's Vera Rubin lists "Boot0019: Ubuntu", while its options have the bare reference.
        const name = named.get(id) ?? named.get(id.replace(/:.*$/s, ""));
        return name === undefined ? { id, ...defined({ unread: unread[0]?.reason }) } : { id, name };
      });
    },
    plan: async (ids, signal) => describeWrite(await request(ids, signal)),
    async write(ids, signal) {
      await writeBootField(resources, await find(signal), { BootOrder: ids }, signal);
    },
  };
}

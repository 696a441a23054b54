import * as z from "zod/mini";
import type { HostAccess } from "../../core/ports/runtime.ts";
import type { Cluster } from "../../kubernetes/client/cluster.ts";
import { KINDS, keyOf } from "../../kubernetes/client/kinds.ts";
import type { HostContent } from "./described-host.ts";
import type { Described } from "./described-machine.ts";

/** Runs work with the connection of a source. Rejects with a `KubernetesError` if the source is not connected. */
export type UseSource = <T>(work: (cluster: Cluster) => Promise<T>) => Promise<T>;

/** Gives access to a host through the connection of its source. */
export function hostAccess(
  source: string,
  { name, content }: Described<HostContent>,
  use: UseSource,
): HostAccess {
  return {
    key: `${source}/${keyOf(name)}`,
    reboots: content.reboots ?? {},
    get: (signal) => use((cluster) => cluster.get(KINDS.bareMetalHost, name, z.unknown(), signal)),
    async patch(body, signal) {
      const options = { type: "merge", body } as const;
      await use((cluster) => cluster.patch(KINDS.bareMetalHost, name, options, z.unknown(), signal));
    },
  };
}

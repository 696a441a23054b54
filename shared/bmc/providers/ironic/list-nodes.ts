import * as z from "zod/mini";
import { systemClock } from "../../../clock.ts";
import { BmcError } from "../../../contract/bmc-error.ts";
import type { Connection } from "../../../contract/connection.ts";
import { silentLogger } from "../../../logger.ts";
import { openApi } from "./open-api.ts";

const MOST_NODES = 50_000;

const Listed = z.object({
  uuid: z.string().check(z.regex(/^[A-Za-z0-9._~-]{1,255}$/)),
  name: z.optional(z.nullable(z.string())),
});
const Page = z.object({ nodes: z.array(Listed), next: z.optional(z.string()) });

/** A node as Ironic lists it. */
export type ListedNode = z.infer<typeof Listed>;

/** All nodes that the user may see. */
export async function listNodes(connection: Connection, signal: AbortSignal): Promise<readonly ListedNode[]> {
  const { api, http } = openApi(connection, { clock: systemClock, log: silentLogger });
  const nodes: ListedNode[] = [];
  try {
    for (;;) {
      // The link to the next page may name another host; only its marker is needed.
      const marker = nodes.at(-1)?.uuid;
      const query = marker === undefined ? "fields=uuid,name" : `fields=uuid,name&marker=${marker}`;
      const parsed = Page.safeParse(await api.call({ method: "GET", path: "/nodes", query }, signal));
      if (!parsed.success) throw new BmcError("protocol", "GET /v1/nodes did not return nodes");
      nodes.push(...parsed.data.nodes);
      if (parsed.data.next === undefined || parsed.data.nodes.length === 0) return nodes;
      if (nodes.length > MOST_NODES)
        throw new BmcError("protocol", `GET /v1/nodes lists over ${MOST_NODES} nodes`);
    }
  } finally {
    await http.close();
  }
}

import { raceAbort } from "../../../shared/race-abort.ts";
import type { SourceAccess } from "./inventory-source.ts";
import type { SourceCluster } from "./source-connection.ts";

/** A connection that never changes and that the source does not own. */
export function ownAccess(cluster: SourceCluster): SourceAccess {
  return {
    async run(use, signal) {
      use({ cluster, close: async () => undefined });
      await raceAbort(new Promise<never>(() => undefined), signal).catch(() => undefined);
    },
    problem: () => undefined,
  };
}

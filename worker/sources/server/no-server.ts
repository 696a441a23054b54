import { raceAbort } from "../../../shared/race-abort.ts";
import type { Transport } from "../../core/ports/source.ts";

/** In place of a tink server that is not configured. An earlier worker may have left actions to report. */
export const noServer: Transport = {
  servesSeveral: () => false,
  next: async (_agentId, signal) => raceAbort(new Promise<never>(() => undefined), signal),
  report: async () => ({ kind: "retry", code: "Unavailable", reason: "no tink server is configured" }),
  close: async () => undefined,
};

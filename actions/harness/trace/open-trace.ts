import { ACTION_TRACES, tracesEndpoint } from "../../../shared/tracing/variables.ts";
import type { ActionTrace, TraceStart } from "./action-trace.ts";

/** Opens a trace. Returns undefined if no traces are requested; then no code is loaded. */
export async function openTrace(start: TraceStart): Promise<ActionTrace | undefined> {
  if (!start.env[ACTION_TRACES] && tracesEndpoint(start.env) === undefined) return undefined;
  const { openActionTrace } = await import("./action-trace.ts");
  return openActionTrace(start);
}

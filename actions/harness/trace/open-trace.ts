import { ACTION_TRACES, type Environment, tracesEndpoint } from "../../../shared/tracing/variables.ts";
import type { ActionTrace } from "./action-trace.ts";

/** What a trace of an action begins with. */
export interface TraceStart {
  readonly action: string;
  readonly env: Environment;
  /** When the action began, milliseconds since the epoch; now where nothing is said. */
  readonly startedMs?: number;
  /** Takes what goes to stdout, with its line end. */
  readonly write: (text: string) => Promise<void>;
}

/** Undefined where nobody asked for traces: then nothing of them is loaded. */
export async function openTrace(start: TraceStart): Promise<ActionTrace | undefined> {
  if (!start.env[ACTION_TRACES] && tracesEndpoint(start.env) === undefined) return undefined;
  const { openActionTrace } = await import("./action-trace.ts");
  return openActionTrace(start);
}

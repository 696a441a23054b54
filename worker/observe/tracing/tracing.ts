import type { Clock } from "../../../shared/clock.ts";
import type { Logger } from "../../../shared/logger.ts";
import { textOf } from "../../../shared/text-of.ts";
import type { Environment } from "../../../shared/tracing/variables.ts";
import type { Observer, SeenAction } from "../../action/observer.ts";
import type { ActionTraces } from "./action-traces.ts";
import type { SpanExport } from "./span-export.ts";
import { type TraceSettings, traceSettings } from "./trace-settings.ts";

export interface TracingParts {
  readonly log: Logger;
  readonly clock: Clock;
}

/** Undefined where OpenTelemetry's variables ask for no traces, or for what is not offered, which is said. */
export function openTracing(env: Environment, parts: TracingParts): Tracing | undefined {
  const choice = traceSettings(env);
  switch (choice.kind) {
    case "off":
      return undefined;
    case "refused":
      parts.log.warn({ reason: choice.reason }, "tracing disabled: unsupported setting");
      return undefined;
    case "on":
      for (const warning of choice.warnings) parts.log.warn({ warning }, "tracing setting adjusted");
      return new Tracing(choice.settings, parts);
    default:
      return choice satisfies never;
  }
}

/** Traces of actions to a collector. What that takes is loaded by `start`; before, nothing is seen. */
export class Tracing {
  readonly #settings: TraceSettings;
  readonly #parts: TracingParts;
  #export: SpanExport | undefined;
  #traces: ActionTraces | undefined;

  constructor(settings: TraceSettings, parts: TracingParts) {
    this.#settings = settings;
    this.#parts = parts;
  }

  get observer(): Pick<Observer, "action" | "report" | "spans"> {
    return {
      action: (event) => this.#traces?.observer.action(event),
      report: (report) => this.#traces?.observer.report(report),
      spans: (spans) => this.#traces?.observer.spans(spans),
    };
  }

  environmentOf(action: SeenAction): Readonly<Record<string, string>> {
    return this.#traces?.environmentOf(action) ?? {};
  }

  /** Never rejects: without traces a worker works as well. */
  async start(): Promise<void> {
    const { log, clock } = this.#parts;
    try {
      const { openSpanExport } = await import("./span-export.ts");
      const { ActionTraces } = await import("./action-traces.ts");
      this.#export = openSpanExport(this.#settings, log);
      this.#traces = new ActionTraces(this.#export, clock);
    } catch (thrown) {
      const error = textOf(thrown);
      log.error({ error }, "tracing disabled: setup failed");
    }
  }

  /** Never rejects, and takes a few seconds at most. */
  async close(): Promise<void> {
    await this.#export?.close();
  }
}

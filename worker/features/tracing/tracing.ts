import type { Clock } from "../../../shared/clock.ts";
import type { Logger } from "../../../shared/logger.ts";
import { textOf } from "../../../shared/text-of.ts";
import type { Environment } from "../../../shared/tracing/variables.ts";
import type { SeenAction } from "../../core/action/observer.ts";
import type { ActionTraces, TraceObserver } from "./action-traces.ts";
import type { SpanExport } from "./span-export.ts";
import { type TraceSettings, traceSettings } from "./trace-settings.ts";

export interface TracingOptions {
  readonly log: Logger;
  readonly clock: Clock;
}

/** Opens the tracing. Returns undefined if the variables request no traces, or something unsupported, which is logged. */
export function openTracing(env: Environment, options: TracingOptions): Tracing | undefined {
  const choice = traceSettings(env);
  switch (choice.kind) {
    case "off":
      return undefined;
    case "refused":
      options.log.warn({ reason: choice.reason }, "tracing disabled: unsupported setting");
      return undefined;
    case "on":
      for (const warning of choice.warnings) options.log.warn({ warning }, "tracing setting adjusted");
      return new Tracing(choice.settings, options);
    default:
      return choice satisfies never;
  }
}

/** Exports traces of actions. Loads the exporter only if it is needed. */
export class Tracing {
  readonly #settings: TraceSettings;
  readonly #options: TracingOptions;
  #export: SpanExport | undefined;
  #traces: ActionTraces | undefined;

  constructor(settings: TraceSettings, options: TracingOptions) {
    this.#settings = settings;
    this.#options = options;
  }

  get observer(): TraceObserver {
    return {
      action: (event) => this.#traces?.observer.action(event),
      report: (report) => this.#traces?.observer.report(report),
      spans: (spans) => this.#traces?.observer.spans(spans),
    };
  }

  environmentOf(action: SeenAction): Readonly<Record<string, string>> {
    return this.#traces?.environmentOf(action) ?? {};
  }

  /** Starts the export. Never rejects: the worker also works without traces. */
  async start(): Promise<void> {
    const { log, clock } = this.#options;
    try {
      const { openSpanExport } = await import("./span-export.ts");
      const { ActionTraces } = await import("./action-traces.ts");
      this.#export = openSpanExport(this.#settings, log);
      this.#traces = new ActionTraces(this.#export, clock);
    } catch (thrown) {
      log.error({ error: textOf(thrown) }, "tracing disabled: setup failed");
    }
  }

  /** Never rejects; takes a few seconds at most. */
  async close(): Promise<void> {
    await this.#export?.close();
  }
}

import type { Clock } from "../../shared/clock.ts";
import type { Logger } from "../../shared/logger.ts";
import { textOf } from "../../shared/text-of.ts";
import { type Observer, observers, type SeenAction, type WorkerFacts } from "../action/observer.ts";
import type { WatchedFile } from "../config/reload.ts";
import type { WorkerConfig } from "../config/worker-config.ts";
import { ActionLogs } from "../observe/action-log/action-logs.ts";
import { Health, longestWaitMs } from "../observe/health/health.ts";
import { Access } from "../observe/http/access.ts";
import type { HttpListener } from "../observe/http/http-listener.ts";
import type { Route } from "../observe/http/route.ts";
import { serveHttp } from "../observe/http/serve-http.ts";
import { Metrics } from "../observe/metrics/metrics.ts";
import { openStatusPage } from "../observe/status/status-page.ts";
import { openTracing } from "../observe/tracing/tracing.ts";

/** Everything by which an operator sees what the worker does. */
export interface Operating {
  readonly observer: Observer;
  /** Files to take over when they change. */
  readonly watchedFiles: readonly WatchedFile[];
  /** Variables that join an action to its trace. */
  traceEnvironment(action: SeenAction): Readonly<Record<string, string>>;
  /** Begins to answer, for a worker that runs from now on. Rejects when an address that was asked for cannot be had. */
  serve(facts: WorkerFacts): Promise<void>;
  /** Writes what is still to be written, for a few seconds at most. Never rejects. */
  close(): Promise<void>;
}

export interface OperatingParts {
  readonly log: Logger;
  readonly clock: Clock;
  /** Those of the catalogue. */
  readonly actionNames: readonly string[];
}

/** Opens nothing that can fail; what needs a worker waits for `serve`. */
export function openOperating(
  config: Pick<WorkerConfig, "http" | "actionLog" | "server" | "backoffMaxIntervalMs">,
  { log, clock, actionNames }: OperatingParts,
): Operating {
  const complain = (thrown: unknown) => log.error({ error: textOf(thrown) }, "observer failed");
  const actionLogs = config.actionLog && new ActionLogs({ ...config.actionLog, clock, log });
  const statusPage = config.http && openStatusPage({ clock });
  const metrics = config.http && new Metrics({ clock, actionNames });
  const health = config.http && new Health({ clock, longestWaitMs: longestWaitMs(config) });
  const tracing = openTracing(process.env, { log, clock });
  const access = config.http && new Access(config.http.files);
  let listener: HttpListener | undefined;
  return {
    observer: observers(
      [statusPage, metrics, health, actionLogs, tracing].flatMap((part) => (part ? [part.observer] : [])),
      complain,
    ),
    watchedFiles: access?.watchedFiles() ?? [],
    traceEnvironment: (action) => tracing?.environmentOf(action) ?? {},
    async serve(facts) {
      const routes: readonly Route[] = [
        ...(metrics && health ? [metrics.route(facts, health)] : []),
        ...(health?.routes(facts) ?? []),
        ...(statusPage?.routes(facts) ?? []),
      ];
      if (config.http) listener = await serveHttp(config.http, routes, log, access);
      actionLogs?.start();
      await tracing?.start();
    },
    async close() {
      statusPage?.close();
      await listener?.close();
      metrics?.close();
      await Promise.all([actionLogs?.close(), tracing?.close()]);
    },
  };
}

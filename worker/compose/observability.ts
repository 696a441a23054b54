import { join } from "node:path";
import type { Clock } from "../../shared/clock.ts";
import type { Logger } from "../../shared/logger.ts";
import { textOf } from "../../shared/text-of.ts";
import type { Environment } from "../../shared/tracing/variables.ts";
import { observers, type SeenAction, type WorkerFacts } from "../action/observer.ts";
import type { WorkerConfig } from "../config/worker-config.ts";
import { ActionLogs } from "../observe/action-log/action-logs.ts";
import { Health, longestWaitMs } from "../observe/health/health.ts";
import { Access } from "../observe/http/access.ts";
import type { HttpListener } from "../observe/http/http-listener.ts";
import type { Route } from "../observe/http/route.ts";
import { serveHttp } from "../observe/http/serve-http.ts";
import { Metrics } from "../observe/metrics/metrics.ts";
import { HistoryFile } from "../observe/status/board/history-file.ts";
import { openStatusPage } from "../observe/status/status-page.ts";
import { openTracing } from "../observe/tracing/tracing.ts";

export interface ObservabilityOptions {
  readonly log: Logger;
  readonly clock: Clock;
  /** Decides about traces, in OpenTelemetry's variables. */
  readonly env: Environment;
  readonly actionNames: readonly string[];
}

/** Status page, metrics, health, action logs and traces. Opens nothing that can fail: `serve` does. */
export function composeObservability(
  config: Pick<WorkerConfig, "http" | "actionLog" | "server" | "backoffMaxIntervalMs">,
  { log, clock, env, actionNames }: ObservabilityOptions,
) {
  const actionLogs = config.actionLog && new ActionLogs({ ...config.actionLog, clock, log });
  const statusPage = config.http && openStatusPage({ clock });
  const metrics = config.http && new Metrics({ clock, actionNames });
  const health = config.http && new Health({ clock, longestWaitMs: longestWaitMs(config) });
  const tracing = openTracing(env, { log, clock });
  const access = config.http && new Access(config.http.files);
  let listener: HttpListener | undefined;
  let history: HistoryFile | undefined;
  return {
    observer: observers(
      [statusPage, metrics, health, actionLogs, tracing].flatMap((part) => (part ? [part.observer] : [])),
      logFailure(log),
    ),
    /** To reload when they change. */
    watchedFiles: access?.watchedFiles() ?? [],
    traceEnvironment: (action: SeenAction) => tracing?.environmentOf(action) ?? {},
    /** Starts the HTTP listener. Rejects when a configured address is not available. */
    async serve(facts: WorkerFacts, stateDirectory: string): Promise<void> {
      const routes: readonly Route[] = [
        ...(metrics && health ? [metrics.route(facts, health)] : []),
        ...(health?.routes(facts) ?? []),
        ...(statusPage?.routes(facts) ?? []),
      ];
      if (statusPage) {
        const path = join(stateDirectory, "history.json");
        history = new HistoryFile({ path, board: statusPage.board, clock, log });
        await history.open();
      }
      if (config.http) listener = await serveHttp(config.http, routes, log, access);
      actionLogs?.start();
      await tracing?.start();
    },
    /** Flushes for a few seconds at most; nothing in a state directory that is lost. Never rejects. */
    async close({ stateLost = false } = {}): Promise<void> {
      statusPage?.close();
      await history?.close(!stateLost);
      await listener?.close();
      metrics?.close();
      await Promise.all([actionLogs?.close(), tracing?.close()]);
    },
  };
}

export function logFailure(log: Logger): (thrown: unknown) => void {
  return (thrown) => log.error({ error: textOf(thrown) }, "observer failed");
}

import { Code, ConnectError, createContextKey, type HandlerContext } from "@connectrpc/connect";
import type { Clock } from "../../../../shared/clock.ts";
import type { Logger } from "../../../../shared/logger.ts";
import type { ApiCallObserver } from "../../shared/observer.ts";
import { CALLER } from "../caller.ts";
import type { ApiAccess } from "./api-access.ts";
import type { Connection } from "./connections.ts";
import { Health } from "./gen/grpc/health/v1/health_pb.ts";

/** The context value with the connection of a call. */
export const CONNECTION = createContextKey<Connection | undefined>(undefined, {
  description: "connection of the call",
});

export interface GateOptions {
  readonly access: ApiAccess;
  readonly clock: Clock;
  readonly log: Logger;
  readonly observer: ApiCallObserver;
}

/** A client that tries forever must not fill the log. */
const WARN_INTERVAL_MS = 60_000;

/**
 * Creates the handler that identifies the caller before any part of a message is read. The health service is open, because
 * probes have no credentials. Rejects with a `ConnectError`.
 */
export function createGate({
  access,
  clock,
  log,
  observer,
}: GateOptions): (context: HandlerContext) => Promise<void> {
  let warnedMs = Number.NEGATIVE_INFINITY;
  return async ({ service, requestHeader, values }) => {
    const connection = values.get(CONNECTION);
    if (!connection) throw new ConnectError("unknown connection", Code.Internal);
    if (service.typeName === Health.typeName) return;
    try {
      const authorization = requestHeader.get("authorization") ?? undefined;
      values.set(CALLER, await access.callerOf(authorization, connection.certificate));
      connection.isTrusted = true;
    } catch (thrown) {
      const { rawMessage: reason, code } = ConnectError.from(thrown);
      observer.apiCall({ code: Code[code] });
      const isDue = clock.monotonicMs() - warnedMs >= WARN_INTERVAL_MS;
      if (isDue) warnedMs = clock.monotonicMs();
      log[isDue ? "warn" : "debug"]({ client: connection.client, reason }, "API client refused");
      throw thrown;
    }
  };
}

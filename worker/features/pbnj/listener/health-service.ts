import { Code, ConnectError, type HandlerContext, type ServiceImpl } from "@connectrpc/connect";
import type { Clock } from "../../../../shared/clock.ts";
import { raceAbort } from "../../../../shared/race-abort.ts";
import { type Health, HealthCheckResponse_ServingStatus as Status } from "./gen/grpc/health/v1/health_pb.ts";

/** How often a watched status is read. */
const WATCH_INTERVAL_MS = 1_000;

/** The health service of gRPC. Every service has the status of the whole server, whose name is empty. */
export function healthService(
  services: readonly string[],
  isServing: () => boolean,
  clock: Clock,
): ServiceImpl<typeof Health> {
  const known = ["", ...services];
  /** A timer that all calls share. */
  let tick: Promise<void> | undefined;
  const status = () => (isServing() ? Status.SERVING : Status.NOT_SERVING);
  return {
    check({ service }) {
      if (!known.includes(service)) throw new ConnectError("unknown service", Code.NotFound);
      return { status: status() };
    },
    list: () => ({ statuses: Object.fromEntries(known.map((name) => [name, { status: status() }])) }),
    async *watch({ service }, { signal }: HandlerContext) {
      let last: Status | undefined;
      while (!signal.aborted) {
        const now = known.includes(service) ? status() : Status.SERVICE_UNKNOWN;
        if (now !== last) yield { status: now };
        last = now;
        tick ??= clock.sleep(WATCH_INTERVAL_MS).finally(() => {
          tick = undefined;
        });
        // The wait rejects when the client disconnects or the listener closes.
        await raceAbort(tick, signal);
      }
    },
  };
}

import type { Clock } from "../../../shared/clock.ts";
import type { Observer } from "../../core/action/observer.ts";
import type { Route } from "../../listener/http/route.ts";
import type { SharedConfig } from "../feature.ts";
import type { WorkerFacts } from "../shared/facts.ts";
import type { HealthFinding, NamedHealthFinding } from "../shared/health-finding.ts";
import { clusterChecks } from "./cluster-checks.ts";
import { JournalWatch } from "./journal-watch.ts";
import { LaneWatch } from "./lane-watch.ts";
import { RuntimeCheck } from "./runtime-check.ts";

export interface HealthOptions {
  readonly clock: Clock;
  /** The longest wait of a lane. */
  readonly longestWaitMs: number;
}

/** In addition to the longest wait, for a host that is slow or was suspended. */
const STALLED_SLACK_MS = 120_000;
/** A server that is replaced is available again within seconds. */
const FAILING_MS = 15_000;
/** Less than the usual timeout of probes and scrapes, about ten seconds. */
const RUNTIME_TIMEOUT_MS = 5_000;
const RUNTIME_KEEP_MS = 10_000;

/** The longest time between two steps of a lane: detecting the API, a poll, and a backoff. */
export function longestWaitMs({
  server,
  backoffMaxIntervalMs,
}: Pick<SharedConfig, "server" | "backoffMaxIntervalMs">): number {
  const questionMs = 15_000;
  return (server?.pollTimeoutMs ?? 0) + questionMs + backoffMaxIntervalMs;
}

/**
 * Liveness, for problems that a restart fixes, and readiness, for those that it does not: the worker waits for a tink server,
 * an engine or a disk that is unavailable, and running actions must not be interrupted because of it.
 */
export class Health {
  readonly #lanes: LaneWatch;
  readonly #journal: JournalWatch;
  readonly #runtime: RuntimeCheck;

  constructor({ clock, longestWaitMs: waitMs }: HealthOptions) {
    this.#lanes = new LaneWatch({ clock, stalledMs: waitMs + STALLED_SLACK_MS, failingMs: FAILING_MS });
    this.#journal = new JournalWatch(clock);
    this.#runtime = new RuntimeCheck({ clock, timeoutMs: RUNTIME_TIMEOUT_MS, keepMs: RUNTIME_KEEP_MS });
  }

  get observer(): Observer {
    return { ...this.#lanes.observer, ...this.#journal.observer };
  }

  /** The answer itself shows that the event loop works. */
  live(): readonly NamedHealthFinding[] {
    return [{ name: "lanes", ...this.#lanes.lanes() }];
  }

  async ready(facts: WorkerFacts): Promise<readonly NamedHealthFinding[]> {
    return [
      { name: "tink_server", ...this.#server(facts) },
      { name: "runtime", ...(await this.#runtime.find(facts)) },
      { name: "state_directory", ...this.#journal.directory() },
      ...clusterChecks(facts.cluster?.()),
    ];
  }

  /** With agent IDs from a cluster there may be none at times. */
  #server(facts: WorkerFacts): HealthFinding {
    const { connected } = facts;
    if (!connected) return { ok: true, reason: "no tink server is configured" };
    if (facts.cluster && facts.agentIds().length === 0) {
      return { ok: true, reason: "no agent ID to poll with now" };
    }
    return this.#lanes.server({ connected });
  }

  async findings(facts: WorkerFacts): Promise<readonly NamedHealthFinding[]> {
    return [...this.live(), ...(await this.ready(facts))];
  }

  /** The second and third paths are PBnJ's. */
  routes(facts: WorkerFacts): readonly Route[] {
    return [
      healthRoute(/^\/(?:healthz|healthcheck|_\/live)$/, async () => this.live()),
      healthRoute(/^\/(?:readyz|_\/ready)$/, () => this.ready(facts)),
    ];
  }
}

/** 200 if all checks pass, else 503. Reasons contain addresses and paths, so only authenticated visitors see them. */
function healthRoute(path: RegExp, find: () => Promise<readonly NamedHealthFinding[]>): Route {
  return {
    path,
    open: true,
    async handle(_request, response, _url, granted) {
      const findings = await find();
      const checks = granted ? findings : findings.map(({ name, ok }) => ({ name, ok }));
      const ok = checks.every((check) => check.ok);
      response.statusCode = ok ? 200 : 503;
      response.setHeader("Content-Type", "application/json; charset=utf-8");
      response.end(`${JSON.stringify({ ok, checks }, undefined, 2)}\n`);
    },
  };
}

import type { Clock } from "../../../shared/clock.ts";
import type { Observer, WorkerFacts } from "../../action/observer.ts";
import type { WorkerConfig } from "../../config/worker-config.ts";
import type { Route } from "../http/route.ts";
import type { CheckName, Finding } from "./check.ts";
import { clusterChecks } from "./cluster-checks.ts";
import { JournalWatch } from "./journal-watch.ts";
import { LaneWatch } from "./lane-watch.ts";
import { RuntimeCheck } from "./runtime-check.ts";

export interface HealthOptions {
  readonly clock: Clock;
  /** The longest that a lane waits by itself. */
  readonly longestWaitMs: number;
}

export interface NamedFinding extends Finding {
  readonly name: CheckName;
}

/** Beyond the longest wait, for a machine that is slow or was suspended. */
const STILL_SLACK_MS = 120_000;
/** A server that is replaced is back within seconds. */
const FAILING_MS = 15_000;
/** Probes and scrapes themselves wait for some ten seconds. */
const RUNTIME_TIMEOUT_MS = 5_000;
const RUNTIME_KEEP_MS = 10_000;

/** The longest that a lane waits between two steps: for an answer, before that for which API it is, and to try again. */
export function longestWaitMs({
  server,
  backoffMaxIntervalMs,
}: Pick<WorkerConfig, "server" | "backoffMaxIntervalMs">): number {
  const questionMs = 15_000;
  return server.pollTimeoutMs + questionMs + backoffMaxIntervalMs;
}

/**
 * Whether the worker is alive, which a restart mends when it is not, and whether it is ready, which a restart does not mend:
 * a tink server, an engine or a disk that is away is waited for, and actions that run must not be cut short for it.
 */
export class Health {
  readonly #lanes: LaneWatch;
  readonly #journal: JournalWatch;
  readonly #runtime: RuntimeCheck;

  constructor({ clock, longestWaitMs: waitMs }: HealthOptions) {
    this.#lanes = new LaneWatch({ clock, stillMs: waitMs + STILL_SLACK_MS, failingMs: FAILING_MS });
    this.#journal = new JournalWatch(clock);
    this.#runtime = new RuntimeCheck({ clock, timeoutMs: RUNTIME_TIMEOUT_MS, keepMs: RUNTIME_KEEP_MS });
  }

  get observer(): Partial<Observer> {
    return { ...this.#lanes.observer, ...this.#journal.observer };
  }

  /** That the answer comes is the event loop's part of it. */
  live(): readonly NamedFinding[] {
    return [{ name: "lanes", ...this.#lanes.lanes() }];
  }

  async ready(facts: WorkerFacts): Promise<readonly NamedFinding[]> {
    return [
      { name: "tink_server", ...this.#server(facts) },
      { name: "runtime", ...(await this.#runtime.find(facts)) },
      { name: "state_directory", ...this.#journal.directory() },
      ...clusterChecks(facts.cluster?.()),
    ];
  }

  /** Whose agent IDs come out of a cluster may have none, or none any more, and be well. */
  #server(facts: WorkerFacts): Finding {
    if (facts.cluster && facts.agentIds().length === 0) {
      return { ok: true, reason: "no agent ID to poll with now" };
    }
    return this.#lanes.server(facts);
  }

  async findings(facts: WorkerFacts): Promise<readonly NamedFinding[]> {
    return [...this.live(), ...(await this.ready(facts))];
  }

  /** The second and third paths are PBnJ's own. */
  routes(facts: WorkerFacts): readonly Route[] {
    return [
      healthRoute(/^\/(?:healthz|healthcheck|_\/live)$/, async () => this.live()),
      healthRoute(/^\/(?:readyz|_\/ready)$/, () => this.ready(facts)),
    ];
  }
}

/** 200 when all is well and 503 otherwise, with every check. Reasons name addresses and paths: they are for granted visitors. */
function healthRoute(path: RegExp, find: () => Promise<readonly NamedFinding[]>): Route {
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

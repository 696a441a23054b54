import type { Clock } from "../../../shared/clock.ts";
import { formatSeconds } from "../../../shared/duration.ts";
import type { Observer } from "../../core/action/observer.ts";
import type { JournalSeen } from "../../core/journal/journal.ts";
import type { LeaderFacts } from "../../kubernetes/leader/leader-election.ts";
import type { Route } from "../../listener/http/route.ts";
import type { SharedConfig } from "../feature.ts";
import type { ClusterFacts, HealthFinding, NamedHealthFinding, WorkerFacts } from "../shared/facts.ts";
import { LaneWatch } from "./lane-watch.ts";
import { RuntimeCheck } from "./runtime-check.ts";

/** Whether the state directory is writable, according to the journal's last operations. */
class JournalWatch {
  readonly #clock: Clock;
  /** When each operation failed for the first time since its last success. */
  readonly #failedMs = new Map<JournalSeen["step"], number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  readonly observer: Observer = {
    journal: ({ step, ok }) => {
      if (ok) this.#failedMs.delete(step);
      else this.#failedMs.set(step, this.#clock.monotonicMs());
    },
  };

  directory(): HealthFinding {
    const [failed] = this.#failedMs;
    if (failed === undefined) return { ok: true, reason: "written without an error" };
    const [step, atMs] = failed;
    const ago = formatSeconds(this.#clock.monotonicMs() - atMs);
    return {
      ok: false,
      reason: `the journal could not ${step} an entry ${ago} ago: the log says why`,
    };
  }
}

export interface HealthOptions {
  readonly clock: Clock;
  /** The longest wait of a lane between two steps. */
  readonly longestWaitMs: number;
}

/** Additional time for a host that is slow or was suspended. */
const STALLED_SLACK_MS = 120_000;
/** A server that is replaced is available again within seconds. */
const FAILING_MS = 15_000;
/** Less than the usual timeout of probes and scrapes, which is about ten seconds. */
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
 * Liveness covers problems that a restart fixes. Readiness covers the others: the worker waits for a tink server, an engine
 * or a disk that is unavailable, and running actions must not be interrupted because of it.
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

  /** Answering at all shows that the event loop works. */
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

  /** The state of the tink server. With agent IDs from a cluster there may be no lane at times. */
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

/**
 * Returns 200 if all checks pass, otherwise 503. Reasons contain addresses and paths, so only authenticated visitors see
 * them.
 */
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

/**
 * Checks whether the watches of the worker's own cluster work, and whether this worker leads or can take over. Problems in
 * other clusters are only mentioned, because the worker still serves the machines of all others.
 */
function clusterChecks(facts: ClusterFacts | undefined): readonly NamedHealthFinding[] {
  if (!facts) return [];
  const { problems, sources, leader } = facts;
  const [first, ...more] = problems;
  const others = more.length === 0 ? "" : `, and ${more.length} more`;
  const cluster: NamedHealthFinding = {
    name: "cluster",
    ok: first === undefined,
    reason: first === undefined ? `sees what it watches${exceptions(sources)}` : `${first}${others}`,
  };
  return leader ? [cluster, { name: "leader_election", ...leaderFinding(leader) }] : [cluster];
}

function exceptions(sources: ClusterFacts["sources"]): string {
  const names = sources.flatMap(({ name, problems }) => (problems.length > 0 ? [name] : []));
  return names.length === 0 ? "" : `, except machine sources ${names.join(", ")}`;
}

/** A follower counts as ready, so that a rollout can finish. */
function leaderFinding({ isLeading, leader, problem }: LeaderFacts): HealthFinding {
  if (problem !== undefined) return { ok: false, reason: problem };
  if (isLeading) return { ok: true, reason: "leads" };
  return { ok: true, reason: leader === undefined ? "no leader yet" : `${leader} leads` };
}

import { parse } from "zod/mini";
import { type ActionId, actionKey, type Outcome } from "../../../../worker/core/action/action.ts";
import { failedAction } from "../../../../worker/core/ports/outcome.ts";
import {
  type Adoption,
  Detached,
  type EarlierRun,
  type EndedAction,
  type LaunchHandle,
  LaunchNotRecorded,
  type LaunchRequest,
  NotLaunched,
  type ReturnedAction,
  type Runtime,
} from "../../../../worker/core/ports/runtime.ts";
import type { Cluster } from "../../../../worker/kubernetes/client/cluster.ts";
import { KubernetesError } from "../../../../worker/kubernetes/client/kubernetes-error.ts";
import { LOCK_LABEL, lockLabelOf } from "../../../../worker/kubernetes/leader/lock-label.ts";
import { JobClient, type Written } from "../../../../worker/runtimes/kubernetes/job-client.ts";
import { LABEL } from "../../../../worker/runtimes/kubernetes/job-labels.ts";
import { ACKNOWLEDGED_TTL_SECONDS } from "../../../../worker/runtimes/kubernetes/orphaned-jobs.ts";
import { isUnneeded } from "../../../../worker/runtimes/orphan.ts";
import type { LeaseApi } from "../../../support/simulation/lease-api.ts";
import { DELAY_MS, type Life } from "./fault-life.ts";
import { runKey } from "./fault-server.ts";
import type { Crash, World } from "./fault-world.ts";

type Job = Parameters<JobClient["unsuspend"]>[0];

interface Launched {
  readonly action: ActionId;
  readonly handle: LaunchHandle;
  state: "created" | "runs" | "ended" | "deleted";
  /** When it was started, by the clock of its host. */
  startedMs: number;
  /** Number of its workflow's run. */
  run: number;
  /** Number of its state directory. */
  readonly generation: number;
  readonly ended: PromiseWithResolvers<void>;
  /** Only a later worker takes it for an orphan. */
  readonly by: Life;
  isDiscarded?: true;
  /** The name of its Job, if replicas share it. */
  readonly job: string | undefined;
}

/** In the report of an action that was never created. */
export const NO_IMAGE = "the image is gone";

/** In the report of an action whose container or Job was deleted while it ran. */
export const DELETED = "it was deleted by another client";

/** What the action itself says. */
export const resultOf = (name: string) => `${name} done`;

/** What is not idempotent must not be sent twice, whatever happens. */
export const isIdempotent = (name: string) => name !== "power-cycle";

/** What was launched, and what it did to the machines. */
export class Launches {
  readonly #world: World;
  readonly #takesMs: number;
  readonly #launched = new Map<string, Launched>();
  #created = 0;
  /** The keys of the actions whose commands a machine carried out. */
  readonly commands: string[] = [];
  /** By run of an action whose command was carried out, who started it first. */
  readonly #runs = new Map<string, Life>();
  /** Runs whose Jobs another client deleted: only the leader that had started one knows of it. */
  readonly #deleted = new Set<string>();

  constructor(world: World, takesMs: number) {
    this.#world = world;
    this.#takesMs = takesMs;
  }

  /**
   * What a worker has to come back for. A Job that has ended is deleted by the cluster, at the latest after a day, and a container of
   * another state directory by a sweep. One that never started, and could not be removed, is removed when it is served or at the next start.
   */
  get left(): readonly string[] {
    const isOthers = ({ generation }: Launched) => generation !== this.#world.generation;
    const isSwept = (one: Launched) =>
      one.state === "created" && (one.isDiscarded || (!one.job && isOthers(one)));
    const isKept = (one: Launched) => one.state === "ended" && (one.job || isOthers(one));
    const left = [...this.#launched.values()].filter((one) => !isSwept(one) && !isKept(one));
    return left.map(({ action, state }) => `${action.name} ${state}`);
  }

  get api(): LeaseApi {
    return this.#world.api;
  }

  /** The Job that a replica sees. */
  jobOf({ job }: Launched): Job | undefined {
    const { uid = "", labels = {} } = (job && this.api.find(job)?.metadata) || {};
    return job === undefined ? undefined : { name: job, uid, labels };
  }

  find(key: string): Launched | undefined {
    return this.#launched.get(key);
  }

  /** Keys that other processes with the same state directory launched. */
  keysNotBy(life: Life): readonly string[] {
    const { generation } = this.#world;
    const isOwn = ({ by, ...launched }: Launched) => by !== life && launched.generation === generation;
    return [...this.#launched].filter(([, launched]) => isOwn(launched)).map(([key]) => key);
  }

  /** Whether a run of an action was carried out. */
  wasCarriedOut(action: ActionId, run: number): boolean {
    return this.#runs.has(runKey(action, run));
  }

  /** Deletes the newest launch, like an operator or a controller. */
  deleteNewest(): void {
    const launched = [...this.#launched.values()].at(-1);
    if (!launched) return;
    this.remove(launched);
    if (launched.by.election) this.#deleted.add(runKey(launched.action, launched.run));
    if (launched.state === "ended") return;
    launched.state = "deleted";
    launched.ended.resolve();
  }

  create(action: ActionId, by: Life, lockKey = ""): Launched {
    const key = actionKey(action);
    const ended = Promise.withResolvers<void>();
    const labels = { [LABEL.key]: key, [LOCK_LABEL]: lockLabelOf(lockKey), [LABEL.launch]: by.name };
    const metadata = { name: `act-${key}`, labels };
    const job = by.election && this.#world.api.create({ metadata, spec: { suspend: true } }).metadata.name;
    const { generation } = this.#world;
    this.#created += 1;
    const handle = { id: this.#created };
    const launched: Launched = {
      action,
      handle,
      state: "created",
      startedMs: 0,
      run: 0,
      generation,
      ended,
      by,
      job,
    };
    this.#launched.set(key, launched);
    return launched;
  }

  /** False if it is gone. Nothing changes if it runs already. */
  start(launched: Launched, starter: Life): boolean {
    const key = actionKey(launched.action);
    const isThere = () => this.#launched.get(key) === launched;
    if (!isThere() || launched.state !== "created") return isThere();
    const { name, agentId } = launched.action;
    const world = this.#world;
    const machine = world.lockKeyOf(agentId);
    for (const { action, state, generation } of this.#launched.values()) {
      // A worker that lost its state directory does not know of it before the server serves it.
      if (generation === world.generation && state === "runs" && world.lockKeyOf(action.agentId) === machine)
        world.break(`${name} began beside ${action.name}`);
    }
    launched.state = "runs";
    launched.startedMs = launched.by.clock.now();
    launched.run = world.begunRunOf(launched.action);
    world.time.after(this.#takesMs / 2, () => {
      if (!isThere()) return;
      const run = runKey(launched.action, launched.run);
      const first = this.#runs.get(run);
      const isExcused = this.#deleted.has(run) && first !== starter;
      if (!isIdempotent(name) && first && !isExcused) world.break(`${name} was carried out twice`);
      this.commands.push(key);
      this.#runs.set(run, first ?? starter);
    });
    world.time.after(this.#takesMs, () => {
      if (!isThere()) return;
      launched.state = "ended";
      const value = { conditions: [{ type: "Complete", status: "True" }] };
      if (launched.job) world.api.patch(launched.job, [{ op: "add", path: "/status", value }]);
      launched.ended.resolve();
    });
    return true;
  }

  remove({ action, job }: Launched): void {
    this.#launched.delete(actionKey(action));
    if (job !== undefined) this.#world.api.remove(job, {});
  }

  /** Replicas keep it for a while, because the server may serve its action to another one. */
  acknowledge(launched: Launched): void {
    if (launched.job) this.#world.time.after(ACKNOWLEDGED_TTL_SECONDS * 1_000, () => this.remove(launched));
    else this.remove(launched);
  }

  lose(crash: Crash): void {
    for (const [key, { state }] of this.#launched) {
      const survives = crash === "worker" || crash === "state" || (crash === "actions" && state === "ended");
      if (!survives) this.#launched.delete(key);
    }
  }
}

/** How one worker runs actions: as containers of its own or, among replicas, as Jobs that any of them can adopt. */
export class FaultRuntime implements Runtime {
  readonly name = "virtual";
  readonly #life: Life;
  readonly #launches: Launches;
  readonly #detached = Promise.withResolvers<never>();
  /** Only what outlives the worker can be left to another one. */
  readonly detach?: () => void;

  constructor(life: Life, launches: Launches) {
    this.#life = life;
    this.#launches = launches;
    this.#detached.promise.catch(() => undefined);
    if (life.election) this.detach = () => this.#detached.reject(new Detached());
  }

  async run(request: LaunchRequest): Promise<EndedAction> {
    const { action, connection, onLaunch } = request;
    const { clock } = this.#life;
    const startedAt = new Date(clock.now());
    const hasFailed = await this.#life.fails(`create ${action.name}`);
    const found = this.#launches.find(actionKey(action));
    // What exists is found, whatever would prevent its creation.
    if (hasFailed && !found) {
      return failedAction("internal", NO_IMAGE, startedAt, new Date(clock.now()));
    }
    const launched = found ?? this.#launches.create(action, this.#life, request.lockKey);
    const claimed = this.#launches.jobOf(launched);
    if (found && found.state !== "created") {
      await onLaunch?.(launched.handle).catch(() => undefined);
      return this.#ended(launched, startedAt);
    }
    // A Job is held back, also one with its own connection.
    const isHeldBack = connection !== undefined || launched.job !== undefined;
    if (!isHeldBack) this.#launches.start(launched, this.#life);
    try {
      await onLaunch?.(launched.handle);
    } catch (thrown) {
      if (!(thrown instanceof LaunchNotRecorded) || isHeldBack) {
        if (launched.state === "created" || !launched.job) await this.#discard(launched);
        throw thrown;
      }
    }
    if (claimed) {
      // A lost one is followed.
      if ((await this.#unsuspend(launched, claimed)) === "gone") throw new NotLaunched("its Job is gone");
    } else if (isHeldBack) {
      await this.#life.fails(`start ${action.name}`);
      // Something removed it meanwhile.
      if (!this.#launches.start(launched, this.#life)) return this.run(request);
    }
    await this.#life.fails(`wait for ${action.name}`);
    return this.#ended(launched, startedAt);
  }

  /** With the runtime's own requests. */
  #unsuspend(launched: Launched, job: Job): Promise<Written> {
    const life = this.#life;
    const { api } = this.#launches;
    const unused = () => Promise.reject(new Error("it is not asked for"));
    const find: Cluster["find"] = async (_kind, { name }, schema) => {
      const found = api.find(name);
      return found && parse(schema, found);
    };
    const patch: Cluster["patch"] = async (_kind, { name }, { body }, schema) => {
      const fault = await life.step(`start ${launched.action.name}`);
      if (fault === "delay") await life.clock.sleep(DELAY_MS);
      if (fault === "error") throw new KubernetesError("unreachable", "it did not arrive");
      const patched = api.patch(name, body as Parameters<LeaseApi["patch"]>[1]);
      this.#launches.start(launched, life);
      if (fault === "late") throw new KubernetesError("unreachable", "its answer is lost");
      return parse(schema, patched);
    };
    const cluster = { namespace: "", create: unused, find, list: unused, remove: unused, patch };
    const { signal } = new AbortController();
    return new JobClient(cluster, life.clock).unsuspend(job, signal, () => {
      if (life.election?.isLeading === false) throw new Detached();
    });
  }

  async adopt({ action, connected, handle, damaged, startedAt }: ReturnedAction): Promise<Adoption> {
    if (await this.#life.fails(`adopt ${action.name}`)) throw new Error("the runtime does not answer");
    const launched = this.#launches.find(actionKey(action));
    const neverStarted = connected && !handle && !damaged;
    if (!launched) {
      if (neverStarted) return { kind: "not-launched" };
      return { kind: "lost", reason: "it is gone", idempotent: isIdempotent(action.name) };
    }
    // The worker died before it handed the connection over.
    if (launched.state === "created") {
      await this.#remove(launched);
      return { kind: "not-launched" };
    }
    return { kind: "ended", ended: await this.#ended(launched, startedAt) };
  }

  async sweep(keep: Parameters<Runtime["sweep"]>[0]): Promise<number> {
    // Jobs of the group may be another replica's.
    if (this.#life.election) return 0;
    let removed = 0;
    for (const key of this.#launches.keysNotBy(this.#life)) {
      const launched = this.#launches.find(key);
      if (!launched || !isUnneeded(keep(key), launched.state === "ended")) continue;
      await this.#remove(launched);
      removed += 1;
    }
    return removed;
  }

  async earlierRun(action: ActionId): Promise<EarlierRun | undefined> {
    const launched = this.#launches.find(actionKey(action));
    if (!launched || launched.state === "created") return undefined;
    return {
      hasEnded: launched.state === "ended",
      ageMs: this.#life.clock.now() - launched.startedMs,
      handle: launched.handle,
      remove: () => this.#remove(launched, false, true),
    };
  }

  check = async () => "it is there";

  async close(): Promise<void> {
    this.detach?.();
  }

  async #ended(launched: Launched, startedAt: Date): Promise<EndedAction> {
    await this.#life.wait(Promise.race([launched.ended.promise, this.#detached.promise]));
    const isDeleted = launched.state === "deleted";
    const outcome: Outcome = {
      ok: !isDeleted,
      message: isDeleted ? DELETED : resultOf(launched.action.name),
      ...(isDeleted ? { class: "internal" as const } : { exitCode: 0 }),
      ...{ startedAt, stoppedAt: new Date(this.#life.clock.now()), timedOut: false, killed: false },
    };
    return { outcome, remove: () => this.#remove(launched, true) };
  }

  /** What cannot be removed is left to a sweep. */
  async #discard(launched: Launched): Promise<void> {
    await this.#remove(launched).catch(() => {
      launched.isDiscarded = true;
    });
  }

  async #remove(launched: Launched, isReported = false, isEarlier = false): Promise<void> {
    if (this.#launches.find(actionKey(launched.action)) !== launched) return;
    if (await this.#life.fails(`remove ${launched.action.name}`))
      throw new Error("the runtime does not answer");
    if (isReported) this.#launches.acknowledge(launched);
    // Another replica may have started it.
    else if (launched.state === "created" || !launched.job || isEarlier) this.#launches.remove(launched);
  }
}

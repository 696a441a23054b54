import { systemClock } from "../../../shared/clock.ts";
import { raceAbort } from "../../../shared/race-abort.ts";
import { type StartLimit, StartLimits } from "./start-limits.ts";

export interface LockTarget {
  readonly machine?: string | undefined;
  /** Identifies the BMC across all of its names. */
  readonly lockKey?: string | undefined;
}

export interface QueueOptions extends LockOwner {
  readonly workflowId?: string;
  /** Limits that the action shares with actions at other machines. */
  readonly limits?: readonly StartLimit[];
  /** Set for an action that an earlier worker started: it counts in its limits, and does not wait for them. */
  readonly isRunning?: boolean;
  /** Called with the limits as text, such as `the limit of rack=r12 (2 at once)`, if the action waits for one. */
  readonly onLimited?: (limit: string) => void;
}

/** A workflow's next action arrives within milliseconds, so few workflows must be remembered. */
const MOST_STARTED = 1_000;

/** Queues actions: one runs at a time per machine and per BMC, and a limited number in total, with started workflows first. */
export class ActionQueue {
  readonly #locks: Locks;
  readonly #slots: ActionSlots;
  readonly #limits: StartLimits;
  /** IDs of workflows that have an ended action, the latest last. */
  readonly #started = new Set<string>();

  constructor(locks: Locks, slots: ActionSlots, limits = new StartLimits(systemClock)) {
    this.#locks = locks;
    this.#slots = slots;
    this.#limits = limits;
  }

  /**
   * Does the work while it holds the locks of machine and BMC, a place in its limits and a slot. Resolves to undefined if `stop` aborts while it
   * waits, or if a lock is refused.
   */
  async enqueue<T>(
    target: LockTarget,
    stop: AbortSignal,
    work: () => Promise<T>,
    options: QueueOptions = {},
  ): Promise<T | undefined> {
    const { isRunning = false, limits = [], workflowId = "" } = options;
    const hasStarted = this.#started.has(workflowId);
    const held: (() => void)[] = [];
    try {
      try {
        // An action that runs already takes its place in the limits before any that starts.
        if (isRunning) held.push(this.#limits.running(limits).release);
        for (const key of lockKeysOf(target)) held.push(await this.#locks.acquire(key, stop, options));
        const start = await this.#limits.acquire(isRunning ? [] : limits, stop, options.onLimited);
        held.push(start.release);
        held.push(await this.#slots.acquire(stop, hasStarted, workflowId));
        start.started();
      } catch (thrown) {
        if (stop.aborted || thrown instanceof LockRefused) return undefined;
        throw thrown;
      }
      const result = await work();
      this.#remember(workflowId);
      return result;
    } finally {
      for (const release of held.toReversed()) release();
    }
  }

  #remember(workflowId: string): void {
    if (workflowId === "") return;
    this.#started.delete(workflowId);
    this.#started.add(workflowId);
    const [oldest] = this.#started;
    if (oldest !== undefined && this.#started.size > MOST_STARTED) this.#started.delete(oldest);
  }
}

/**
 * The keys of the locks for a machine and its BMC. The name always comes first, so that no two actions deadlock. It is locked as
 * well, because the inventory may change the BMC's address while an action still uses the old one.
 */
export function lockKeysOf({ machine, lockKey }: LockTarget): readonly string[] {
  return [
    ...(machine === undefined ? [] : [`machine ${machine}`]),
    ...(lockKey === undefined ? [] : [`bmc ${lockKey}`]),
  ];
}

export interface LockOwner {
  /** The key of the action that holds the lock; absent if nothing keeps running when this process dies. */
  readonly actionKey?: string;
}

/** The action does not get its lock now. The server serves it again if it has not ended meanwhile. */
export class LockRefused extends Error {
  override readonly name = "LockRefused";
}

/** Locks by key, acquired in order of arrival. */
export interface Locks {
  /**
   * Resolves to the lock's release. Rejects when the signal aborts and, if replicas share the locks, with `LockRefused` or the
   * cluster's error.
   */
  acquire(key: string, signal: AbortSignal, owner?: LockOwner): Promise<() => void>;
}

export class MachineLocks implements Locks {
  readonly #tails = new Map<string, Promise<void>>();

  async acquire(key: string, signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    const before = this.#tails.get(key) ?? Promise.resolve();
    const released = Promise.withResolvers<void>();
    const tail = before.then(() => released.promise);
    this.#tails.set(key, tail);
    // The last in line removes the key, so that the map holds only machines in use.
    const last = () => {
      if (this.#tails.get(key) === tail) this.#tails.delete(key);
    };
    tail.then(last, last);
    try {
      await raceAbort(before, signal);
    } catch (thrown) {
      released.resolve();
      throw thrown;
    }
    return released.resolve;
  }
}

/** One of this many slots goes to the other queue, so that no action waits forever. */
const OTHER_QUEUE_EVERY = 4;

/** The tenants that share the slots. */
export interface SlotSharing {
  /** Number of tenants. */
  tenants(): number;
  /** The tenant of a workflow; undefined if it belongs to none. */
  tenantOf(workflowId: string): number | undefined;
}

/** Waiting actions in order of arrival; a set, because any of them may stop waiting. */
type Queue = Set<() => void>;

/** The running and waiting actions of one tenant. */
interface Share {
  running: number;
  readonly started: Queue;
  readonly new: Queue;
}

type Tenant = number | undefined;

/**
 * Limits how many actions run at a time. Actions of started workflows come first: otherwise a thousand machines would all be
 * powered off before the first one is powered on again. When few actions wait, new workflows come first: otherwise the last
 * ones would run alone at the end, while most slots are free.
 *
 * Half of the slots are reserved for the tenants in equal parts, so that long actions of one never take every slot. Every other
 * slot goes to the tenant with the fewest.
 */
export class ActionSlots {
  readonly limit: number;
  readonly #sharing: SlotSharing | undefined;
  #handOvers = 0;
  readonly #shares = new Map<Tenant, Share>();

  constructor(slots: number, sharing?: SlotSharing) {
    this.limit = slots;
    this.#sharing = sharing;
  }

  get taken(): number {
    let taken = 0;
    for (const { running } of this.#shares.values()) taken += running;
    return taken;
  }

  /** Resolves to the slot's release, which counts once however often it is called. Rejects when the signal aborts. */
  async acquire(signal: AbortSignal, hasStarted = false, workflowId = ""): Promise<() => void> {
    signal.throwIfAborted();
    const tenant = this.#sharing?.tenantOf(workflowId);
    const share = this.#shareOf(tenant);
    if (this.#mayTake(tenant)) share.running += 1;
    else await this.#wait(hasStarted ? share.started : share.new, signal);
    let held = true;
    return () => {
      if (held) this.#release(tenant);
      held = false;
    };
  }

  #shareOf(tenant: Tenant): Share {
    const share = this.#shares.get(tenant) ?? { running: 0, started: new Set(), new: new Set() };
    this.#shares.set(tenant, share);
    return share;
  }

  /** Whether a slot is free that is not reserved for another tenant. */
  #mayTake(tenant: Tenant): boolean {
    const free = this.limit - this.taken;
    const count = this.#sharing?.tenants() ?? 0;
    if (free < 1 || count === 0) return free > 0;
    const kept = Math.max(Math.floor(this.limit / (2 * count)), this.limit > count ? 1 : 0);
    let keptForOthers = 0;
    for (let other = 0; other < count; other += 1) {
      const owed = kept - (this.#shares.get(other)?.running ?? 0);
      if (other === tenant && owed > 0) return true;
      if (other !== tenant) keptForOthers += Math.max(0, owed);
    }
    return free > keptForOthers;
  }

  #wait(queue: Queue, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const onSlot = () => {
        signal.removeEventListener("abort", onAbort);
        resolve();
      };
      const onAbort = () => {
        queue.delete(onSlot);
        reject(signal.reason);
      };
      queue.add(onSlot);
      signal.addEventListener("abort", onAbort);
    });
  }

  /** Hands the slot over to waiting actions, so that one that arrives now cannot take it. */
  #release(tenant: Tenant): void {
    this.#shareOf(tenant).running -= 1;
    // The policy may have fewer tenants by now, so several actions may begin.
    while (this.#handOver());
    for (const [key, share] of this.#shares) if (isUnused(share)) this.#shares.delete(key);
  }

  #handOver(): boolean {
    const next = this.#leastServed();
    if (!next) return false;
    let waiting = 0;
    for (const share of this.#shares.values()) waiting += share.new.size + share.started.size;
    const fewWait = waiting <= this.limit / 2;
    const isForOtherQueue = (this.#handOvers + 1) % OTHER_QUEUE_EVERY === 0;
    const isNewFirst = fewWait !== isForOtherQueue;
    const [first, second] = isNewFirst ? [next.new, next.started] : [next.started, next.new];
    const begin = headOf(first) ?? headOf(second);
    if (!begin) return false;
    this.#handOvers += 1;
    first.delete(begin);
    second.delete(begin);
    next.running += 1;
    begin();
    return true;
  }

  /** The tenant with the fewest slots among those with waiting actions that may take one. */
  #leastServed(): Share | undefined {
    let least: Share | undefined;
    for (const [tenant, share] of this.#shares) {
      if (share.new.size + share.started.size === 0 || !this.#mayTake(tenant)) continue;
      if (!least || share.running < least.running) least = share;
    }
    return least;
  }
}

function isUnused({ running, started, new: fresh }: Share): boolean {
  return running + started.size + fresh.size === 0;
}

function headOf(queue: Queue): (() => void) | undefined {
  const [head] = queue;
  return head;
}

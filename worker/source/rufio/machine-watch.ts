import { z } from "zod";
import type { Clock } from "../../../shared/clock.ts";
import { BmcError } from "../../../shared/contract/bmc-error.ts";
import type { PowerState } from "../../../shared/contract/vocabulary.ts";
import { logOutage } from "../../../shared/log-outage.ts";
import type { Logger } from "../../../shared/logger.ts";
import { textOf } from "../../../shared/text-of.ts";
import { TimeoutReached, withTimeout } from "../../../shared/timeout.ts";
import type { Observer } from "../../action/observer.ts";
import type { Cluster } from "../../cluster/client/cluster.ts";
import { KINDS, type ObjectName } from "../../cluster/client/kinds.ts";
import { isKubernetesError } from "../../cluster/client/kubernetes-error.ts";
import type { Change } from "../../cluster/client/watched-objects.ts";
import { DueTimes } from "./due-times.ts";
import { type MachineSeen, machineStatus, seenByError, seenByOutcome } from "./machine-seen.ts";
import { keyOf, MachineObject, nameOfKey, type RufioMachine } from "./objects.ts";
import { patchStatus } from "./patch-status.ts";
import { LeaseHeld, type RufioLease } from "./rufio-lease.ts";
import { type RufioObjects, shareKey } from "./rufio-objects.ts";

export interface MachineWatchOptions {
  readonly cluster: Pick<Cluster, "find" | "patch">;
  readonly objects: Pick<RufioObjects, "isSynced" | "machines">;
  readonly lease: Pick<RufioLease, "isFree" | "confirmFree">;
  readonly owns: (key: string) => boolean;
  readonly machineName: (machine: ObjectName) => string;
  /**
   * At the machine's turn, within a time of its own. Rejects with a `BmcError`, whose class and message are written, or with the
   * signal's reason, and then nothing is known: the machine was busy all the time.
   */
  readonly readPower: (machineName: string, signal: AbortSignal) => Promise<PowerState>;
  /** 0 is only after actions. */
  readonly intervalMs: number;
  readonly mostReads: number;
  readonly clock: Clock;
  readonly log: Logger;
  readonly random: () => number;
}

interface Refused {
  /** The version of the Secret that was refused; undefined where it cannot be seen. */
  readonly secretVersion: string | undefined;
  readonly sinceMs: number;
}

interface Watched {
  /** The actions of this worker at the machine, by key. */
  readonly actions: Set<string>;
  underWay: boolean;
  /** Something has happened while it was looked at. */
  again: boolean;
  refused?: Refused;
  /** What is to be written. */
  unwritten?: MachineSeen;
}

/** So much earlier or later than the interval says, so that machines do not come together. */
const JITTER = 0.1;
/** After an action, so that the next one of a Job comes first. */
const AFTER_ACTION_MS = 2_000;
/** A new Machine, or one whose connection has changed, is looked at so soon. */
const NEW_WITHIN_MS = 2_000;
/** The longest that a read may wait for its turn and be made. */
const READ_WITHIN_MS = 120_000;
const WRITE_AGAIN_MS = 30_000;
/** Whether a refused password has been changed is seen in its Secret, which no BMC counts. */
const LOOK_AT_SECRET_MS = 60_000;
/** A BMC may have been told the password that the Secret has: one try a day locks no account. */
const REFUSED_AGAIN_MS = 24 * 60 * 60_000;

const Versioned = z.object({ metadata: z.object({ resourceVersion: z.string() }) });

/** Keeps the status of Machines: power state, and whether they can be reached. */
export class MachineWatch {
  readonly #options: MachineWatchOptions;
  readonly #due = new DueTimes();
  readonly #watched = new Map<string, Watched>();
  /** Keys by the inventory's names. */
  readonly #keys = new Map<string, string>();
  /** Keys of the Machines that actions are at, by the actions' keys. */
  readonly #busy = new Map<string, string>();
  #wake = Promise.withResolvers<void>();
  #saidFailing = false;

  constructor(options: MachineWatchOptions) {
    this.#options = options;
  }

  /** What actions read on their way costs no round trip. */
  readonly observer: Partial<Observer> = {
    action: (event) => {
      switch (event.kind) {
        case "started":
          if (event.machine !== undefined) this.#actionStarted(event.action.key, event.machine);
          return;
        case "returned":
          this.#actionLeft(event.action.key);
          return;
        case "ended": {
          const { outcome } = event;
          const key = this.#actionLeft(event.action.key) ?? this.#keys.get(event.machine ?? "");
          if (key !== undefined) this.#actionEnded(key, seenByOutcome(outcome), outcome.ok);
        }
      }
    },
  };

  /** Until the signal aborts and no read is under way. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, mostReads } = this.#options;
    const wake = () => this.#wake.resolve();
    signal.addEventListener("abort", wake, { once: true });
    const underWay = new Set<Promise<void>>();
    while (!signal.aborted) {
      this.#wake = Promise.withResolvers();
      while (underWay.size < mostReads) {
        const key = this.#due.take(clock.monotonicMs());
        if (key === undefined) break;
        const one = this.#visit(key, signal).finally(() => {
          underWay.delete(one);
          wake();
        });
        underWay.add(one);
      }
      const firstMs = underWay.size < mostReads ? this.#due.firstMs : undefined;
      await this.#pause(firstMs, signal);
    }
    signal.removeEventListener("abort", wake);
    await Promise.all(underWay);
  }

  machineChanged(change: Change<RufioMachine>): void {
    const key = keyOf(change.name);
    const { intervalMs, objects, machineName, random } = this.#options;
    const inventoryName = machineName(change.name);
    if (change.kind === "gone" || change.value.deleted) {
      this.#due.delete(key);
      this.#watched.delete(key);
      this.#keys.delete(inventoryName);
      return;
    }
    const { before, value } = change;
    const watched = this.#watched.get(key);
    const isSame = before?.uid === value.uid && before.connection === value.connection;
    if (watched && isSame) return;
    this.#keys.set(inventoryName, key);
    if (watched) {
      delete watched.refused;
      delete watched.unwritten;
    } else this.#watched.set(key, { actions: new Set(), underWay: false, again: false });
    // Those of the first list are spread by `lookAtAll`.
    if (intervalMs > 0 && objects.isSynced) this.#at(key, NEW_WITHIN_MS * random());
  }

  /** Spreads those over the interval that nobody looks at yet: who may has changed, or all have been seen. */
  lookAtAll(): void {
    const { intervalMs, random, objects } = this.#options;
    if (intervalMs === 0) return;
    for (const { name, deleted } of objects.machines.values()) {
      const key = keyOf(name);
      if (!deleted && !this.#due.has(key) && this.#isMine(name)) this.#at(key, intervalMs * random());
    }
  }

  #isMine(machine: ObjectName): boolean {
    const { lease, owns } = this.#options;
    return lease.isFree && owns(shareKey(machine));
  }

  #actionStarted(action: string, machineName: string): void {
    const key = this.#keys.get(machineName);
    const watched = key === undefined ? undefined : this.#watched.get(key);
    if (key === undefined || !watched) return;
    watched.actions.add(action);
    this.#busy.set(action, key);
  }

  /** Gives the key of the Machine that it was at. */
  #actionLeft(action: string): string | undefined {
    const key = this.#busy.get(action);
    this.#busy.delete(action);
    if (key !== undefined) this.#watched.get(key)?.actions.delete(action);
    return key;
  }

  #actionEnded(key: string, seen: MachineSeen | undefined, ok: boolean): void {
    const watched = this.#watched.get(key);
    if (!watched) return;
    if (ok) delete watched.refused;
    delete watched.unwritten;
    if (seen) watched.unwritten = seen;
    this.#at(key, seen ? 0 : AFTER_ACTION_MS);
  }

  #at(key: string, inMs: number): void {
    this.#due.set(key, this.#options.clock.monotonicMs() + inMs);
    this.#wake.resolve();
  }

  /** At the Machine's time: reads its power, or writes what is known of it. Never rejects. */
  async #visit(key: string, signal: AbortSignal): Promise<void> {
    const watched = this.#watched.get(key);
    if (!watched) return;
    if (!this.#isMine(nameOfKey(key))) {
      // Whoever looks at it from now on knows better.
      delete watched.unwritten;
      return;
    }
    if (watched.underWay) {
      watched.again = true;
      return;
    }
    watched.underWay = true;
    let nextMs: number;
    try {
      nextMs = (await this.#look(key, watched, signal)) ?? this.#usualMs();
    } catch (thrown) {
      if (signal.aborted) return;
      nextMs = this.#failed(key, thrown);
    } finally {
      watched.underWay = false;
    }
    const again = this.#watched.get(key)?.again;
    watched.again = false;
    if (again) this.#at(key, 0);
    else if (this.#watched.has(key) && nextMs > 0 && !this.#due.has(key)) this.#at(key, nextMs);
  }

  /** Resolves to when to come again where that is not as usual. */
  async #look(key: string, watched: Watched, signal: AbortSignal): Promise<number | undefined> {
    const whenRefused = () => (watched.refused ? LOOK_AT_SECRET_MS : undefined);
    if (watched.unwritten) {
      await this.#writeDown(key, watched, watched.unwritten, signal);
      return whenRefused();
    }
    // Its end says what is to be known.
    if (watched.actions.size > 0) return undefined;
    if (watched.refused && !(await this.#mayTryAgain(key, watched.refused, signal))) return LOOK_AT_SECRET_MS;
    const seen = await this.#read(key, signal);
    // Without an answer an action was at it all the time; one that has begun or ended meanwhile knows better.
    if (!seen || watched.actions.size > 0 || watched.unwritten) return undefined;
    delete watched.refused;
    watched.unwritten = seen;
    await this.#writeDown(key, watched, seen, signal);
    return whenRefused();
  }

  async #writeDown(key: string, watched: Watched, seen: MachineSeen, signal: AbortSignal): Promise<void> {
    if (!seen.contactable && seen.refused && !watched.refused) await this.#remember(key, watched, signal);
    await this.#write(key, seen, signal);
    if (watched.unwritten === seen) delete watched.unwritten;
  }

  async #read(key: string, signal: AbortSignal): Promise<MachineSeen | undefined> {
    const { readPower, machineName } = this.#options;
    const machine = machineName(nameOfKey(key));
    try {
      const power = await withTimeout(READ_WITHIN_MS, signal, (bound) => readPower(machine, bound));
      return { contactable: true, power };
    } catch (thrown) {
      signal.throwIfAborted();
      if (thrown instanceof TimeoutReached) return undefined;
      return seenByError(BmcError.from(thrown));
    }
  }

  async #write(key: string, seen: MachineSeen, signal: AbortSignal): Promise<void> {
    const { cluster, objects, lease, clock, log } = this.#options;
    const name = nameOfKey(key);
    const machine = objects.machines.get(name);
    if (!machine) return;
    const { uid, resourceVersion, status } = machine;
    if (!machineStatus(status, seen, clock.now())) return;
    await lease.confirmFree(signal);
    const patched = await patchStatus(
      cluster,
      {
        ...{ kind: KINDS.rufioMachine, name, uid, schema: MachineObject, known: { resourceVersion, status } },
        change: (found) => machineStatus(found, seen, clock.now()),
      },
      signal,
    );
    this.#saidFailing = false;
    if (patched !== "written") return;
    if (seen.contactable) log.debug({ rufioMachine: key, power: seen.power }, "Rufio machine status updated");
    else log.info({ rufioMachine: key, reason: seen.message }, "Rufio machine not contactable");
  }

  async #remember(key: string, watched: Watched, signal: AbortSignal): Promise<void> {
    const secretVersion = await this.#secretVersion(key, signal);
    watched.refused = { secretVersion, sinceMs: this.#options.clock.monotonicMs() };
  }

  async #mayTryAgain(key: string, refused: Refused, signal: AbortSignal): Promise<boolean> {
    if (this.#options.clock.monotonicMs() - refused.sinceMs >= REFUSED_AGAIN_MS) return true;
    const version = await this.#secretVersion(key, signal);
    return version !== undefined && version !== refused.secretVersion;
  }

  /** Undefined where there is no Secret, or no right to see it. */
  async #secretVersion(key: string, signal: AbortSignal): Promise<string | undefined> {
    const { cluster, objects } = this.#options;
    const secret = objects.machines.get(nameOfKey(key))?.secret;
    if (!secret) return undefined;
    try {
      return (await cluster.find(KINDS.secret, secret, Versioned, signal))?.metadata.resourceVersion;
    } catch (thrown) {
      if (isKubernetesError(thrown, "forbidden")) return undefined;
      throw thrown;
    }
  }

  #failed(key: string, thrown: unknown): number {
    const { log } = this.#options;
    if (thrown instanceof LeaseHeld) return WRITE_AGAIN_MS;
    const error = textOf(thrown);
    const facts = { rufioMachine: key, error, waitMs: WRITE_AGAIN_MS };
    logOutage(log, !this.#saidFailing, facts, "Rufio machine status update failed, retrying");
    this.#saidFailing = true;

    return WRITE_AGAIN_MS;
  }

  #usualMs(): number {
    const { intervalMs, random } = this.#options;
    return intervalMs * (1 - JITTER + 2 * JITTER * random());
  }

  async #pause(untilMs: number | undefined, signal: AbortSignal): Promise<void> {
    if (untilMs === undefined) return this.#wake.promise;
    const { clock } = this.#options;
    const slept = new AbortController();
    const waitMs = Math.max(0, untilMs - clock.monotonicMs());
    const over = clock.sleep(waitMs, AbortSignal.any([signal, slept.signal])).catch(() => undefined);
    await Promise.race([this.#wake.promise, over]);
    slept.abort();
  }
}

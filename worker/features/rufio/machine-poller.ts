import { z } from "zod";
import type { Clock } from "../../../shared/clock.ts";
import { BmcError } from "../../../shared/contract/bmc-error.ts";
import type { PowerState } from "../../../shared/contract/vocabulary.ts";
import { logOutage } from "../../../shared/log-outage.ts";
import type { Logger } from "../../../shared/logger.ts";
import type { Observer } from "../../core/action/observer.ts";
import type { Cluster } from "../../kubernetes/client/cluster.ts";
import { KINDS, keyOf, type ObjectName } from "../../kubernetes/client/kinds.ts";
import { isKubernetesError } from "../../kubernetes/client/kubernetes-error.ts";
import type { Change } from "../../kubernetes/client/watched-objects.ts";
import { Controller } from "../../kubernetes/controller/controller.ts";
import { MachinePaused } from "../../machines/pause.ts";
import type { ReferenceRefusal } from "../../policy/reference.ts";
import { Survey } from "../shared/survey.ts";
import { type MachineReading, machineStatus, readingOfError, readingOfOutcome } from "./machine-status.ts";
import { patchStatus } from "./patch-status.ts";
import type { MachineStatus, RufioMachine } from "./rufio-api.ts";
import type { RufioController } from "./rufio-controller.ts";
import { MachineObject } from "./rufio-kinds.ts";
import { LeaseHeld, type RufioLease } from "./rufio-lease.ts";
import { type RufioObjects, shareKey } from "./rufio-objects.ts";
import { type MissingSecret, secretRetryMs } from "./secret-retry.ts";

export interface MachinePollerOptions {
  readonly cluster: Cluster;
  readonly objects: RufioObjects;
  readonly lease: RufioLease;
  readonly owns: (key: string) => boolean;
  readonly machineName: (machine: ObjectName) => string;
  /**
   * Reads the power state under the machine's lock, with its own timeout. Rejects with a `BmcError`, which is written
   * to the status, or with the signal's reason if the machine was busy all the time.
   */
  readonly getPower: (machineName: string, signal: AbortSignal) => Promise<PowerState>;
  readonly references: ReferenceRefusal;
  readonly missingSecret: MissingSecret;
  /** How often to read each Machine's power state; 0 means only after actions. */
  readonly intervalMs: number;
  readonly maxReads: number;
  readonly clock: Clock;
  readonly log: Logger;
  readonly random: () => number;
}

interface Refused {
  /** The version of the refused Secret; undefined if it cannot be read. */
  readonly secretVersion: string | undefined;
  readonly sinceMs: number;
}

interface Watched {
  readonly name: ObjectName;
  refused?: Refused;
  /** The reading to write. */
  pending?: MachineReading;
}

const JITTER = 0.1;
/** The delay of the read after an action, so that the next action of a Job comes first. */
const AFTER_ACTION_MS = 2_000;
/** A new Machine, or one with a new connection, is read within this time. */
const NEW_WITHIN_MS = 2_000;
/** The time limit for waiting for the lock and reading together. */
const READ_WITHIN_MS = 120_000;
const RETRY_MS = 30_000;
const MAX_WRITES = 16;
/** How often to check whether the Secret with a refused password has changed. The check does not contact the BMC. */
const CHECK_SECRET_MS = 60_000;
/** How often to retry a refused password, which may have become valid. One attempt per day does not lock the account. */
const REFUSED_RETRY_MS = 24 * 60 * 60_000;

const Versioned = z.object({ metadata: z.object({ resourceVersion: z.string() }) });

/** Keeps the status of Machines up to date: reads their power states at intervals, and writes whether they are on and reachable. */
export class MachinePoller implements RufioController {
  readonly #options: MachinePollerOptions;
  readonly #reads: Survey;
  readonly #writes: Controller;
  /** The Machines, by their names in the inventory. */
  readonly #watched = new Map<string, Watched>();
  /** Machines whose Secret could not be read. */
  readonly #secretless = new Set<string>();

  constructor(options: MachinePollerOptions) {
    this.#options = options;
    const { clock, log, machineName, maxReads } = options;
    this.#reads = new Survey({
      visit: (machine, signal) => this.#read(machine, signal),
      onFailure: (machine, { message: error }, failures) => {
        logOutage(log, failures === 1, { machine, error }, "Rufio machine read failed, retrying");
        return RETRY_MS;
      },
      visitWithinMs: READ_WITHIN_MS,
      failsWhenLate: false,
      concurrency: maxReads,
      namespaceOf: (machine) => this.#watched.get(machine)?.name.namespace,
      clock,
    });
    this.#writes = new Controller({
      reconcile: (name, signal) => this.#write(machineName(name), signal),
      isExpected: (thrown) => thrown instanceof LeaseHeld,
      failure: {
        message: "Rufio machine status update failed, retrying",
        field: "rufioMachine",
        warnsOncePer: "controller",
      },
      retry: { firstMs: RETRY_MS, maxMs: RETRY_MS },
      concurrency: MAX_WRITES,
      clock,
      log,
    });
  }

  /** Uses the power states that actions report, which saves a read. */
  readonly observer: Observer = {
    action: (event) => {
      const machine = this.#reads.see(event);
      if (machine === undefined || event.kind !== "ended") return;
      this.#actionEnded(machine, readingOfOutcome(event.outcome), event.outcome.ok);
    },
  };

  /** Runs until the signal aborts and no read is in flight. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([this.#reads.run(signal), this.#writes.run(signal)]);
  }

  machineChanged(change: Change<RufioMachine>): void {
    const { name } = change;
    const { intervalMs, objects, machineName, random } = this.#options;
    const machine = machineName(name);
    if (change.kind === "gone" || change.value.deleted || change.value.paused) {
      this.#reads.forget(machine);
      this.#writes.cancel(name);
      this.#watched.delete(machine);
      this.#secretless.delete(machine);
      return;
    }
    const { before, value } = change;
    const isSame = before?.uid === value.uid && before.connection === value.connection;
    if (this.#watched.has(machine) && isSame) return;
    this.#watched.set(machine, { name });
    // `recheckAll` schedules the Machines of the first list.
    if (intervalMs > 0 && objects.isSynced) this.#reads.visitAfter(machine, NEW_WITHIN_MS * random());
  }

  /** Spreads the reads of all unscheduled Machines over the interval. */
  recheckAll(): void {
    const { intervalMs, random } = this.#options;
    if (intervalMs === 0) return;
    for (const [machine, { name }] of this.#watched) {
      // A read in flight schedules the next one itself.
      if (!this.#reads.has(machine) && this.#isMine(name))
        this.#reads.visitAfter(machine, intervalMs * random());
    }
  }

  #isMine(machine: ObjectName): boolean {
    const { lease, owns } = this.#options;
    return lease.isFree && owns(shareKey(machine));
  }

  #actionEnded(machine: string, seen: MachineReading | undefined, ok: boolean): void {
    const watched = this.#watched.get(machine);
    if (!watched) return;
    if (ok) delete watched.refused;
    delete watched.pending;
    if (seen) this.#keep(watched, seen);
    const nextMs = seen ? this.#nextMs(machine, seen) : AFTER_ACTION_MS;
    if (nextMs !== undefined) this.#reads.visitAfter(machine, nextMs);
  }

  #keep(watched: Watched, seen: MachineReading): void {
    if (!this.#isMine(watched.name)) return;
    watched.pending = seen;
    this.#writes.add(watched.name);
  }

  /** Resolves to the time until the next read. */
  async #read(machine: string, signal: AbortSignal): Promise<number | undefined> {
    const watched = this.#watched.get(machine);
    if (!watched || !this.#isMine(watched.name)) return undefined;
    const { refused, pending } = watched;
    if (pending) return RETRY_MS;
    if (refused && !(await this.#mayRetry(watched.name, refused, signal))) return CHECK_SECRET_MS;
    const seen = await this.#readPower(machine, signal);
    if (this.#watched.get(machine) !== watched) return undefined;
    delete watched.refused;
    this.#keep(watched, seen);
    return this.#nextMs(machine, seen);
  }

  async #readPower(machine: string, signal: AbortSignal): Promise<MachineReading> {
    const { getPower, missingSecret } = this.#options;
    try {
      const power = await getPower(machine, signal);
      this.#secretless.delete(machine);
      return { contactable: true, power };
    } catch (thrown) {
      signal.throwIfAborted();
      if (thrown instanceof MachinePaused) throw thrown;
      const error = BmcError.from(thrown);
      const isSecretless = error.class === "usage" && (await missingSecret(machine, signal)) !== undefined;
      this.#secretless[isSecretless ? "add" : "delete"](machine);
      return readingOfError(error);
    }
  }

  /** Writes the pending reading of a Machine. */
  async #write(machine: string, signal: AbortSignal): Promise<undefined> {
    const watched = this.#watched.get(machine);
    const seen = watched?.pending;
    if (!watched || !seen) return;
    // Drop the reading if another worker owns the Machine now, because that worker has a newer one.
    if (this.#isMine(watched.name)) {
      if (!seen.contactable && seen.refused && !watched.refused) {
        const secretVersion = await this.#secretVersion(watched.name, signal);
        watched.refused = { secretVersion, sinceMs: this.#options.clock.monotonicMs() };
      }
      await this.#writeStatus(watched.name, seen, signal);
    }
    if (watched.pending === seen) delete watched.pending;
  }

  async #writeStatus(name: ObjectName, seen: MachineReading, signal: AbortSignal): Promise<void> {
    const { cluster, objects, lease, clock, log } = this.#options;
    const machine = objects.machines.get(name);
    if (!machine) return;
    const { uid, resourceVersion, status } = machine;
    if (!machineStatus(status, seen, clock.now())) return;
    await lease.confirmFree(signal);
    const known = { resourceVersion, status };
    const change = (found: MachineStatus) => machineStatus(found, seen, clock.now());
    const object = { kind: KINDS.rufioMachine, name, uid, schema: MachineObject, known };
    if ((await patchStatus(cluster, object, change, signal)) !== "written") return;
    const facts = { rufioMachine: keyOf(name) };
    if (seen.contactable) log.debug({ ...facts, power: seen.power }, "Rufio machine status updated");
    else log.info({ ...facts, reason: seen.message }, "Rufio machine not contactable");
  }

  async #mayRetry(name: ObjectName, refused: Refused, signal: AbortSignal): Promise<boolean> {
    if (this.#options.clock.monotonicMs() - refused.sinceMs >= REFUSED_RETRY_MS) return true;
    const version = await this.#secretVersion(name, signal);
    return version !== undefined && version !== refused.secretVersion;
  }

  /** Resolves to the version of the Machine's Secret; undefined if there is none or the worker may not read it. */
  async #secretVersion(name: ObjectName, signal: AbortSignal): Promise<string | undefined> {
    const { cluster, objects, references } = this.#options;
    const secret = objects.machines.get(name)?.secret;
    if (!secret) return undefined;
    const from = { kind: KINDS.rufioMachine.kind, ...name };
    if (references({ from, to: { kind: "Secret", ...secret } }) !== undefined) return undefined;
    try {
      return (await cluster.find(KINDS.secret, secret, Versioned, signal))?.metadata.resourceVersion;
    } catch (thrown) {
      if (isKubernetesError(thrown, "forbidden")) return undefined;
      throw thrown;
    }
  }

  /** The time until the next read; undefined if none follows. */
  #nextMs(machine: string, seen: MachineReading): number | undefined {
    const { intervalMs, random } = this.#options;
    if (this.#secretless.has(machine)) return secretRetryMs(this.#secretless.size);
    if (!seen.contactable && seen.refused) return CHECK_SECRET_MS;
    return intervalMs > 0 ? intervalMs * (1 - JITTER + 2 * JITTER * random()) : undefined;
  }
}

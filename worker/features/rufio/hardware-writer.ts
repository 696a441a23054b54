import * as z from "zod/mini";
import type { Clock } from "../../../shared/clock.ts";
import { logOutage } from "../../../shared/log-outage.ts";
import type { Logger } from "../../../shared/logger.ts";
import { textOf } from "../../../shared/text-of.ts";
import { WorkQueue } from "../../../shared/work-queue.ts";
import type { HardwareOfMachines, HardwareReading } from "../../core/action/hardware-seen.ts";
import type { Cluster } from "../../kubernetes/client/cluster.ts";
import { apiVersionOf, KINDS, keyOf, nameOfKey, type ObjectName } from "../../kubernetes/client/kinds.ts";
import { isKubernetesError } from "../../kubernetes/client/kubernetes-error.ts";
import { type Change, WatchedObjects } from "../../kubernetes/client/watched-objects.ts";
import { carriedOver } from "./carry-over.ts";
import { timeText } from "./conditions.ts";
import { completeLists, outOfBand } from "./out-of-band.ts";
import type { RufioMachine } from "./rufio-api.ts";
import { canonical, hardwareOf, type RufioHardware } from "./rufio-kinds.ts";
import { LeaseHeld, type RufioLease } from "./rufio-lease.ts";
import { type RufioObjects, shareKey } from "./rufio-objects.ts";

export type HardwareSource = Pick<HardwareOfMachines, "find" | "refresh" | "onRead">;

export interface HardwareWriterOptions {
  readonly cluster: Pick<Cluster, "list" | "watch" | "patch">;
  readonly namespace: string | undefined;
  readonly objects: Pick<RufioObjects, "machines">;
  readonly lease: Pick<RufioLease, "isFree" | "confirmFree">;
  readonly owns: (key: string) => boolean;
  readonly machineName: (machine: ObjectName) => string;
  readonly source: HardwareSource;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Rufio's own field manager, so that either program can continue where the other stopped. */
const FIELD_MANAGER = "machine-controller";
/** How often each Machine is checked for hardware that is too old. Needs no request. */
const CHECK_MS = 5 * 60_000;
const MAX_WRITES = 4;

const Versioned = z.object({ metadata: z.object({ resourceVersion: z.string() }) });

interface Written {
  readonly found: Readonly<Record<string, unknown>>;
  readonly resourceVersion: string;
}

/** Writes `status.attributes.outOfBand` of the Hardware that refers to a Machine, as Rufio does. */
export class HardwareWriter {
  readonly #options: HardwareWriterOptions;
  readonly #hardware: WatchedObjects<RufioHardware>;
  /** Hardware objects, by the key of the Machine that they refer to. */
  readonly #byMachine = new Map<string, Set<string>>();
  /** Keys of Machines, by the inventory's name. */
  readonly #keys = new Map<string, string>();
  readonly #work: WorkQueue;
  /** Machines with several Hardware objects, which were logged. */
  readonly #ambiguous = new Set<string>();
  /** What was written to a Hardware, until the watch shows a change. */
  readonly #written = new Map<string, Written>();
  #isFailing = false;

  constructor(options: HardwareWriterOptions) {
    const { cluster, namespace, clock, log } = options;
    this.#options = options;
    this.#hardware = new WatchedObjects({
      cluster,
      kind: KINDS.hardware,
      selection: { namespace },
      clock,
      log,
      project: hardwareOf,
      onChange: (change) => this.#hardwareChanged(change),
    });
    this.#work = new WorkQueue({
      work: (key, signal) => this.#reconcile(key, signal),
      // `#reconcile` handles its failures itself.
      onFailure: () => undefined,
      clock,
      concurrency: MAX_WRITES,
      tenantOf: (key) => nameOfKey(key).namespace,
    });
  }

  /** Runs until the signal aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    this.#options.source.onRead((machineName) => {
      const key = this.#keys.get(machineName);
      if (key !== undefined) this.#work.add(key);
    });
    await Promise.all([this.#hardware.run(signal), this.#work.run(signal)]);
  }

  machineChanged(change: Change<RufioMachine>): void {
    const key = keyOf(change.name);
    const machineName = this.#options.machineName(change.name);
    if (change.kind === "gone") {
      this.#keys.delete(machineName);
      this.#work.cancel(key);
      return;
    }
    const { before, value } = change;
    this.#keys.set(machineName, key);
    // Rufio's annotation asks for another read when it appears.
    if (before && value.refresh && !before.refresh) this.#options.source.refresh(machineName);
    if (before?.uid !== value.uid || before.paused !== value.paused) this.#work.add(key);
  }

  /** Rechecks all Machines, because ownership has changed. */
  recheckAll(): void {
    for (const key of this.#byMachine.keys()) this.#work.add(key);
  }

  #hardwareChanged(change: Change<RufioHardware>): void {
    const { name, namespace } = change.name;
    const keyFor = ({ machine }: RufioHardware) => keyOf({ namespace, name: machine });
    this.#written.delete(keyOf(change.name));
    if (change.before) {
      const names = this.#byMachine.get(keyFor(change.before));
      names?.delete(name);
      if (names?.size === 0) this.#byMachine.delete(keyFor(change.before));
    }
    if (change.kind === "gone") return;
    const key = keyFor(change.value);
    this.#byMachine.set(key, (this.#byMachine.get(key) ?? new Set()).add(name));
    this.#work.add(key);
  }

  /** Never rejects. */
  async #reconcile(key: string, signal: AbortSignal): Promise<void> {
    const { objects, owns, source, machineName } = this.#options;
    const name = nameOfKey(key);
    const machine = objects.machines.get(name);
    const linked = this.#linked(key);
    if (!machine || machine.deleted || !linked) return;
    if (!this.#work.has(key)) this.#work.addAfter(key, CHECK_MS);
    if (machine.paused || linked.hardware.disabled || !owns(shareKey(name))) return;
    const reading = source.find(machineName(name));
    if (!reading || !this.#options.lease.isFree) return;
    try {
      await this.#write(linked.name, linked.hardware, reading, signal);
    } catch (thrown) {
      if (!signal.aborted) this.#failed(linked.name, thrown);
    }
  }

  /** The only Hardware that refers to the Machine. */
  #linked(key: string): { readonly name: ObjectName; readonly hardware: RufioHardware } | undefined {
    const [first, ...others] = this.#byMachine.get(key) ?? [];
    if (first === undefined) return undefined;
    if (others.length > 0) {
      if (!this.#ambiguous.has(key)) {
        const count = others.length + 1;
        this.#options.log.warn({ rufioMachine: key, count }, "several Hardware objects refer to one Machine");
      }
      this.#ambiguous.add(key);
      return undefined;
    }
    this.#ambiguous.delete(key);
    const name = { namespace: nameOfKey(key).namespace, name: first };
    const hardware = this.#hardware.get(name);
    return hardware && { name, hardware };
  }

  async #write(
    name: ObjectName,
    { resourceVersion, attributes }: RufioHardware,
    { hardware, provider, readAt }: HardwareReading,
    signal: AbortSignal,
  ): Promise<void> {
    const { cluster, lease, log } = this.#options;
    const written = this.#written.get(keyOf(name));
    const before = written?.found ?? attributes;
    const read = { ...outOfBand(hardware), ...(provider && { collectionMethod: provider }) };
    const found = carriedOver(before, read, completeLists(hardware));
    // A new time alone is not worth a write.
    if (canonical(before) === canonical(found)) return;
    await lease.confirmFree(signal);
    const body = {
      apiVersion: apiVersionOf(KINDS.hardware),
      kind: KINDS.hardware.kind,
      // In the status of a custom resource, an API server does not check the UID.
      metadata: { ...name, resourceVersion: written?.resourceVersion ?? resourceVersion },
      status: { attributes: { outOfBand: { ...found, lastUpdated: timeText(readAt.getTime()) } } },
    };
    const options = { type: "apply", body, subresource: "status", fieldManager: FIELD_MANAGER } as const;
    const { metadata } = await cluster.patch(KINDS.hardware, name, options, Versioned, signal);
    this.#written.set(keyOf(name), { found, ...metadata });
    this.#isFailing = false;
    log.debug({ hardware: keyOf(name) }, "Hardware status updated");
  }

  /** Logs a failed write, which the next check repeats. */
  #failed(name: ObjectName, thrown: unknown): void {
    // Changed, replaced or deleted meanwhile, which the watch shows, or Rufio is back.
    if (isKubernetesError(thrown, "not-found") || isKubernetesError(thrown, "conflict")) return;
    if (thrown instanceof LeaseHeld) return;
    const fields = { hardware: keyOf(name), error: textOf(thrown), waitMs: CHECK_MS };
    logOutage(this.#options.log, !this.#isFailing, fields, "Hardware status update failed, retrying");
    this.#isFailing = true;
  }
}

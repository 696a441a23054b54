import * as z from "zod/mini";
import type { Clock } from "../../../shared/clock.ts";
import type { Logger } from "../../../shared/logger.ts";
import type { HardwareOfMachines, HardwareReading } from "../../core/action/hardware-seen.ts";
import type { Cluster } from "../../kubernetes/client/cluster.ts";
import { apiVersionOf, KINDS, keyOf, type ObjectName } from "../../kubernetes/client/kinds.ts";
import { isKubernetesError } from "../../kubernetes/client/kubernetes-error.ts";
import { type Change, WatchedObjects } from "../../kubernetes/client/watched-objects.ts";
import { Controller } from "../../kubernetes/controller/controller.ts";
import { ObjectIndex } from "../../kubernetes/controller/object-index.ts";
import { carriedOver } from "./carry-over.ts";
import { timeText } from "./conditions.ts";
import { completeLists, outOfBand } from "./out-of-band.ts";
import type { RufioMachine } from "./rufio-api.ts";
import type { RufioController } from "./rufio-controller.ts";
import { canonical, hardwareOf, type RufioHardware } from "./rufio-kinds.ts";
import { LeaseHeld, type RufioLease } from "./rufio-lease.ts";
import { type RufioObjects, shareKey } from "./rufio-objects.ts";

export interface HardwareWriterOptions {
  readonly cluster: Cluster;
  readonly namespace: string | undefined;
  readonly objects: RufioObjects;
  readonly lease: RufioLease;
  readonly owns: (key: string) => boolean;
  readonly machineName: (machine: ObjectName) => string;
  readonly source: HardwareOfMachines;
  readonly clock: Clock;
  readonly log: Logger;
}

/** The field manager of Rufio itself, so that either program can take over from the other. */
const FIELD_MANAGER = "machine-controller";
/** How often to check whether a Machine's hardware must be read again. A check sends no request. */
const CHECK_MS = 5 * 60_000;
const MAX_WRITES = 4;

const Versioned = z.object({ metadata: z.object({ resourceVersion: z.string() }) });

interface Written {
  readonly found: Readonly<Record<string, unknown>>;
  readonly resourceVersion: string;
}

/** Writes `status.attributes.outOfBand` of the Hardware that refers to a Machine, as Rufio does. */
export class HardwareWriter implements RufioController {
  readonly #options: HardwareWriterOptions;
  readonly #hardware: WatchedObjects<RufioHardware>;
  /** The Hardware objects that refer to each Machine, by the Machine's key. */
  readonly #byMachine = new ObjectIndex(({ machine }: RufioHardware, { namespace }) => [
    keyOf({ namespace, name: machine }),
  ]);
  /** The Machines, by their names in the inventory. */
  readonly #names = new Map<string, ObjectName>();
  readonly #controller: Controller;
  /** The Machines for which several Hardware objects were logged. */
  readonly #ambiguous = new Set<string>();
  /** The last write to each Hardware, until the watch shows a change. */
  readonly #written = new Map<string, Written>();

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
    this.#controller = new Controller({
      reconcile: (name, signal) => this.#reconcile(name, signal),
      // The object was changed, replaced or deleted meanwhile, which the watch will show, or Rufio is back.
      isExpected: (thrown) =>
        isKubernetesError(thrown, "not-found") ||
        isKubernetesError(thrown, "conflict") ||
        thrown instanceof LeaseHeld,
      failure: {
        message: "Hardware status update failed, retrying",
        field: "rufioMachine",
        warnsOncePer: "controller",
      },
      retry: { firstMs: CHECK_MS, maxMs: CHECK_MS },
      concurrency: MAX_WRITES,
      clock,
      log,
    });
  }

  async run(signal: AbortSignal): Promise<void> {
    this.#options.source.onRead((machineName) => {
      const name = this.#names.get(machineName);
      if (name) this.#controller.add(name);
    });
    await Promise.all([this.#hardware.run(signal), this.#controller.run(signal)]);
  }

  machineChanged(change: Change<RufioMachine>): void {
    const { name } = change;
    const machineName = this.#options.machineName(name);
    if (change.kind === "gone") {
      this.#names.delete(machineName);
      this.#controller.cancel(name);
      return;
    }
    const { before, value } = change;
    this.#names.set(machineName, name);
    // A user adds Rufio's annotation to request another read.
    if (before && value.refresh && !before.refresh) this.#options.source.refresh(machineName);
    if (before?.uid !== value.uid || before.paused !== value.paused) this.#controller.add(name);
  }

  recheckAll(): void {
    for (const { name } of this.#options.objects.machines.values()) this.#controller.add(name);
  }

  #hardwareChanged(change: Change<RufioHardware>): void {
    this.#written.delete(keyOf(change.name));
    this.#byMachine.change(change);
    if (change.kind === "gone") return;
    this.#controller.add({ namespace: change.name.namespace, name: change.value.machine });
  }

  async #reconcile(name: ObjectName, signal: AbortSignal): Promise<number | undefined> {
    const { lease, objects, owns, source, machineName } = this.#options;
    const machine = objects.machines.get(name);
    const linked = this.#linked(keyOf(name));
    if (!machine || machine.deleted || !linked) return undefined;
    const isOurs = !machine.paused && !linked.hardware.disabled && owns(shareKey(name));
    const reading = isOurs ? source.find(machineName(name)) : undefined;
    if (reading && lease.isFree) await this.#write(linked.name, linked.hardware, reading, signal);
    return CHECK_MS;
  }

  /** Finds the Hardware that refers to the Machine; undefined if there are several. */
  #linked(key: string): { readonly name: ObjectName; readonly hardware: RufioHardware } | undefined {
    const [name, ...others] = this.#byMachine.find(key);
    if (name === undefined) return undefined;
    if (others.length > 0) {
      if (!this.#ambiguous.has(key)) {
        const count = others.length + 1;
        this.#options.log.warn({ rufioMachine: key, count }, "several Hardware objects refer to one Machine");
      }
      this.#ambiguous.add(key);
      return undefined;
    }
    this.#ambiguous.delete(key);
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
    // Do not write if only the time has changed.
    if (canonical(before) === canonical(found)) return;
    await lease.confirmFree(signal);
    const body = {
      apiVersion: apiVersionOf(KINDS.hardware),
      kind: KINDS.hardware.kind,
      // The resource version guards against a recreated object: API servers do not check the UID in a custom resource's status.
      metadata: { ...name, resourceVersion: written?.resourceVersion ?? resourceVersion },
      status: { attributes: { outOfBand: { ...found, lastUpdated: timeText(readAt.getTime()) } } },
    };
    const options = { type: "apply", body, subresource: "status", fieldManager: FIELD_MANAGER } as const;
    const { metadata } = await cluster.patch(KINDS.hardware, name, options, Versioned, signal);
    this.#written.set(keyOf(name), { found, ...metadata });
    log.debug({ hardware: keyOf(name) }, "Hardware status updated");
  }
}

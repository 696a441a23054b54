import type { Clock } from "../../../shared/clock.ts";
import type { Logger } from "../../../shared/logger.ts";
import { raceAbort } from "../../../shared/race-abort.ts";
import type { Cluster } from "../../kubernetes/client/cluster.ts";
import { KINDS, type Kind, resourceName } from "../../kubernetes/client/kinds.ts";
import { type Change, WatchedObjects, type WatchState } from "../../kubernetes/client/watched-objects.ts";
import { type ClaimContent, describeClaim } from "./described-claim.ts";
import { describeHost, type HostContent, type Managed } from "./described-host.ts";
import {
  type BmcTarget,
  type Describe,
  type Described,
  describeHardware,
  describeHardwareReference,
  describeMachine,
  type MachineReference,
} from "./described-machine.ts";
import type { ClusterObjects, ClusterSource } from "./machine-index.ts";
import { withMetadata } from "./paused.ts";
import type { MachineWarning } from "./warning-log.ts";

export interface WatchedSourcesOptions {
  readonly cluster: Cluster;
  readonly sources: readonly ClusterSource[];
  /** How to treat BareMetalHosts that Metal3 manages. */
  readonly managedHosts: Managed;
  readonly namespace: string | undefined;
  readonly clock: Clock;
  readonly log: Logger;
  /** Called with the kept parts of an object before and after a change. Must not throw. */
  readonly onChange: (before: unknown, after: unknown) => void;
}

export interface SourceState {
  readonly resource: string;
  /** `absent` means that the API does not serve the resource, which is normal for one of Hardware's versions. */
  readonly state: "waiting" | "watching" | "failing" | "absent";
  readonly objects: number;
  readonly reason?: string;
}

/** How far the first list of objects is. */
export type Progress =
  | { readonly kind: "listed" }
  /** The list is in flight, or has failed for a transient reason. */
  | { readonly kind: "listing"; readonly reason: string }
  /** The list fails until an operator fixes the cause. */
  | { readonly kind: "failed"; readonly reason: string };

/** A watch of objects of any kind. */
interface Watched {
  readonly state: WatchState;
  readonly isSynced: boolean;
  readonly size: number;
}

interface Store {
  readonly kind: Kind;
  readonly objects: Watched;
}

/** Watches the objects that are machines, in all their versions. */
export class WatchedSources {
  readonly #options: WatchedSourcesOptions;
  readonly #machines: WatchedObjects<Described<BmcTarget>>;
  readonly #hardware: WatchedObjects<Described<BmcTarget>>;
  readonly #references: WatchedObjects<Described<MachineReference>>;
  readonly #hosts: WatchedObjects<Described<HostContent>>;
  readonly #claims: WatchedObjects<Described<ClaimContent>>;
  /** Resolves when a watch of Machines is needed: a cluster that uses only v1alpha2 has none. */
  readonly #machinesNeeded = Promise.withResolvers<void>();
  #needsMachines = false;
  #seen = "";

  constructor(options: WatchedSourcesOptions) {
    this.#options = options;
    const { managedHosts, onChange, sources } = options;
    const changed = ({ before, ...change }: Change<unknown>) =>
      onChange(before, change.kind === "set" ? change.value : undefined);
    this.#machines = this.#watch(KINDS.rufioMachine, describeMachine, changed);
    this.#hardware = this.#watch(KINDS.hardwareV1Alpha2, describeHardware, changed);
    this.#references = this.#watch(KINDS.hardware, describeHardwareReference, (change) => {
      if (change.kind === "set" && change.value.content.kind === "reference") this.#need();
      changed(change);
    });
    this.#hosts = this.#watch(KINDS.bareMetalHost, describeHost(managedHosts), changed);
    this.#claims = this.#watch(KINDS.hostClaim, describeClaim, changed);
    if (sources.includes("machines")) this.#need();
  }

  /** Runs until the signal aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    const needed = raceAbort(this.#machinesNeeded.promise, signal).catch(() => undefined);
    const watches = [needed.then(() => this.#machines.run(signal))];
    if (this.#options.sources.includes("hardware")) {
      watches.push(this.#hardware.run(signal), this.#references.run(signal));
    }
    if (this.#options.sources.includes("baremetalhosts")) {
      watches.push(this.#hosts.run(signal), this.#claims.run(signal));
    }
    await Promise.all(watches);
  }

  objects(): ClusterObjects {
    const [hardware, references] = this.#counted();
    return {
      machines: this.#machines.values(),
      hardware: hardware ? this.#hardware.values() : [],
      references: references ? this.#references.values() : [],
      hosts: this.#hosts.values(),
      claims: this.#claims.values(),
      findHost: (name) => this.#hosts.get(name),
      findMachine: (name) => this.#machines.get(name),
      machinesUnseen: unseen(this.#machines),
    };
  }

  progress(): Progress {
    const each = [...this.#groups(), ...this.#optionalGroups()].map(progressOf);
    const isKind = (kind: Progress["kind"]) => each.filter((progress) => progress.kind === kind);
    return isKind("listing")[0] ?? isKind("failed")[0] ?? { kind: "listed" };
  }

  states(): readonly SourceState[] {
    return [...this.#groups(), ...this.#optionalGroups()].flat().map(stateOf);
  }

  /** Whether availability has changed since the last call in a way that changes the index. */
  look(): boolean {
    const seen = JSON.stringify([this.#counted(), unseen(this.#machines)]);
    const isNew = seen !== this.#seen;
    this.#seen = seen;
    return isNew;
  }

  warnings(): readonly MachineWarning[] {
    return this.#groups().flatMap(([first, ...others]) => {
      const isServed = [first, ...others].some((store) => store && !isAbsent(store.objects));
      return isServed || !first ? [] : [{ kind: "not-served", resource: resourceName(first.kind) } as const];
    });
  }

  #groups(): readonly (readonly Store[])[] {
    const machines = [{ kind: KINDS.rufioMachine, objects: this.#machines }];
    const hardware = [
      { kind: KINDS.hardwareV1Alpha2, objects: this.#hardware },
      { kind: KINDS.hardware, objects: this.#references },
    ];
    const hosts = [{ kind: KINDS.bareMetalHost, objects: this.#hosts }];
    return [
      ...(this.#needsMachines ? [machines] : []),
      ...(this.#options.sources.includes("hardware") ? [hardware] : []),
      ...(this.#options.sources.includes("baremetalhosts") ? [hosts] : []),
    ];
  }

  /** The kinds that a cluster may lack: older versions of Metal3 have no HostClaims. */
  #optionalGroups(): readonly (readonly Store[])[] {
    const isUsed = this.#options.sources.includes("baremetalhosts") && !isAbsent(this.#claims);
    return isUsed ? [[{ kind: KINDS.hostClaim, objects: this.#claims }]] : [];
  }

  /** Which versions of Hardware count, the newer one first. Objects of a version that is no longer served do not. */
  #counted(): readonly [boolean, boolean] {
    const isServed = (objects: Watched) => objects.isSynced && !isAbsent(objects);
    return [
      !isAbsent(this.#hardware) || !isServed(this.#references),
      !isAbsent(this.#references) || !isServed(this.#hardware),
    ];
  }

  #need(): void {
    this.#needsMachines = true;
    this.#machinesNeeded.resolve();
  }

  #watch<Content>(
    kind: Kind,
    project: Describe<Content>,
    onChange: (change: Change<Described<Content>>) => void,
  ): WatchedObjects<Described<Content>> {
    const { cluster, namespace, clock, log } = this.#options;
    const objects: WatchedObjects<Described<Content>> = new WatchedObjects({
      cluster,
      kind,
      selection: { namespace },
      project: withMetadata(kind, project),
      onChange,
      clock,
      log: quietWhile(() => isAbsent(objects), log),
    });
    return objects;
  }
}

function isAbsent({ state }: Watched): boolean {
  return state.kind === "failing" && state.error.reason === "no-such-kind";
}

function unseen({ state, isSynced }: Watched): string | undefined {
  if (state.kind === "failing") return state.error.message;
  return isSynced ? undefined : "they are not listed yet";
}

function progressOf(stores: readonly Store[]): Progress {
  const served = stores.filter(({ objects }) => !isAbsent(objects));
  const [first] = stores;
  if (first && served.length === 0) {
    return { kind: "failed", reason: `the cluster does not serve ${resourceName(first.kind)}` };
  }
  const unlisted = served.find(({ objects }) => !objects.isSynced);
  if (!unlisted) return { kind: "listed" };
  const { state } = unlisted.objects;
  if (state.kind !== "failing") {
    return { kind: "listing", reason: `${resourceName(unlisted.kind)} are not listed yet` };
  }
  const { passing, reason, message } = state.error;
  return { kind: passing || reason === "expired" ? "listing" : "failed", reason: message };
}

function stateOf({ kind, objects }: Store): SourceState {
  const { state, size } = objects;
  const resource = `${resourceName(kind)}/${kind.version}`;
  if (state.kind !== "failing") return { resource, state: state.kind, objects: size };
  if (isAbsent(objects)) return { resource, state: "absent", objects: size };
  return { resource, state: "failing", objects: size, reason: state.error.message };
}

/** Turns warnings into debug messages while `isQuiet` returns true. A version that is not served is reported only if none is. */
function quietWhile(isQuiet: () => boolean, log: Logger): Logger {
  const debug = log.debug.bind(log);
  const warn = log.warn.bind(log);
  return {
    debug,
    info: log.info.bind(log),
    warn: (...said) => (isQuiet() ? debug : warn)(...said),
    error: log.error.bind(log),
  };
}

import { expect } from "vitest";
import { type Clock, systemClock } from "../../../../shared/clock.ts";
import { BmcError } from "../../../../shared/contract/bmc-error.ts";
import type { Connection } from "../../../../shared/contract/connection.ts";
import type { FakeCluster, FakeClusterOptions, RbacRule } from "../../../../simulators/kubernetes/cluster.ts";
import {
  ClusterInventory,
  type MachineChanges,
} from "../../../../worker/features/cluster-machines/cluster-inventory.ts";
import type { ClusterSource } from "../../../../worker/features/cluster-machines/machine-index.ts";
import { ownAccess } from "../../../../worker/features/cluster-machines/machine-sources.ts";
import type { Cluster } from "../../../../worker/kubernetes/client/cluster.ts";
import { SecretCommands } from "../../../../worker/machines/secret-commands.ts";
import { referenceRefusal } from "../../../../worker/policy/decide.ts";
import { Policy } from "../../../../worker/policy/policy.ts";
import { type FakeClusterLab, openFakeCluster } from "../../../support/fake-cluster.ts";
import { type KeptLine, keptLog } from "../../../support/kept-log.ts";

export const NAMESPACE = "tink-system";
export const MACHINES = "bmc.tinkerbell.org/v1alpha1";
export const HARDWARE = "tinkerbell.org/v1alpha1";
export const NEW_HARDWARE = "tinkerbell.org/v1alpha2";
/** What the other side may take until the inventory has seen it. */
export const SOON = { timeout: 20_000, interval: 20 };

export interface InventoryLabOptions {
  readonly fake?: FakeClusterOptions;
  readonly sources?: readonly ClusterSource[];
  readonly watchNamespace?: string;
  readonly managedHosts?: "refuse" | "via-host";
  /** `references` of the policy. */
  readonly references?: readonly object[];
  /** What the worker may do; everything when absent. */
  readonly rights?: readonly RbacRule[];
  /** A faster one where a test would wait for the worker to look again. */
  readonly clock?: Clock;
  /** What is there before the worker looks. */
  readonly before?: (fake: FakeCluster) => void | Promise<void>;
}

/** An inventory of a cluster that is really asked over HTTPS. */
export class InventoryLab {
  readonly fake: FakeCluster;
  readonly inventory: ClusterInventory;
  readonly said: readonly KeptLine[];
  readonly changes: MachineChanges[] = [];
  readonly #there: FakeClusterLab;
  readonly #stop = new AbortController();
  readonly #ended: Promise<void>;

  private constructor(there: FakeClusterLab, cluster: Cluster, options: InventoryLabOptions) {
    const { sources = ["machines"], watchNamespace = NAMESPACE, clock = systemClock } = options;
    const { said, log } = keptLog();
    this.said = said;
    this.fake = there.fake;
    this.#there = there;
    this.inventory = new ClusterInventory({
      sources: [{ name: "local", kinds: sources, isOwn: true, access: ownAccess(cluster), watchNamespace }],
      managedHosts: options.managedHosts ?? "refuse",
      references: referenceRefusal(() => Policy.parse({ references: options.references })),
      ...{ clock, log },
      onChange: (changes) => this.changes.push(changes),
    });
    this.#ended = this.inventory.run(this.#stop.signal);
  }

  static async start(options: InventoryLabOptions = {}): Promise<InventoryLab> {
    const { rights, clock, before } = options;
    const there = await openFakeCluster({ ...options.fake, ...(rights && { rights }) });
    await before?.(there.fake);
    return new InventoryLab(there, await there.connect({ ...(clock && { clock }) }), options);
  }

  /** Waits until all that there is was seen. */
  async synced(): Promise<void> {
    expect(await this.inventory.synced(AbortSignal.timeout(20_000))).toEqual({ ok: true });
  }

  names(): readonly string[] {
    return this.inventory.machines().map(({ name }) => name);
  }

  /** The watches of the only source. */
  watches() {
    return this.inventory.state().sources.flatMap(({ watches }) => watches);
  }

  /** Reads the connection for an action of a workflow in the namespace. */
  async connect(name: string, namespace: string | undefined = NAMESPACE): Promise<Connection> {
    const machine = this.inventory.find(name, namespace);
    if (!machine) throw new Error(`there is no machine ${name}`);
    return this.inventory.resolveConnection(machine, reading());
  }

  /** Why an action for the machine fails. */
  async failure(name: string, namespace?: string): Promise<BmcError> {
    return failureOf(() => this.connect(name, namespace));
  }

  warnings(): readonly KeptLine[] {
    return this.said.filter(({ level }) => level === "warn");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#ended;
    await this.inventory.close();
    await this.#there[Symbol.asyncDispose]();
  }
}

export function reading(signal: AbortSignal = new AbortController().signal) {
  return { commands: new SecretCommands(), signal };
}

export async function failureOf(act: () => Promise<unknown>): Promise<BmcError> {
  const thrown: unknown = await act().then(
    () => undefined,
    (error: unknown) => error,
  );
  if (!(thrown instanceof BmcError)) throw new Error(`expected a BmcError, got ${String(thrown)}`);
  return thrown;
}

/** Rufio's Machine; its Secret is called as itself. */
export function machine(
  name: string,
  connection: Readonly<Record<string, unknown>> = {},
  namespace = NAMESPACE,
) {
  return {
    metadata: { name, namespace },
    spec: {
      connection: {
        host: `${name}.bmc.example`,
        insecureTLS: true,
        authSecretRef: { name, namespace },
        ...connection,
      },
    },
  };
}

/** A Hardware object of v1alpha1. */
export function hardware(name: string, bmcRef: unknown, namespace = NAMESPACE) {
  return { metadata: { name, namespace }, spec: { ...(bmcRef === undefined ? {} : { bmcRef }) } };
}

export function machineRef(name: string) {
  return { apiGroup: "bmc.tinkerbell.org", kind: "Machine", name };
}

/** A Hardware object of v1alpha2. */
export function newHardware(
  name: string,
  connection: Readonly<Record<string, unknown>> = {},
  bmc: Readonly<Record<string, unknown>> = {},
) {
  const namespace = NAMESPACE;
  return {
    metadata: { name, namespace },
    spec: {
      bmc: {
        ...bmc,
        connection: { host: `${name}.bmc.example`, credentialsRef: { name, namespace }, ...connection },
      },
    },
  };
}

export function secret(name: string, data: Readonly<Record<string, string>>, namespace = NAMESPACE) {
  const encoded = Object.entries(data).map(([key, value]) => [key, Buffer.from(value).toString("base64")]);
  return { metadata: { name, namespace }, data: Object.fromEntries(encoded) };
}

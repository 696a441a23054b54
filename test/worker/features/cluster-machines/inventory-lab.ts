import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "vitest";
import { type Clock, systemClock } from "../../../../shared/clock.ts";
import { BmcError } from "../../../../shared/contract/bmc-error.ts";
import type { Connection } from "../../../../shared/contract/connection.ts";
import type { LogFields, Logger } from "../../../../shared/logger.ts";
import {
  FakeCluster,
  type FakeClusterOptions,
  type RbacRule,
} from "../../../../simulators/kubernetes/cluster.ts";
import {
  ClusterInventory,
  type MachineChanges,
} from "../../../../worker/features/cluster-machines/cluster-inventory.ts";
import type { ClusterSource } from "../../../../worker/features/cluster-machines/machine-index.ts";
import { ownAccess } from "../../../../worker/features/cluster-machines/own-access.ts";
import { Cluster } from "../../../../worker/kubernetes/client/cluster.ts";
import { SecretCommands } from "../../../../worker/machines/secret-commands.ts";
import { referenceRefusal } from "../../../../worker/main/compose-executor.ts";
import { Policy } from "../../../../worker/policy/policy.ts";

export const NAMESPACE = "tink-system";
export const MACHINES = "bmc.tinkerbell.org/v1alpha1";
export const HARDWARE = "tinkerbell.org/v1alpha1";
export const NEW_HARDWARE = "tinkerbell.org/v1alpha2";
/** What the other side may take until the inventory has seen it. */
export const SOON = { timeout: 20_000, interval: 20 };

export interface Said {
  readonly level: "debug" | "info" | "warn" | "error";
  readonly message: string;
  readonly fields: LogFields;
}

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
  readonly said: Said[] = [];
  readonly changes: MachineChanges[] = [];
  readonly #cluster: Cluster;
  readonly #folder: string;
  readonly #stop = new AbortController();
  readonly #ended: Promise<void>;

  private constructor(fake: FakeCluster, cluster: Cluster, folder: string, options: InventoryLabOptions) {
    const { sources = ["machines"], watchNamespace = NAMESPACE, clock = systemClock } = options;
    this.fake = fake;
    this.#cluster = cluster;
    this.#folder = folder;
    this.inventory = new ClusterInventory({
      sources: [{ name: "local", kinds: sources, isOwn: true, access: ownAccess(cluster), watchNamespace }],
      managedHosts: options.managedHosts ?? "refuse",
      references: referenceRefusal(() => Policy.parse({ references: options.references })),
      clock,
      log: recorder(this.said),
      onChange: (changes) => this.changes.push(changes),
    });
    this.#ended = this.inventory.run(this.#stop.signal);
  }

  static async start(options: InventoryLabOptions = {}): Promise<InventoryLab> {
    const fake = await FakeCluster.start(options.fake);
    await options.before?.(fake);
    const folder = mkdtempSync(join(tmpdir(), "pbnj-cluster-"));
    const kubeconfig = join(folder, "kubeconfig");
    const token = options.rights && fake.addUser("worker", options.rights);
    writeFileSync(kubeconfig, fake.kubeconfig(token === undefined ? {} : { token }));
    return new InventoryLab(
      fake,
      await Cluster.open({ kubeconfig, ...(options.clock && { clock: options.clock }) }),
      folder,
      options,
    );
  }

  /** Waits until all that there is was seen. */
  async synced(): Promise<void> {
    expect(await this.inventory.synced(AbortSignal.timeout(20_000))).toEqual({ ok: true });
  }

  names(): readonly string[] {
    return this.inventory.machines().map(({ name }) => name);
  }

  /** Of the only source. */
  watches() {
    return this.inventory.state().sources.flatMap(({ watches }) => watches);
  }

  /** As for an action of a workflow in the namespace. */
  async connect(name: string, namespace: string | undefined = NAMESPACE): Promise<Connection> {
    const machine = this.inventory.find(name, namespace);
    if (!machine) throw new Error(`there is no machine ${name}`);
    return this.inventory.resolveConnection(machine, reading());
  }

  /** Why an action for the machine fails. */
  async failure(name: string, namespace?: string): Promise<BmcError> {
    return failureOf(() => this.connect(name, namespace));
  }

  warnings(): readonly Said[] {
    return this.said.filter(({ level }) => level === "warn");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#ended;
    await this.inventory.close();
    await this.#cluster.close();
    await this.fake.close();
    rmSync(this.#folder, { recursive: true, force: true });
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

/** Hardware as v1alpha1 has it. */
export function hardware(name: string, bmcRef: unknown, namespace = NAMESPACE) {
  return { metadata: { name, namespace }, spec: { ...(bmcRef === undefined ? {} : { bmcRef }) } };
}

export function machineRef(name: string) {
  return { apiGroup: "bmc.tinkerbell.org", kind: "Machine", name };
}

/** Hardware as v1alpha2 has it. */
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

export function recorder(said: Said[]): Logger {
  const at = (level: Said["level"]) => (fields: LogFields, message: string) => {
    said.push({ level, fields, message });
  };
  return { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
}

import { writeFileSync } from "node:fs";
import { expect } from "vitest";
import { type Clock, systemClock } from "../../../../shared/clock.ts";
import { FakeCluster } from "../../../../simulators/kubernetes/cluster.ts";
import { ClusterInventory } from "../../../../worker/features/cluster-machines/cluster-inventory.ts";
import { IdentityAccess } from "../../../../worker/features/cluster-machines/identity-access.ts";
import type { MachineSource } from "../../../../worker/features/cluster-machines/inventory-source.ts";
import { KubeconfigAccess } from "../../../../worker/features/cluster-machines/kubeconfig-access.ts";
import { ownAccess } from "../../../../worker/features/cluster-machines/machine-sources.ts";
import type { Cluster } from "../../../../worker/kubernetes/client/cluster.ts";
import type { Machine } from "../../../../worker/machines/inventory.ts";
import { type FakeClusterLab, openFakeCluster } from "../../../support/fake-cluster.ts";
import { type KeptLine, keptLog } from "../../../support/kept-log.ts";
import { MACHINES, machine, NAMESPACE, reading, secret } from "./inventory-lab.ts";

/** A Machine with its Secret. */
export const Node = {
  create(fake: FakeCluster, name: string, password: string): void {
    fake.create(MACHINES, "Machine", machine(name));
    fake.create("v1", "Secret", secret(name, { username: "root", password }));
  },
};

interface LabSource extends Pick<MachineSource, "name" | "prefix" | "mayUse"> {
  /** The Secret or file with its kubeconfig; without both, it is a file that is there from the start. */
  readonly identity?: string;
  readonly file?: string;
}

/** A worker's cluster, `home`, which is the source `local`, and another one. */
export class SourcesLab {
  readonly home: FakeCluster;
  readonly edge: FakeCluster;
  readonly inventory: ClusterInventory;
  readonly said: readonly KeptLine[];
  readonly #there: FakeClusterLab;
  readonly #stop = new AbortController();
  readonly #ended: Promise<void>;

  private constructor(
    there: FakeClusterLab,
    edge: FakeCluster,
    own: Cluster,
    sources: readonly LabSource[],
    clock: Clock,
  ) {
    this.home = there.fake;
    this.edge = edge;
    this.#there = there;
    const { said, log } = keptLog();
    this.said = said;
    const kinds = ["machines"] as const;
    const common = { kinds, watchNamespace: NAMESPACE };
    const accessOf = ({ identity, file = "given" }: LabSource) =>
      identity === undefined
        ? new KubeconfigAccess({ path: there.path(file), clock, log })
        : new IdentityAccess({ cluster: own, secret: { namespace: NAMESPACE, name: identity }, clock, log });
    this.inventory = new ClusterInventory({
      sources: [
        { name: "local", isOwn: true, access: ownAccess(own), ...common },
        ...sources.map((source) => ({ ...source, isOwn: false, access: accessOf(source), ...common })),
      ],
      clock,
      log,
      onChange: () => undefined,
    });
    this.#ended = this.inventory.run(this.#stop.signal);
  }

  static async start(
    sources: readonly LabSource[],
    before: (home: FakeCluster, edge: FakeCluster) => void,
    clock = systemClock,
  ): Promise<SourcesLab> {
    const there = await openFakeCluster();
    const edge = there.own(await FakeCluster.start());
    before(there.fake, edge);
    await there.write("given", edge.kubeconfig());
    return new SourcesLab(there, edge, await there.connect({ clock }), sources, clock);
  }

  async synced(): Promise<void> {
    await this.inventory.synced(AbortSignal.timeout(20_000));
  }

  names(): readonly string[] {
    return this.inventory.machines().map(({ name }) => name);
  }

  machine(name: string): Machine {
    const found = this.inventory.find(name, NAMESPACE);
    expect(found, name).toBeDefined();
    return found as Machine;
  }

  reading = reading;

  async password(name: string): Promise<string | undefined> {
    return (await this.inventory.resolveConnection(this.machine(name), reading())).password?.reveal();
  }

  /** Why an action for the machine fails. */
  async failure(name: string): Promise<string> {
    return this.password(name).then(
      () => "it does not fail",
      (thrown: unknown) => (thrown as Error).message,
    );
  }

  problems(source: string): readonly string[] {
    return this.inventory.state().sources.find(({ name }) => name === source)?.problems ?? [];
  }

  writeIdentity(name: string, kubeconfig: string, key = "kubeconfig"): void {
    const object = { apiVersion: "v1", kind: "Secret", ...secret(name, { [key]: kubeconfig }) };
    if (this.home.get("v1", "Secret", name, NAMESPACE)) this.home.replace("v1", "Secret", object);
    else this.home.create("v1", "Secret", object);
  }

  writeFile(name: string, kubeconfig: string): void {
    writeFileSync(this.#there.path(name), kubeconfig);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#ended;
    await this.inventory.close();
    await this.#there[Symbol.asyncDispose]();
  }
}

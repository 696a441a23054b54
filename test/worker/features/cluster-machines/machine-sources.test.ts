import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { systemClock } from "../../../../shared/clock.ts";
import { silentLogger } from "../../../../shared/logger.ts";
import { FakeCluster } from "../../../../simulators/kubernetes/cluster.ts";
import type { MachineSourceConfig } from "../../../../worker/features/cluster-machines/machine-settings.ts";
import { openSources } from "../../../../worker/features/cluster-machines/machine-sources.ts";
import { Cluster } from "../../../../worker/kubernetes/client/cluster.ts";

const EDGE: MachineSourceConfig = {
  name: "edge",
  inventory: ["machines"],
  access: { kind: "identity", secret: "edge" },
};

it.each<[string, MachineSourceConfig, readonly string[] | undefined]>([
  ["the worker's own cluster: its own namespace", { name: "local", inventory: ["machines"] }, undefined],
  ["another cluster: the worker's own namespace", EDGE, ["pbnj"]],
  ["another cluster with a list", { ...EDGE, workflowNamespaces: ["team-*"] }, ["team-a", "team-b"]],
  ["another cluster with same: the machine's namespace", { ...EDGE, workflowNamespaces: "same" }, undefined],
])("machines may be used from namespaces, %s", async (_, source, allowed) => {
  const fake = await FakeCluster.start();
  const folder = mkdtempSync(join(tmpdir(), "pbnj-compose-"));
  onTestFinished(async () => {
    await fake.close();
    rmSync(folder, { recursive: true });
  });
  writeFileSync(join(folder, "kubeconfig"), fake.kubeconfig({ namespace: "pbnj" }));
  const cluster = await Cluster.open({ kubeconfig: join(folder, "kubeconfig") });

  const [made] = openSources([source], { cluster, clock: systemClock, log: silentLogger });

  const { mayUse } = made ?? {};
  expect(mayUse && ["pbnj", "team-a", "team-b", "bmcs"].filter(mayUse)).toEqual(allowed);
  await cluster.close();
});

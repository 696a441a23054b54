import { expect, it } from "vitest";
import { systemClock } from "../../../../shared/clock.ts";
import { silentLogger } from "../../../../shared/logger.ts";
import type { MachineSourceConfig } from "../../../../worker/features/cluster-machines/machine-settings.ts";
import { openSources } from "../../../../worker/features/cluster-machines/machine-sources.ts";
import { openFakeCluster } from "../../../support/fake-cluster.ts";

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
  await using there = await openFakeCluster({ namespace: "pbnj" });
  const cluster = await there.connect();

  const [made] = openSources([source], { cluster, clock: systemClock, log: silentLogger });

  const { mayUse } = made ?? {};
  expect(mayUse && ["pbnj", "team-a", "team-b", "bmcs"].filter(mayUse)).toEqual(allowed);
});

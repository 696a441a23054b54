import { expect, it, vi } from "vitest";
import { CommandInProcess } from "../../support/command-in-process.ts";
import { openFakeCluster } from "../../support/fake-cluster.ts";
import { openRack } from "../../support/lab.ts";

const API = "bmc.tinkerbell.org/v1alpha1";
const NAMESPACE = "tink-system";
const SOON = { timeout: 30_000, interval: 50 };

async function rufioCluster() {
  const rack = await openRack({ machines: { "node-1": {} }, bmc: { tls: undefined } });
  const { fake, kubeconfig } = await openFakeCluster({ namespace: NAMESPACE }, rack);
  return {
    ...{ fake, bmc: rack.bmc(), machine: rack.machine() },
    argv: [
      ...["start", "--rufio", "--kubeconfig", kubeconfig, "--kubernetes-namespace", NAMESPACE],
      ...["--runtime", "in-process", "--state-directory", rack.path("state")],
      ...["--http-address", "127.0.0.1:0"],
    ],
    conditions: (kind: string, name: string) =>
      (
        fake.get(API, kind, name, NAMESPACE)?.["status"] as {
          conditions?: { type: string; status: string }[];
        }
      )?.conditions,
    [Symbol.asyncDispose]: () => rack[Symbol.asyncDispose](),
  };
}

it("starts for Rufio's work alone only where Rufio has held its Lease, or where it is told that none runs", async () => {
  await using lab = await rufioCluster();
  await using refused = new CommandInProcess(lab.argv);

  expect((await refused.ended).code).toBe(2);
  expect(refused.stderr).toMatch(
    /^pbnj-worker start: rufio: there is no Lease e74dec1a.bmc.tinkerbell.org in tink-system: .* Fix: .*--rufio-controller-enable-leader-election=true.*--rufio-alone/,
  );
});

it("does a Job without a tink server, whose Secret comes after it, and shows its Machine within seconds of the Secret", async () => {
  await using lab = await rufioCluster();
  const { fake } = lab;
  await using worker = new CommandInProcess([...lab.argv, "--rufio-alone"]);
  await worker.untilLogged("Rufio lease is free, taking over");
  fake.create(API, "Job", {
    metadata: { name: "netboot", namespace: NAMESPACE },
    spec: {
      machineRef: { name: "node-1", namespace: NAMESPACE },
      tasks: [{ powerAction: "off" }, { powerAction: "on" }],
    },
  });
  fake.create(API, "Machine", {
    metadata: { name: "node-1", namespace: NAMESPACE },
    spec: {
      connection: {
        ...{ host: "127.0.0.1", insecureTLS: true, authSecretRef: { name: "bmc-1", namespace: NAMESPACE } },
        providerOptions: { preferredOrder: ["gofish"], redfish: { port: lab.bmc.port } },
      },
    },
  });
  await worker.untilLogged("Rufio task waiting for its Secret");
  await vi.waitFor(
    () =>
      expect(lab.conditions("Machine", "node-1")).toMatchObject([{ type: "Contactable", status: "False" }]),
    SOON,
  );
  expect(lab.machine.commands).toEqual([]);

  fake.create("v1", "Secret", {
    metadata: { name: "bmc-1", namespace: NAMESPACE },
    stringData: { username: "admin", password: "calvin" },
  });
  const createdMs = performance.now();

  await vi.waitFor(
    () =>
      expect(lab.conditions("Machine", "node-1")).toMatchObject([{ type: "Contactable", status: "True" }]),
    SOON,
  );
  expect(performance.now() - createdMs).toBeLessThan(15_000);
  await vi.waitFor(
    () => expect(lab.conditions("Job", "netboot")).toContainEqual({ type: "Completed", status: "True" }),
    SOON,
  );
  expect(lab.machine.commands.map(({ action }) => action)).toEqual(["off", "on"]);
});

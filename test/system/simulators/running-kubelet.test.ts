import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { FakeCluster } from "../../simulators/kubernetes/cluster.ts";
import { ClusterClient } from "../../simulators/kubernetes/node/cluster-client.ts";
import { RunningKubelet } from "../../simulators/kubernetes/node/running-kubelet.ts";

const SOON = { timeout: 20_000, interval: 20 };
/** What the images of this file do. */
const PROGRAMS: Readonly<Record<string, string>> = {
  "reader:1": `
    const { readFileSync, writeFileSync } = require("node:fs");
    console.log(process.argv[1], readFileSync(process.argv[1], "utf8"), process.env.GREETING, process.env.FILE === process.argv[1]);
    console.error("careful");
    writeFileSync(process.env.PBNJ_ACTION_RESULT_FILE, "done");
    process.exitCode = Number(process.argv[2]);`,
  "waiter:1": `
    process.on("SIGTERM", () => { console.log("asked to end"); process.exit(143); });
    setInterval(() => undefined, 1_000);
    console.log("waiting");`,
  "stubborn:1": `
    process.on("SIGTERM", () => undefined);
    setInterval(() => undefined, 1_000);
    console.log("waiting");`,
};

let cluster: FakeCluster;
let client: ClusterClient;
let kubelet: RunningKubelet;
beforeEach(async () => {
  cluster = await FakeCluster.start();
  client = new ClusterClient(cluster.access());
  kubelet = await RunningKubelet.run(cluster.controlPlane, {
    commandOf: (image, args) => {
      const program = PROGRAMS[image];
      if (program === undefined) throw new Error(`pull access denied for ${image}`);
      return [process.execPath, "-e", program, "--", ...args];
    },
  });
});
afterEach(async () => {
  await kubelet.close();
  await client.close();
  await cluster.close();
});

function makePod(container: object, spec: object = {}): void {
  cluster.create("v1", "Pod", {
    metadata: { name: "p" },
    spec: {
      restartPolicy: "Never",
      automountServiceAccountToken: false,
      containers: [{ name: "c", ...container }],
      ...spec,
    },
  });
}

const log = () => client.text("/api/v1/namespaces/default/pods/p/log").catch(() => "");
const status = () => cluster.get("v1", "Pod", "p")?.status;

test("a pod's container runs with its arguments, its variables and its files", async () => {
  cluster.create("v1", "Secret", {
    metadata: { name: "s" },
    stringData: { input: "the input", greeting: "hello" },
  });
  makePod(
    {
      image: "reader:1",
      args: ["$(FILE)", "3"],
      env: [
        { name: "FILE", value: "/run/action/input" },
        { name: "GREETING", valueFrom: { secretKeyRef: { name: "s", key: "greeting" } } },
      ],
      volumeMounts: [{ name: "v", mountPath: "/run/action" }],
    },
    { volumes: [{ name: "v", secret: { secretName: "s", items: [{ key: "input", path: "input" }] } }] },
  );

  await vi.waitFor(() => expect(status()).toMatchObject({ phase: "Failed" }), SOON);

  const text = await log();
  expect(text).toContain("/run/action/input the input hello true\n");
  expect(text).toContain("careful\n");
  expect(status()).toMatchObject({
    containerStatuses: [{ state: { terminated: { exitCode: 3, reason: "Error", message: "done" } } }],
  });
});

test("a pod that is deleted gets SIGTERM and goes when its process has", async () => {
  makePod({ image: "waiter:1" });
  await vi.waitFor(async () => expect(await log()).toBe("waiting\n"), SOON);

  await client.delete("/api/v1/namespaces/default/pods/p");

  await vi.waitFor(() => expect(cluster.get("v1", "Pod", "p")).toBeUndefined(), SOON);
  expect(kubelet.processes).toBe(0);
});

test("a process that does not listen is killed when its grace is over", async () => {
  makePod({ image: "stubborn:1" }, { terminationGracePeriodSeconds: 1 });
  await vi.waitFor(async () => expect(await log()).toBe("waiting\n"), SOON);

  await client.delete("/api/v1/namespaces/default/pods/p");

  await vi.waitFor(() => expect(cluster.get("v1", "Pod", "p")).toBeUndefined(), SOON);
  expect(kubelet.processes).toBe(0);
});

test("an image that nobody has is waited for, and a Secret until it comes", async () => {
  makePod({ image: "nobody:1" });
  await vi.waitFor(
    () =>
      expect(status()).toMatchObject({
        containerStatuses: [{ state: { waiting: { reason: "ErrImagePull" } } }],
      }),
    SOON,
  );
  cluster.remove("v1", "Pod", "p");
  await vi.waitFor(async () => {
    await client.delete("/api/v1/namespaces/default/pods/p", { gracePeriodSeconds: 0 });
    expect(cluster.get("v1", "Pod", "p")).toBeUndefined();
  }, SOON);

  makePod(
    { image: "waiter:1", volumeMounts: [{ name: "v", mountPath: "/run" }] },
    { volumes: [{ name: "v", secret: { secretName: "late" } }] },
  );
  await vi.waitFor(
    () =>
      expect(cluster.list("v1", "Event", "default").map((event) => event["reason"])).toContain("FailedMount"),
    SOON,
  );
  cluster.create("v1", "Secret", { metadata: { name: "late" }, stringData: { a: "b" } });

  await vi.waitFor(() => expect(status()).toMatchObject({ phase: "Running" }), SOON);
});

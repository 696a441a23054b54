import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { FakeCluster } from "../cluster.ts";
import { ClusterClient } from "./cluster-client.ts";
import { RunningKubelet } from "./running-kubelet.ts";

const SOON = { timeout: 20_000, interval: 20 };
/** By image. */
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
      return [process.execPath, "-e", PROGRAMS[image] ?? "", "--", ...args];
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
    stringData: { input: "the input" },
  });
  makePod(
    {
      image: "reader:1",
      args: ["/run/action/input", "3"],
      env: [
        { name: "FILE", value: "/run/action/input" },
        { name: "GREETING", value: "costs $$5" },
      ],
      volumeMounts: [{ name: "v", mountPath: "/run/action" }],
    },
    { volumes: [{ name: "v", secret: { secretName: "s", items: [{ key: "input", path: "input" }] } }] },
  );

  await vi.waitFor(() => expect(status()).toMatchObject({ phase: "Failed" }), SOON);

  const text = await log();
  expect(text).toContain("/run/action/input the input costs $5 true\n");
  expect(text).toContain("careful\n");
  expect(status()).toMatchObject({
    containerStatuses: [{ state: { terminated: { exitCode: 3, reason: "Error", message: "done" } } }],
  });
});

test("a deleted pod gets SIGTERM and is removed when its process has ended", async () => {
  makePod({ image: "waiter:1" });
  await vi.waitFor(async () => expect(await log()).toBe("waiting\n"), SOON);

  await client.delete("/api/v1/namespaces/default/pods/p");

  await vi.waitFor(() => expect(cluster.get("v1", "Pod", "p")).toBeUndefined(), SOON);
});

test("a process that ignores SIGTERM is killed after the grace period", async () => {
  makePod({ image: "stubborn:1" }, { terminationGracePeriodSeconds: 1 });
  await vi.waitFor(async () => expect(await log()).toBe("waiting\n"), SOON);

  await client.delete("/api/v1/namespaces/default/pods/p");

  await vi.waitFor(() => expect(cluster.get("v1", "Pod", "p")).toBeUndefined(), SOON);
});

test("a pod waits for its Secret", async () => {
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

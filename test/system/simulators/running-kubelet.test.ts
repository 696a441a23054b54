import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { FakeCluster } from "../../../simulators/kubernetes/cluster.ts";
import { RunningKubelet } from "../../../simulators/kubernetes/node/running-kubelet.ts";

const SOON = { timeout: 20_000, interval: 20 };
const IGNORES_SIGTERM = `process.on("SIGTERM", () => undefined); setInterval(() => undefined, 1_000); console.log("ready");`;

let cluster: FakeCluster;
let kubelet: RunningKubelet;
beforeEach(async () => {
  cluster = await FakeCluster.start();
  kubelet = await RunningKubelet.run(cluster.controlPlane, {
    commandOf: () => [process.execPath, "-e", IGNORES_SIGTERM],
  });
});
afterEach(async () => {
  await kubelet.close();
  await cluster.close();
});

function makePod(container: object, spec: object): void {
  cluster.create("v1", "Pod", {
    metadata: { name: "p" },
    spec: { restartPolicy: "Never", containers: [{ name: "c", image: "x:1", ...container }], ...spec },
  });
}

const pod = () => cluster.get("v1", "Pod", "p");
const untilRunning = () => vi.waitFor(() => expect(pod()?.status).toMatchObject({ phase: "Running" }), SOON);

test("a process that ignores SIGTERM is killed after the grace period", async () => {
  makePod({}, { terminationGracePeriodSeconds: 1 });
  await untilRunning();

  cluster.remove("v1", "Pod", "p");

  await vi.waitFor(() => expect(pod()).toBeUndefined(), SOON);
});

test("a pod waits for its Secret", async () => {
  makePod(
    { volumeMounts: [{ name: "v", mountPath: "/run" }] },
    { volumes: [{ name: "v", secret: { secretName: "late" } }] },
  );
  const reasons = () => cluster.list("v1", "Event", "default").map((event) => event["reason"]);
  await vi.waitFor(() => expect(reasons()).toContain("FailedMount"), SOON);

  cluster.create("v1", "Secret", { metadata: { name: "late" }, stringData: { a: "b" } });

  await untilRunning();
});

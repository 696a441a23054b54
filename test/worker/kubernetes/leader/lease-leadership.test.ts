import { expect, test, vi } from "vitest";
import { silentLogger } from "../../../../shared/logger.ts";
import { Leadership } from "../../../../worker/kubernetes/leader/lease-leadership.ts";
import { openFakeCluster } from "../../../support/fake-cluster.ts";
import { scaledClock } from "../../../support/scaled-clock.ts";

const NAMESPACE = "tink-system";
const LEASE = "pbnj-worker";
const WAIT = { timeout: 30_000, interval: 20 };
const NEVER = new AbortController().signal;

/** An API server with the pods of workers. */
async function lab(...pods: readonly string[]) {
  const there = await openFakeCluster({ controllers: false, namespace: NAMESPACE });
  const { fake: cluster } = there;
  const client = await there.connect();
  for (const name of pods)
    cluster.create("v1", "Pod", { metadata: { namespace: NAMESPACE, name }, spec: {} });
  return {
    cluster,
    worker: (host: string) =>
      new Leadership({ cluster: client, lease: LEASE, host, clock: scaledClock(20), log: silentLogger }),
    labelled: () =>
      cluster.list("v1", "Pod", NAMESPACE, "pbnj-worker/leader=true").map(({ metadata }) => metadata.name),
    [Symbol.asyncDispose]: there[Symbol.asyncDispose],
  };
}

test("the pod of the leader alone has the label that the Service selects", async () => {
  await using cluster = await lab("pod-a", "pod-b");
  const [first, second] = [cluster.worker("pod-a"), cluster.worker("pod-b")];

  await first.acquire(NEVER);
  await vi.waitFor(() => expect(cluster.labelled()).toEqual(["pod-a"]), WAIT);
  const following = second.acquire(NEVER);
  await first.release();
  const released = first.isLeading;
  await following;
  await vi.waitFor(() => expect(cluster.labelled()).toEqual(["pod-b"]), WAIT);
  await second.release();

  expect(released).toBe(false);
  expect(cluster.labelled()).toEqual([]);
});

test("the label of a leader that died is removed by the next one, and by its own restarted container", async () => {
  await using cluster = await lab("pod-a", "pod-b", "pod-c");
  const label = { "pbnj-worker/leader": "true" };
  for (const name of ["pod-a", "pod-c"])
    cluster.cluster.patch("v1", "Pod", name, { metadata: { labels: label } }, NAMESPACE);
  cluster.cluster.create("coordination.k8s.io/v1", "Lease", {
    metadata: { namespace: NAMESPACE, name: LEASE },
    spec: { holderIdentity: "pod-a_1234abcd", leaseDurationSeconds: 15 },
  });
  const stop = new AbortController();
  const restarted = cluster.worker("pod-c");
  const following = restarted.acquire(stop.signal);
  await vi.waitFor(() => expect(cluster.labelled()).toEqual(["pod-a"]), WAIT);
  stop.abort();
  await following;

  const next = cluster.worker("pod-b");
  await next.acquire(NEVER);
  await vi.waitFor(() => expect(cluster.labelled()).toEqual(["pod-b"]), WAIT);
  await next.release();

  expect(restarted.isLeading).toBe(false);
});

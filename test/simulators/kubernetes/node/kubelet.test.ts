import { randomUUID } from "node:crypto";
import { PassThrough } from "node:stream";
import { KubeConfig, Log } from "@kubernetes/client-node";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import type { KubeObject } from "../api/object.ts";
import { FakeCluster } from "../cluster.ts";
import { type Subject, subjects } from "../subjects.ts";
import { ClusterClient } from "./cluster-client.ts";
import { Kubelet } from "./kubelet.ts";

const SOON = { timeout: 15_000, interval: 20 };

describe.each(subjects())("at %s", (_, start) => {
  const namespace = `kubelet-${randomUUID().slice(0, 8)}`;
  const core = `/api/v1/namespaces/${namespace}`;
  const jobs = `/apis/batch/v1/namespaces/${namespace}/jobs`;
  let subject: Subject;
  let client: ClusterClient;
  let kubelet: Kubelet;
  let count = 0;
  let name = "";

  beforeAll(async () => {
    subject = await start({ jobNamespace: namespace, retryDelayMs: 100 });
    client = new ClusterClient(subject.controlPlane);
    await client.create("/api/v1/namespaces", { metadata: { name: namespace } });
    if (!(await client.find(`${core}/serviceaccounts/default`)))
      await client.create(`${core}/serviceaccounts`, { metadata: { name: "default" } });
    kubelet = await Kubelet.start(subject.controlPlane, { node: namespace });
  });
  beforeEach(() => {
    name = `case-${count++}`;
  });
  afterAll(async () => {
    await client.delete(`/api/v1/namespaces/${namespace}`);
    await client.delete(`/api/v1/nodes/${namespace}`);
    await kubelet.close();
    await client.close();
    await subject.close();
  });

  async function makeJob(spec: object = {}, podSpec: object = {}): Promise<KubeObject> {
    const containers = [{ name: "action", image: "x:1" }];
    const template = {
      spec: { restartPolicy: "Never", automountServiceAccountToken: false, containers, ...podSpec },
    };
    await client.create(jobs, { metadata: { name }, spec: { backoffLimit: 0, ...spec, template } });
    return nextPod();
  }

  const pods = async () =>
    (await client.list(`${core}/pods?labelSelector=batch.kubernetes.io/job-name%3D${name}`)).items;
  const nextPod = (): Promise<KubeObject> =>
    vi.waitFor(async () => {
      const found = (await pods()).find(({ status }) => status?.["phase"] === "Pending");
      if (!found) throw new Error("no Pod yet");
      return found;
    }, SOON);
  const conditionsOf = async () => {
    const { status } = await client.get(`${jobs}/${name}`);
    return ((status?.["conditions"] ?? []) as { type: string; reason: string }[]).map(
      ({ type, reason }) => `${type} ${reason}`,
    );
  };
  const log = (pod: KubeObject, query = "") => client.text(`${core}/pods/${pod.metadata.name}/log?${query}`);

  test("a Job whose Pod succeeds is complete", async () => {
    const pod = await makeJob();
    const running = await kubelet.start(pod);
    await vi.waitFor(
      async () =>
        expect(await client.get(`${jobs}/${name}`)).toMatchObject({ status: { active: 1, ready: 1 } }),
      SOON,
    );

    const ended = await kubelet.finish(pod, { exitCode: 0, message: "all well" });

    await vi.waitFor(
      async () =>
        expect(await conditionsOf()).toEqual([
          "SuccessCriteriaMet CompletionsReached",
          "Complete CompletionsReached",
        ]),
      SOON,
    );
    const job = await client.get(`${jobs}/${name}`);
    expect(job.status).toMatchObject({ succeeded: 1, completionTime: expect.any(String) });
    expect(job.status).not.toHaveProperty("active");
    expect(running.status).toMatchObject({ phase: "Running", containerStatuses: [{ ready: true }] });
    expect(ended.status).toMatchObject({
      phase: "Succeeded",
      containerStatuses: [
        { state: { terminated: { exitCode: 0, reason: "Completed", message: "all well" } } },
      ],
    });
    await vi.waitFor(async () => expect((await kubelet.pod(pod)).metadata.finalizers).toBeUndefined(), SOON);
  });

  test("a Pod has the labels of its Job, which owns it", async () => {
    const pod = await makeJob({}, { terminationGracePeriodSeconds: 3 });

    const { metadata } = await client.get(`${jobs}/${name}`);
    expect(pod.metadata.name).toMatch(new RegExp(`^${name}-[a-z0-9]{5}$`));
    expect(pod.metadata.labels).toMatchObject({
      "batch.kubernetes.io/job-name": name,
      "batch.kubernetes.io/controller-uid": metadata.uid,
    });
    expect(pod.metadata.ownerReferences).toEqual([
      {
        apiVersion: "batch/v1",
        kind: "Job",
        name,
        uid: metadata.uid,
        controller: true,
        blockOwnerDeletion: true,
      },
    ]);
  });

  test.each([
    ["exits with an error", { exitCode: 3, message: "no" }, { exitCode: 3, reason: "Error", message: "no" }],
    [
      "is killed for its memory",
      { exitCode: 137, reason: "OOMKilled" },
      { exitCode: 137, reason: "OOMKilled" },
    ],
  ])("a Job whose Pod %s has failed", async (_title, end, state) => {
    const pod = await makeJob();
    await kubelet.start(pod);

    const ended = await kubelet.finish(pod, end);

    expect(ended.status).toMatchObject({
      phase: "Failed",
      containerStatuses: [{ state: { terminated: state } }],
    });
    await vi.waitFor(
      async () =>
        expect(await conditionsOf()).toEqual([
          "FailureTarget BackoffLimitExceeded",
          "Failed BackoffLimitExceeded",
        ]),
      SOON,
    );
  });

  test("a Job with a try left gets another Pod", async () => {
    const first = await makeJob({ backoffLimit: 1 });
    await kubelet.finish(first, { exitCode: 1 });
    await vi.waitFor(async () => expect(await pods()).toHaveLength(2), SOON);

    const second = await nextPod();
    await kubelet.finish(second, { exitCode: 0 });

    await vi.waitFor(async () => expect(await conditionsOf()).toContain("Complete CompletionsReached"), SOON);
    expect((await client.get(`${jobs}/${name}`)).status).toMatchObject({ failed: 1, succeeded: 1 });
  });

  test("at its deadline a Job ends its Pod, and has failed once that is over", async () => {
    const pod = await makeJob({ activeDeadlineSeconds: 1 });
    await kubelet.start(pod);

    await vi.waitFor(
      async () => expect((await kubelet.pod(pod)).metadata.deletionTimestamp).toBeTruthy(),
      SOON,
    );
    const meanwhile = await conditionsOf();
    await kubelet.finish(pod, { exitCode: 143 });

    expect(meanwhile).toEqual(["FailureTarget DeadlineExceeded"]);
    await vi.waitFor(async () => expect(await conditionsOf()).toContain("Failed DeadlineExceeded"), SOON);
    await vi.waitFor(async () => expect(await pods()).toEqual([]), SOON);
  });

  test("a finished Job goes after its time, with its Pod", async () => {
    const pod = await makeJob({ ttlSecondsAfterFinished: 0 });

    await kubelet.finish(pod, { exitCode: 0 });

    await vi.waitFor(async () => expect(await client.find(`${jobs}/${name}`)).toBeUndefined(), SOON);
    await vi.waitFor(async () => expect(await pods()).toEqual([]), SOON);
  });

  test("an evicted Pod fails its Job and says why", async () => {
    const pod = await makeJob();
    await kubelet.start(pod);

    const evicted = await kubelet.evict(pod, "The node was low on resource: memory.");

    expect(evicted.status).toMatchObject({
      phase: "Failed",
      reason: "Evicted",
      message: expect.stringContaining("low on resource"),
    });
    await vi.waitFor(async () => expect(await conditionsOf()).toContain("Failed BackoffLimitExceeded"), SOON);
  });

  test("the Pod of a lost node stays as it is until the control plane gives up on it", async () => {
    const pod = await makeJob();
    await kubelet.start(pod);
    kubelet.log(pod, "action", "before\n");

    const lost = await kubelet.nodeLost(pod);

    expect(lost.metadata.deletionTimestamp).toBeTruthy();
    expect(lost.status).toMatchObject({ phase: "Running", reason: "NodeLost" });
    await expect(log(pod)).rejects.toMatchObject({ status: 500 });
    await kubelet.vanish(pod);
    await vi.waitFor(async () => expect(await conditionsOf()).toContain("Failed BackoffLimitExceeded"), SOON);
    await vi.waitFor(async () => expect(await pods()).toEqual([]), SOON);
  });

  test("a Pod that no node takes, and an image that nobody has, are told", async () => {
    const pod = await makeJob();

    const nowhere = await kubelet.unschedulable(pod, "0/3 nodes are available: 3 Insufficient cpu.");
    await kubelet.schedule(pod);
    const pulling = await kubelet.waiting(pod, "ImagePullBackOff", 'Back-off pulling image "x:1"');

    expect(nowhere.status).toMatchObject({
      phase: "Pending",
      conditions: [{ type: "PodScheduled", status: "False", reason: "Unschedulable" }],
    });
    expect(pulling.spec).toMatchObject({ nodeName: namespace });
    expect(pulling.status).toMatchObject({
      phase: "Pending",
      containerStatuses: [
        { state: { waiting: { reason: "ImagePullBackOff", message: 'Back-off pulling image "x:1"' } } },
      ],
    });
    await expect(log(pod)).rejects.toMatchObject({
      status: 400,
      message: `container "action" in pod "${pod.metadata.name}" is waiting to start: ImagePullBackOff`,
    });
  });

  test("a log can be read in part, with times, and by its options", async () => {
    const pod = await makeJob();
    const unscheduled = await log(pod);
    await kubelet.start(pod);
    for (const line of ["one\n", "two\nthree\n"]) kubelet.log(pod, "action", line);

    expect(unscheduled).toBe("");
    expect(await log(pod)).toBe("one\ntwo\nthree\n");
    expect(await log(pod, "tailLines=1")).toBe("three\n");
    expect(await log(pod, "limitBytes=6")).toBe("one\ntw");
    expect(await log(pod, "timestamps=true&tailLines=1")).toMatch(
      /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z three\n$/,
    );
    expect(await log(pod, `sinceTime=${new Date(Date.now() + 60_000).toISOString().slice(0, 19)}Z`)).toBe("");
    await expect(log(pod, "container=zz")).rejects.toMatchObject({
      status: 400,
      message: `container zz is not valid for pod ${pod.metadata.name}`,
    });
  });

  test("the volumes of a pod show what its Secrets hold", async () => {
    await client.create(`${core}/secrets`, {
      metadata: { name: `s-${name}` },
      stringData: { input: "{}", password: "hunter2" },
    });
    const items = [{ key: "input", path: "run/input.json" }];
    const pod = await makeJob(
      {},
      {
        containers: [
          {
            name: "action",
            image: "x:1",
            volumeMounts: [
              { name: "run", mountPath: "/var/run" },
              { name: "one", mountPath: "/etc/bmc" },
            ],
          },
        ],
        volumes: [
          {
            name: "run",
            projected: {
              sources: [
                { secret: { name: `s-${name}`, items } },
                { downwardAPI: { items: [{ path: "name", fieldRef: { fieldPath: "metadata.name" } }] } },
              ],
            },
          },
          { name: "one", secret: { secretName: `s-${name}` } },
        ],
      },
    );

    const files = await kubelet.mounted(pod);

    expect(files).toEqual([
      { path: "/var/run/run/input.json", content: "{}", mode: 0o644 },
      { path: "/var/run/name", content: pod.metadata.name, mode: 0o644 },
      { path: "/etc/bmc/input", content: "{}", mode: 0o644 },
      { path: "/etc/bmc/password", content: "hunter2", mode: 0o644 },
    ]);
  });

  test("a Secret that is not there keeps the container waiting, with an event", async () => {
    const volumes = [{ name: "run", secret: { secretName: "missing" } }];
    const pod = await makeJob(
      {},
      {
        containers: [{ name: "action", image: "x:1", volumeMounts: [{ name: "run", mountPath: "/run" }] }],
        volumes,
      },
    );
    await kubelet.schedule(pod);

    const mounting = kubelet.mounted(pod);

    await expect(mounting).rejects.toThrow(
      'MountVolume.SetUp failed for volume "run" : secret "missing" not found',
    );
    const events = await client.list(
      `${core}/events?fieldSelector=involvedObject.name%3D${pod.metadata.name},reason%3DFailedMount`,
    );
    expect(events.items).toHaveLength(1);
    expect((await kubelet.pod(pod)).status).toMatchObject({
      phase: "Pending",
      containerStatuses: [{ state: { waiting: { reason: "ContainerCreating" } } }],
    });
  });
});

describe("followed by the official client", () => {
  let cluster: FakeCluster;
  let kubelet: Kubelet;
  beforeEach(async () => {
    cluster = await FakeCluster.start();
    kubelet = await Kubelet.start(cluster.controlPlane);
  });
  afterEach(async () => {
    await kubelet.close();
    await cluster.close();
  });

  test("a log grows with what is written and ends with the container", async () => {
    const config = new KubeConfig();
    config.loadFromString(cluster.kubeconfig());
    const pod = cluster.create("v1", "Pod", {
      metadata: { name: "p" },
      spec: { restartPolicy: "Never", containers: [{ name: "c", image: "x" }] },
    });
    await kubelet.start(pod);
    kubelet.log(pod, "c", "one\n");
    const sink = new PassThrough();
    let text = "";
    sink.setEncoding("utf8").on("data", (chunk: string) => {
      text += chunk;
    });
    const ended = new Promise((resolve) => sink.once("end", resolve));

    await new Log(config).log("default", "p", "c", sink, { follow: true });
    await vi.waitFor(() => expect(text).toBe("one\n"), SOON);
    kubelet.log(pod, "c", "two\nth");
    await vi.waitFor(() => expect(text).toBe("one\ntwo\n"), SOON);
    kubelet.log(pod, "c", "ree");
    await kubelet.finish(pod, { exitCode: 0 });
    await ended;

    expect(text).toBe("one\ntwo\nthree");
  });
});

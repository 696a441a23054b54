import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import type { KubeObject } from "../../../../simulators/kubernetes/api/object.ts";
import { ClusterClient } from "../../../../simulators/kubernetes/node/cluster-client.ts";
import { Kubelet } from "../../../../simulators/kubernetes/node/kubelet.ts";
import { type Subject, startSubject } from "../subject.ts";

const SOON = { timeout: 60_000, interval: 20 };

describe("a node", () => {
  const namespace = `kubelet-${randomUUID().slice(0, 8)}`;
  const core = `/api/v1/namespaces/${namespace}`;
  const jobs = `/apis/batch/v1/namespaces/${namespace}/jobs`;
  let subject: Subject;
  let client: ClusterClient;
  let kubelet: Kubelet;
  let count = 0;
  let name = "";

  beforeAll(async () => {
    subject = await startSubject();
    client = new ClusterClient(subject.controlPlane);
    await client.create("/api/v1/namespaces", { metadata: { name: namespace } });
    kubelet = await Kubelet.start(subject.controlPlane, { node: namespace });
  });
  beforeEach(() => {
    name = `case-${count++}`;
  });
  afterAll(async () => {
    await client?.delete(`/api/v1/namespaces/${namespace}`);
    await client?.delete(`/api/v1/nodes/${namespace}`);
    await kubelet?.close();
    await client?.close();
    await subject?.close();
  });

  async function makeJob(spec: object = {}): Promise<KubeObject> {
    const containers = [{ name: "action", image: "x:1" }];
    const template = { spec: { restartPolicy: "Never", automountServiceAccountToken: false, containers } };
    await client.create(jobs, { metadata: { name }, spec: { backoffLimit: 0, ...spec, template } });
    return vi.waitFor(async () => {
      const { items } = await client.list(
        `${core}/pods?labelSelector=batch.kubernetes.io/job-name%3D${name}`,
      );
      const [pod] = items;
      if (!pod) throw new Error("no Pod yet");
      return pod;
    }, SOON);
  }

  async function expectConditions(...expected: string[]): Promise<void> {
    await vi.waitFor(async () => {
      const { status } = await client.get(`${jobs}/${name}`);
      const conditions = (status?.["conditions"] ?? []) as { type: string; reason: string }[];
      expect(conditions.map(({ type, reason }) => `${type} ${reason}`)).toEqual(expected);
    }, SOON);
  }

  test("a Job whose Pod succeeds is complete, and the Pod is released", async () => {
    const pod = await makeJob();
    await kubelet.start(pod);

    await kubelet.finish(pod, { exitCode: 0 });

    await expectConditions("SuccessCriteriaMet CompletionsReached", "Complete CompletionsReached");
    const { metadata, status } = await client.get(`${jobs}/${name}`);
    expect(status).toMatchObject({ succeeded: 1, completionTime: expect.any(String) });
    expect(pod.metadata.ownerReferences).toMatchObject([
      { kind: "Job", uid: metadata.uid, controller: true },
    ]);
    await vi.waitFor(async () => expect((await kubelet.pod(pod)).metadata.finalizers).toBeUndefined(), SOON);
  });

  test("a Job whose Pod fails has failed", async () => {
    const pod = await makeJob();
    await kubelet.start(pod);

    const ended = await kubelet.finish(pod, { exitCode: 3, message: "x".repeat(5_000) });

    const terminated = { exitCode: 3, reason: "Error", message: "x".repeat(4_096) };
    expect(ended.status).toMatchObject({ phase: "Failed", containerStatuses: [{ state: { terminated } }] });
    await expectConditions("FailureTarget BackoffLimitExceeded", "Failed BackoffLimitExceeded");
  });

  test("at its deadline a Job ends its Pod, and has failed once that has ended", async () => {
    const pod = await makeJob({ activeDeadlineSeconds: 5 });
    await kubelet.start(pod);

    await vi.waitFor(
      async () => expect((await kubelet.pod(pod)).metadata.deletionTimestamp).toBeDefined(),
      SOON,
    );
    await expectConditions("FailureTarget DeadlineExceeded");
    await kubelet.finish(pod, { exitCode: 143 });

    await expectConditions("FailureTarget DeadlineExceeded", "Failed DeadlineExceeded");
    await vi.waitFor(
      async () => expect(await client.find(`${core}/pods/${pod.metadata.name}`)).toBeUndefined(),
      30_000,
    );
  });

  test("a log can be read in part, and with times", async () => {
    const pod = await makeJob();
    const log = (query = "") => client.text(`${core}/pods/${pod.metadata.name}/log?${query}`);
    const unscheduled = await log();
    await kubelet.schedule(pod);
    await expect(log()).rejects.toMatchObject({ status: 400 });
    await kubelet.start(pod);
    for (const text of ["one\n", "two\nthree\n"]) kubelet.log(pod, "action", text);
    const future = `${new Date(Date.now() + 60_000).toISOString().slice(0, 19)}Z`;

    expect(unscheduled).toBe("");
    expect(await log()).toBe("one\ntwo\nthree\n");
    expect(await log("tailLines=1")).toBe("three\n");
    expect(await log("limitBytes=6")).toBe("one\ntw");
    expect(await log("timestamps=true&tailLines=1")).toMatch(
      /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z three\n$/,
    );
    expect(await log(`sinceTime=${future}`)).toBe("");
    await expect(log("container=other")).rejects.toMatchObject({ status: 400 });
  });

  test("a followed log ends with its container", async () => {
    const pod = await makeJob();
    await kubelet.start(pod);
    kubelet.log(pod, "action", "one\ntw");
    const followed = client.text(`${core}/pods/${pod.metadata.name}/log?follow=true`);

    kubelet.log(pod, "action", "o\nthree");
    await kubelet.finish(pod, { exitCode: 0 });

    expect(await followed).toBe("one\ntwo\nthree");
  });
});

import { afterAll, beforeAll, expect, it } from "vitest";
import { systemClock } from "../../../../shared/clock.ts";
import { silentLogger } from "../../../../shared/logger.ts";
import {
  Detached,
  LaunchNotRecorded,
  NotLaunched,
  type ReturnedAction,
} from "../../../../worker/core/ports/runtime.ts";
import { LeaderLocks } from "../../../../worker/kubernetes/leader/leader-locks.ts";
import { canary, resultStep, scriptedRequest, testConnection } from "../launch-request.ts";
import { begin, never, type RuntimeLab } from "./runtime-lab.ts";

/** An action's result, in the form of the log and the termination message. */
export function resultLine(result: Readonly<Record<string, unknown>> = {}): string {
  return resultStep(result).slice("result:".length);
}

export function leftOf(
  request: ReturnType<typeof scriptedRequest>["request"],
  left: Partial<ReturnedAction> = {},
): ReturnedAction {
  const { action, onLog, timeoutMs } = request;
  const startedAt = new Date();
  return { action, connected: true, startedAt, clockSetMs: 0, timeoutMs, onLog, ...left };
}

/** What the runtime must do in any cluster. Called inside a `describe`. */
export function itRunsActionsAsJobs(create: () => Promise<RuntimeLab>): void {
  let lab: RuntimeLab;
  beforeAll(async () => {
    lab = await create();
  });
  afterAll(async () => {
    await lab?.close();
  });

  it("does not start a Job with a late request of a worker that leads no more", async () => {
    const { runtime, cluster } = await lab.worker({ shared: true });
    const { request } = scriptedRequest([]);
    const next = new LeaderLocks({ cluster, clock: systemClock, log: silentLogger });

    // Between its last look at its Lease and its request.
    const late = runtime.run({ ...request, lockKey: "bmc-1", onLaunch: () => next.takeOver(never) }, never);

    await expect(late).rejects.toThrow(NotLaunched);
    expect((await lab.job(request))["spec"]).toMatchObject({ suspend: true });
    const { ended } = begin(await lab.runtime({ shared: true }), request);
    const pod = await lab.startPod(request);
    await lab.kubelet.finish(pod, { container: "action", exitCode: 0, message: resultLine() });
    expect(await ended).toMatchObject({ outcome: { ok: true } });
    expect(await lab.podsMade(request)).toBe(1);
  });

  it("runs an action in a Job of its own, with the connection in a Secret that the Job owns", async () => {
    const runtime = await lab.runtime();
    const { request, lines } = scriptedRequest([], { connected: true });
    const { ended } = begin(runtime, request);

    const pod = await lab.startPod(request);
    const job = await lab.job(request);
    const files = await lab.kubelet.mounted(pod, "action");
    lab.kubelet.log(pod, "action", `hello\n${resultLine()}\n`);
    await lab.kubelet.finish(pod, { container: "action", exitCode: 0, message: resultLine() });
    const { outcome, remove } = await ended;

    expect(outcome).toMatchObject({ ok: true, message: "done", exitCode: 0, killed: false });
    expect(lines).toEqual([{ stream: "stdout", line: "hello" }]);
    const [file] = files.filter(({ path }) => path === "/run/pbnj-worker/connection.json");
    expect(JSON.parse(file?.content ?? "")).toMatchObject({ host: "bmc.example", password: canary });
    expect(JSON.stringify([job, pod])).not.toContain(canary);
    expect(JSON.stringify(await lab.secrets())).toContain(job.metadata.uid);

    await remove(never);

    const kept = await lab.job(request);
    expect(kept.metadata.annotations).toHaveProperty(["pbnj-worker/acknowledged"]);
    expect(kept.spec).toMatchObject({ ttlSecondsAfterFinished: 600 });
    // It goes with the Job.
    expect(JSON.stringify(await lab.secrets())).toContain(job.metadata.uid);
    expect(await lab.podsMade(request)).toBe(1);
  });

  it("has the kubelet mount the machine's own Secret, and creates none", async () => {
    await lab.create("secrets", {
      metadata: { name: "node-1-bmc" },
      stringData: { user: "admin", pass: canary },
    });
    const runtime = await lab.runtime();
    const { request } = scriptedRequest([]);
    const document = { machine: "node-1", host: "bmc.example", password: { $file: "password" } };
    const files = [{ file: "password", secret: "node-1-bmc", key: "pass" }];
    const before = (await lab.secrets()).length;
    const { ended } = begin(runtime, { ...request, mounted: { document, files } });

    const pod = await lab.startPod(request);
    const mounted = await lab.kubelet.mounted(pod, "action");
    await lab.kubelet.finish(pod, { container: "action", exitCode: 0 });

    await expect(ended).resolves.toMatchObject({ outcome: { ok: true, message: "exited 0" } });
    const contents = Object.fromEntries(mounted.map(({ path, content }) => [path, content]));
    expect(JSON.parse(contents["/run/pbnj-worker/connection.json"] ?? "")).toEqual(document);
    expect(contents["/run/pbnj-worker/password"]).toBe(canary);
    expect(await lab.secrets()).toHaveLength(before);
  });

  it("returns the action's own reason and class from its termination message", async () => {
    const runtime = await lab.runtime();
    const { request } = scriptedRequest([]);
    const { ended } = begin(runtime, request);

    const pod = await lab.startPod(request);
    const message = resultLine({ ok: false, class: "auth", message: "the BMC refused the password" });
    await lab.kubelet.finish(pod, { container: "action", exitCode: 10, message });

    const { outcome } = await ended;
    expect(outcome).toMatchObject({ ok: false, class: "auth", exitCode: 10 });
    expect(outcome.message).toBe("the BMC refused the password");
  });

  it("stops an action at its timeout and keeps its reason", async () => {
    const runtime = await lab.runtime();
    const { request } = scriptedRequest([], { timeoutMs: 2_000 });
    const { ended } = begin(runtime, request);

    const pod = await lab.startPod(request);
    const deleted = await lab.pod(request, ({ metadata }) => metadata.deletionTimestamp !== undefined);
    expect(deleted.metadata.deletionGracePeriodSeconds).toBe(1);
    const message = resultLine({ ok: false, class: "cancelled", message: "stopped while waiting for off" });
    await lab.kubelet.finish(pod, { container: "action", exitCode: 143, message });

    const { outcome } = await ended;
    expect(outcome).toMatchObject({ ok: false, class: "timeout", timedOut: true, killed: true });
    expect(outcome.message).toBe("timed out after 2.0 s: stopped while waiting for off");
    const job = await lab.job(request);
    expect(job.metadata.annotations).toMatchObject({ "pbnj-worker/stopped": "timeout" });
  });

  it("stops an action when the worker cancels it", async () => {
    const runtime = await lab.runtime();
    const { request } = scriptedRequest([]);
    const { ended, cancel } = begin(runtime, request);

    const pod = await lab.startPod(request);
    cancel.abort();
    await lab.pod(request, ({ metadata }) => metadata.deletionTimestamp !== undefined);
    await lab.kubelet.finish(pod, { container: "action", exitCode: 143 });

    await expect(ended).resolves.toMatchObject({
      outcome: { ok: false, class: "cancelled", timedOut: false, killed: true },
    });
  });

  it("starts nothing once it is cancelled", async () => {
    const runtime = await lab.runtime();
    const { request } = scriptedRequest([]);

    const { outcome } = await runtime.run(request, AbortSignal.abort());

    expect(outcome).toMatchObject({ ok: false, class: "cancelled" });
    expect(await lab.findJob(request)).toBeUndefined();
  });

  it("removes the Job if its launch cannot be recorded", async () => {
    const runtime = await lab.runtime();
    const { request } = scriptedRequest([], { connected: true });
    const onLaunch = () => Promise.reject(new LaunchNotRecorded(new Error("disk full")));

    const run = runtime.run({ ...request, onLaunch }, never);

    await expect(run).rejects.toThrow(LaunchNotRecorded);
    expect(await lab.findJob(request)).toBeUndefined();
    expect(await lab.podsMade(request)).toBe(0);
  });

  it("starts a Job only after it is recorded", async () => {
    const runtime = await lab.runtime();
    const { request } = scriptedRequest([]);
    const recorded = Promise.withResolvers<void>();
    const seen: unknown[] = [];
    const onLaunch = async (handle: unknown) => {
      seen.push(handle, (await lab.findJob(request))?.spec?.["suspend"], (await lab.pods(request)).length);
      await recorded.promise;
    };
    const { ended } = begin(runtime, { ...request, onLaunch });
    const { metadata } = await lab.job(request);
    recorded.resolve();
    const pod = await lab.startPod(request);
    await lab.kubelet.finish(pod, { container: "action", exitCode: 0 });
    await ended;

    expect(seen).toEqual([{ job: metadata.name, uid: metadata.uid, namespace: lab.namespace }, true, 0]);
  });

  it("adopts running and ended actions, and launches nothing twice", async () => {
    const first = await lab.runtime();
    const { request } = scriptedRequest([]);
    const begun = begin(first, request);
    const pod = await lab.startPod(request);
    const detached = expect(begun.ended).rejects.toThrow(Detached);
    await first.close();
    await detached;

    const second = await lab.runtime();
    const adopting = second.adopt(leftOf(request, { handle: { job: "x" } }), never);
    lab.kubelet.log(pod, "action", `one\n${resultLine()}\n`);
    await lab.kubelet.finish(pod, { container: "action", exitCode: 0, message: resultLine() });
    const adoption = await adopting;
    expect(adoption).toMatchObject({ kind: "ended", ended: { outcome: { ok: true, message: "done" } } });
    if (adoption.kind === "ended") await adoption.ended.remove(never);

    const third = await lab.runtime({ owner: "another-state" });
    await expect(third.run(request, never)).resolves.toMatchObject({
      outcome: { ok: true, message: "done" },
    });
    expect(await lab.podsMade(request)).toBe(1);
  });

  it("counts a suspended Job as not launched, and a missing one as lost", async () => {
    const first = await lab.runtime();
    const { request } = scriptedRequest([]);
    const stuck = Promise.withResolvers<void>();
    const run = first.run({ ...request, onLaunch: () => stuck.promise }, never);
    await lab.job(request);
    const second = await lab.runtime({ isIdempotent: async (image) => image === request.action.image });

    const suspended = await second.adopt(leftOf(request, { handle: { job: "x" } }), never);
    const noHandle = await second.adopt(leftOf(request), never);
    const gone = await second.adopt(leftOf(request, { handle: { job: "x" } }), never);
    const damaged = await second.adopt(leftOf(request, { damaged: true }), never);
    const detached = expect(run).rejects.toThrow(NotLaunched);
    await first.close();
    stuck.resolve();

    expect(suspended).toEqual({ kind: "not-launched" });
    expect(noHandle).toEqual({ kind: "not-launched" });
    expect(gone).toMatchObject({ kind: "lost", idempotent: true });
    expect(damaged).toEqual(gone);
    expect(await lab.podsMade(request)).toBe(0);
    await detached;
  });

  it("creates one pod when two workers of a group launch the same action at once", async () => {
    const { request } = scriptedRequest([], { connected: true });
    const runtimes = await Promise.all(
      ["a", "b", "c"].map((instance) => lab.runtime({ owner: "group", shared: true, instance })),
    );
    const running = runtimes.map((runtime) => begin(runtime, { ...request, connection: testConnection() }));

    const pod = await lab.startPod(request);
    lab.kubelet.log(pod, "action", `${resultLine()}\n`);
    await lab.kubelet.finish(pod, { container: "action", exitCode: 0, message: resultLine() });
    const outcomes = await Promise.all(running.map(async ({ ended }) => (await ended).outcome));

    expect(outcomes.map(({ ok, message }) => ({ ok, message }))).toEqual(
      outcomes.map(() => ({ ok: true, message: "done" })),
    );
    expect(await lab.podsMade(request)).toBe(1);
  });

  it("names the image that is not available at the start timeout, after the pod is deleted", async () => {
    const runtime = await lab.runtime({ pods: { startTimeoutMs: 1_500 } });
    const { request } = scriptedRequest([]);
    const { ended } = begin(runtime, request);

    const pod = await lab.pod(request);
    await lab.kubelet.schedule(pod);
    await lab.kubelet.waiting(pod, "ImagePullBackOff", 'Back-off pulling image "x": not found', "action");
    await lab.pod(request, ({ metadata }) => metadata.deletionTimestamp !== undefined);
    await lab.kubelet.vanish(pod);

    const { outcome } = await ended;
    expect(outcome).toMatchObject({ ok: false, class: "usage", timedOut: false });
    expect(outcome.message).toBe(
      'the pod did not start within 1.5 s: ImagePullBackOff: Back-off pulling image "x": not found',
    );
    expect(await lab.pods(request)).toEqual([]);
  });

  it("reports that the node evicted the pod, and why", async () => {
    const runtime = await lab.runtime();
    const { request } = scriptedRequest([]);
    const { ended } = begin(runtime, request);
    const pod = await lab.startPod(request);

    await lab.kubelet.evict(pod, "The node was low on resource: memory.");

    const { outcome } = await ended;
    expect(outcome).toMatchObject({ ok: false, class: "internal", killed: true });
    expect(outcome.message).toContain(
      "its pod was evicted by its node: The node was low on resource: memory.",
    );
    expect(await lab.podsMade(request)).toBe(1);
  });

  it("reads the whole result from the log, although a line of stderr follows it", async () => {
    const runtime = await lab.runtime();
    const { request, lines } = scriptedRequest([]);
    const { ended } = begin(runtime, request);
    const pod = await lab.startPod(request);
    lab.kubelet.log(pod, "action", "one\ntwo\n");
    lab.kubelet.log(pod, "action", `three\n${resultLine({ data: { power: "on" } })}\nlate of stderr\n`);
    await lab.kubelet.finish(pod, { container: "action", exitCode: 0, message: resultLine() });

    const { outcome } = await ended;

    expect(lines.map(({ line }) => line)).toEqual(["one", "two", "three", "late of stderr"]);
    expect(outcome).toMatchObject({ ok: true, result: { data: { power: "on" } } });
  });

  it("finds no missing rights if it has all of them", async () => {
    const runtime = await lab.runtime();

    await expect(runtime.check(never)).resolves.toMatch(
      new RegExp(`^Kubernetes v\\d+\\.\\d+\\S* at https://\\S+, namespace ${lab.namespace}$`),
    );
  });
}

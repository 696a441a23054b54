import { describe, expect, it, vi } from "vitest";
import { systemClock } from "../../../../shared/clock.ts";
import type { KubeObject } from "../../../../simulators/kubernetes/cluster.ts";
import type { PodConfig } from "../../../../worker/runtimes/kubernetes/job-spec.ts";
import { scriptedRequest } from "../launch-request.ts";
import { leftOf, resultLine } from "./kubernetes-cases.ts";
import { begin, fileRuntimeLab, never, type RuntimeLab, type RuntimeOptions } from "./runtime-lab.ts";

const { lab } = await fileRuntimeLab();

async function launched(pods: Partial<PodConfig> = {}, options: RuntimeOptions = {}) {
  const runtime = await lab.runtime({ ...options, pods });
  const shown: unknown[] = [];
  const request = { ...scriptedRequest([]).request, onProgress: shown.push.bind(shown) };
  return { ...begin(runtime, request), runtime, shown };
}

/** Removes a pod that never ran, like a kubelet. */
async function releasePod(pod: KubeObject, request: Parameters<RuntimeLab["pod"]>[0]): Promise<void> {
  await lab.pod(request, ({ metadata }) => metadata.deletionTimestamp !== undefined);
  await lab.kubelet.vanish(pod);
}

describe.concurrent("a pod that does not start", () => {
  it("is reported with the scheduler's reason", async () => {
    const { request, ended, shown } = await launched({ startTimeoutMs: 4_000 });
    const pod = await lab.pod(request);

    await lab.kubelet.unschedulable(pod, "0/3 nodes are available: 3 Insufficient memory.");

    const { outcome } = await ended;
    expect(outcome).toMatchObject({ ok: false, class: "internal", timedOut: false, killed: false });
    expect(outcome.message).toBe(
      "the pod did not start within 4.0 s: no node takes the pod: Unschedulable: 0/3 nodes are available: 3 Insufficient memory.",
    );
    expect(await lab.pods(request)).toEqual([]);
    expect(shown).toEqual([{ text: "waiting for the pod to start", limitMs: expect.any(Number) }, undefined]);
  });

  it("is reported with the reason why no pod was created", async () => {
    const { request, ended } = await launched({ startTimeoutMs: 4_000, serviceAccount: "no-such-account" });

    const { outcome } = await ended;

    expect(outcome).toMatchObject({ ok: false, class: "internal" });
    expect(outcome.message).toMatch(
      /^the pod did not start within 4\.0 s: FailedCreate: Error creating: .*service account.*no-such-account/,
    );
    const job = await lab.job(request);
    expect(JSON.stringify(job.status)).toContain("DeadlineExceeded");
  });

  it("is reported with the Secret that is missing", async () => {
    const runtime = await lab.runtime({ pods: { startTimeoutMs: 4_000 } });
    const { request } = scriptedRequest([]);
    const files = [{ file: "password", secret: "vanished", key: "password" }];
    const { ended } = begin(runtime, { ...request, mounted: { document: { host: "h" }, files } });
    const pod = await lab.pod(request);
    await lab.kubelet.schedule(pod);
    await expect(lab.kubelet.mounted(pod, "action")).rejects.toThrow("vanished");
    await releasePod(pod, request);

    const { outcome } = await ended;
    expect(outcome).toMatchObject({ ok: false, class: "internal" });
    expect(outcome.message).toMatch(/^the pod did not start within 4\.0 s: FailedMount: .*vanished/);
  });

  it("is reported at once if the problem is permanent", async () => {
    const { request, ended } = await launched({ startTimeoutMs: 600_000 });
    const pod = await lab.pod(request);
    await lab.kubelet.schedule(pod);

    await lab.kubelet.waiting(pod, "InvalidImageName", "couldn't parse image name", "action");
    await releasePod(pod, request);

    expect((await ended).outcome).toMatchObject({
      ok: false,
      class: "usage",
      message: "the pod cannot start: InvalidImageName: couldn't parse image name",
    });
  });

  it("is reported after a while if a retry may succeed, and runs if it does", async () => {
    const waits: number[] = [];
    const patience = Promise.withResolvers<void>();
    const clock = {
      ...systemClock,
      sleep: (ms: number, signal?: AbortSignal) => {
        if (ms !== 5_000) return systemClock.sleep(ms, signal);
        waits.push(ms);
        const aborted = new Promise<void>((_, reject) =>
          signal?.addEventListener("abort", () => reject(signal.reason), { once: true }),
        );
        return waits.length === 1 ? aborted : Promise.race([patience.promise, aborted]);
      },
    };
    const { request, ended } = await launched({ startTimeoutMs: 600_000 }, { clock });
    const pod = await lab.pod(request);
    await lab.kubelet.schedule(pod);
    const wait = (message: string) =>
      lab.kubelet.waiting(pod, "CreateContainerConfigError", message, "action");

    await wait('secret "late" not found');
    await vi.waitFor(() => expect(waits).toHaveLength(1), { timeout: 20_000, interval: 20 });
    await lab.kubelet.waiting(pod, "ContainerCreating", undefined, "action");
    await wait("container has runAsNonRoot and image will run as root");
    await vi.waitFor(() => expect(waits).toHaveLength(2), { timeout: 20_000, interval: 20 });
    patience.resolve();
    await releasePod(pod, request);

    const { outcome } = await ended;
    expect(outcome).toMatchObject({ ok: false, class: "usage" });
    expect(outcome.message).toBe(
      "the pod cannot start: CreateContainerConfigError: container has runAsNonRoot and image will run as root",
    );
  });

  it("has the same outcome for a worker that finds it later, and is not started again", async () => {
    const { request, ended } = await launched({ startTimeoutMs: 4_000 });
    const pod = await lab.pod(request);
    await lab.kubelet.unschedulable(pod, "0/1 nodes are available.");
    const { outcome, remove } = await ended;
    await remove(never);

    const again = await (await lab.runtime({ shared: true, owner: "group" })).run(request, never);

    expect(again.outcome).toMatchObject({ ok: false, class: outcome.class, message: outcome.message });
    expect(await lab.podsMade(request)).toBe(1);
  });

  it("does not shorten the timeout of an action, which begins with its container", async () => {
    const runtime = await lab.runtime({ pods: { startTimeoutMs: 60_000 } });
    const { request } = scriptedRequest([], { timeoutMs: 1_500 });
    const { ended } = begin(runtime, request);
    const pod = await lab.pod(request);
    await lab.kubelet.schedule(pod);
    const createdAt = Date.now();
    await vi.waitFor(
      async () => {
        await lab.kubelet.waiting(pod, "ErrImagePull", "connection reset", "action");
        if (Date.now() - createdAt < 1_600) throw new Error("its time is not over yet");
      },
      { timeout: 20_000, interval: 200 },
    );
    await lab.startPod(request);
    await lab.kubelet.finish(pod, { container: "action", exitCode: 0, message: resultLine() });

    expect((await ended).outcome).toMatchObject({ ok: true, message: "done" });
  });

  it("is certainly cancelled before it starts when the worker cancels it", async () => {
    const { request, ended, cancel } = await launched();
    const pod = await lab.pod(request);
    await lab.kubelet.schedule(pod);
    cancel.abort();
    await releasePod(pod, request);

    expect((await ended).outcome).toMatchObject({
      ok: false,
      class: "cancelled",
      message: "cancelled before it started",
    });
  });

  it("is followed to its end by a worker that adopts it before its start", async () => {
    const { request, runtime } = await launched();
    await lab.pod(request);
    await runtime.close();

    const second = await lab.runtime();
    const adopting = second.adopt(leftOf(request, { handle: { job: "x" } }), never);
    const pod = await lab.startPod(request);
    await lab.kubelet.finish(pod, { container: "action", exitCode: 0, message: resultLine() });

    await expect(adopting).resolves.toMatchObject({ kind: "ended", ended: { outcome: { ok: true } } });
  });
});

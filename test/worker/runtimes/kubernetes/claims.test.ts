import { describe, expect, it, vi } from "vitest";
import { actionKey } from "../../../../worker/core/action/action.ts";
import { LaunchNotRecorded, NotLaunched } from "../../../../worker/core/ports/runtime.ts";
import { BEGUN } from "../../../../worker/features/legacy/legacy-messages.ts";
import { LABEL } from "../../../../worker/runtimes/kubernetes/job-labels.ts";
import { launchName } from "../../../../worker/runtimes/launch-name.ts";
import { scriptedRequest } from "../launch-request.ts";
import { leftOf, resultLine } from "./kubernetes-cases.ts";
import { begin, fileRuntimeLab, never, type RuntimeLab } from "./runtime-lab.ts";

const namespace = "actions";
const LONG_AGO = new Date(Date.now() - 3 * 3_600_000).toISOString();

const { cluster, lab } = await fileRuntimeLab();

/** Resolves once a worker has logged that it adopts what exists. */
function untilAdopted(request: Request): Promise<void> {
  return vi.waitFor(
    () => {
      const said = lab.said.filter(({ message }) => message === "action adopted");
      expect(said.map(({ fields }) => fields["job"])).toContain(launchName(request.action));
    },
    { timeout: 20_000, interval: 20 },
  );
}

type Request = ReturnType<typeof scriptedRequest>["request"];

async function finishWell(request: Request): Promise<void> {
  const pod = await lab.startPod(request);
  await lab.kubelet.finish(pod, { container: "action", exitCode: 0, message: resultLine() });
}

/** A worker that has made the action's Job and not let it run. */
async function suspended(request: Request, options: Parameters<RuntimeLab["runtime"]>[0] = {}) {
  const runtime = await lab.runtime(options);
  const onRecord = Promise.withResolvers<void>();
  const ended = runtime.run({ ...request, onLaunch: () => onRecord.promise }, never);
  ended.catch(() => undefined);
  const job = await lab.job(request);
  return { runtime, ended, onRecord, job };
}

describe("the name of an action's Job", () => {
  it("that another object has is an error, and the object stays", async () => {
    const runtime = await lab.runtime();
    const { request } = scriptedRequest([]);
    const other = scriptedRequest([]);
    const { ended } = begin(runtime, other.request);
    await finishWell(other.request);
    await ended;
    const { spec } = await lab.job(other.request);
    const { selector: _, template, ...rest } = spec as { selector: unknown; template: object };
    const containers = { spec: (template as { spec: object }).spec };
    cluster.create("batch/v1", "Job", {
      metadata: { name: launchName(request.action), namespace },
      spec: { ...rest, suspend: true, template: containers },
    });

    const { outcome } = await runtime.run(request, never);

    expect(outcome).toMatchObject({ ok: false, class: "state" });
    expect(outcome.message).toBe(
      `a Job named ${launchName(request.action)} exists that was not made for this action: remove it`,
    );
    expect(await lab.findJob(request)).toBeDefined();
  });

  it("of an earlier Job that never started is used for a new one", async () => {
    const { request } = scriptedRequest([], { connected: true });
    const first = await suspended(request);
    const second = await lab.runtime();

    const { ended } = begin(second, request);
    const job = await lab.job(request, ({ metadata }) => metadata.uid !== first.job.metadata.uid);
    await finishWell(request);

    await expect(ended).resolves.toMatchObject({ outcome: { ok: true } });
    expect(job.metadata.uid).not.toBe(first.job.metadata.uid);
    expect(await lab.podsMade(request)).toBe(1);
    const detached = expect(first.ended).rejects.toThrow(NotLaunched);
    await first.runtime.close();
    first.onRecord.resolve();
    await detached;
  });

  it("is free again when the worker detaches before the start", async () => {
    const runtime = await lab.runtime();
    const { request } = scriptedRequest([]);
    const onRecord = Promise.withResolvers<void>();
    const running = runtime.run({ ...request, onLaunch: () => onRecord.promise }, never);
    const notLaunched = expect(running).rejects.toThrow(NotLaunched);
    await lab.job(request);

    runtime.detach();
    onRecord.resolve();

    await notLaunched;
    expect(await lab.findJob(request)).toBeUndefined();
    expect(await lab.podsMade(request)).toBe(0);
  });

  it("is free for another run once the earlier run, which has ended, is removed", async () => {
    const runtime = await lab.runtime();
    const { request } = scriptedRequest([]);
    const nothing = await runtime.earlierRun(request.action, never);
    const first = begin(runtime, request);
    const pod = await lab.startPod(request);
    const running = await runtime.earlierRun(request.action, never);
    await lab.kubelet.finish(pod, { container: "action", exitCode: 0, message: resultLine() });
    await (await first.ended).remove(never);
    const before = await lab.job(request);

    const earlier = await runtime.earlierRun(request.action, never);
    await earlier?.remove(never);
    const second = begin(runtime, request);
    await lab.job(request, ({ metadata }) => metadata.uid !== before.metadata.uid);
    await finishWell(request);

    expect([nothing, running?.hasEnded, earlier?.hasEnded]).toEqual([undefined, false, true]);
    expect(earlier?.ageMs).toBeLessThan(60_000);
    await expect(second.ended).resolves.toMatchObject({ outcome: { ok: true } });
    expect(await lab.podsMade(request)).toBe(2);
  });

  it("belongs to the action that has ended and was not reported, also if its ID may return", async () => {
    const { request } = scriptedRequest([], { action: { returningIds: BEGUN } });
    const first = begin(await lab.runtime(), request);
    await finishWell(request);
    await first.ended;

    const { ended } = begin(await lab.runtime(), request);

    await expect(ended).resolves.toMatchObject({ outcome: { ok: true } });
    expect(await lab.podsMade(request)).toBe(1);
  });

  it("belongs to the running action, also if its ID may return", async () => {
    const first = await lab.runtime();
    const { request } = scriptedRequest([], { action: { returningIds: BEGUN } });
    begin(first, request);
    await lab.startPod(request);
    await first.close();

    const { ended } = begin(await lab.runtime(), request);
    await untilAdopted(request);
    const pod = await lab.pod(request);
    await lab.kubelet.finish(pod, { container: "action", exitCode: 0, message: resultLine() });

    await expect(ended).resolves.toMatchObject({ outcome: { ok: true } });
    expect(await lab.podsMade(request)).toBe(1);
  });

  it("that is being deleted while its action runs is followed to its end, not run again", async () => {
    const first = await lab.runtime();
    const { request } = scriptedRequest([]);
    begin(first, request);
    const pod = await lab.startPod(request);
    await first.close();
    await lab.remove("jobs", launchName(request.action), { propagationPolicy: "Foreground" });
    await lab.pod(request, ({ metadata }) => metadata.deletionTimestamp !== undefined);

    const { ended } = begin(await lab.runtime(), request);
    await untilAdopted(request);
    await lab.kubelet.finish(pod, { container: "action", exitCode: 143 });

    const { outcome } = await ended;
    expect(outcome).toMatchObject({ ok: false, class: "internal" });
    expect(outcome.message).toContain("deleted by another client");
    expect(await lab.podsMade(request)).toBe(1);
  });

  it("stays with the worker of the group that started it if another cannot record it", async () => {
    const { request } = scriptedRequest([]);
    const group = { owner: "group", shared: true } as const;
    const first = await suspended(request, group);
    const { ended } = begin(await lab.runtime(group), request);
    await lab.startPod(request);
    first.onRecord.reject(new LaunchNotRecorded(new Error("disk full")));

    await expect(first.ended).rejects.toThrow(LaunchNotRecorded);
    await finishWell(request);
    await expect(ended).resolves.toMatchObject({ outcome: { ok: true } });
    expect(await lab.podsMade(request)).toBe(1);
  });

  it("is refused with everything that a pod cannot have, in one line, before anything is created", async () => {
    const runtime = await lab.runtime();
    const { request } = scriptedRequest([], {
      action: { networkNamespace: "host", pidNamespace: "host", volumes: ["/dev:/dev", "data:/data"] },
    });
    cluster.forgetRequests();

    const { outcome } = await runtime.run({ ...request, terms: { privileged: true } }, never);

    expect(outcome).toMatchObject({ ok: false, class: "usage" });
    expect(outcome.message).toMatch(
      /^the runtime kubernetes refuses the network namespace "host": .*; and the PID namespace "host": .*; and the volume "\/dev:\/dev": .*; and the volume "data:\/data": .*; and to run privileged/,
    );
    expect(cluster.requests).toEqual([]);
  });
});

describe("the sweep of the kubernetes runtime", () => {
  const marked = (request: Request, labels: Record<string, string>) =>
    lab.patchJob(request, { metadata: { labels: pick(labels, isLabel), annotations: pick(labels, isNote) } });

  async function runs(options: Parameters<RuntimeLab["runtime"]>[0] = {}) {
    const runtime = await lab.runtime(options);
    const { request } = scriptedRequest([], { connected: true });
    const { ended } = begin(runtime, request);
    await lab.startPod(request);
    return { runtime, request, ended };
  }

  it("removes the orphans of this owner's earlier worker, with pod and Secret, and nothing else", async () => {
    const [left, kept, others, abandoned] = await Promise.all([
      runs({ owner: "options" }),
      runs({ owner: "options" }),
      runs({ owner: "another" }),
      runs({ owner: "another" }),
    ]);
    await marked(abandoned.request, { [LABEL.deadline]: LONG_AGO, [LABEL.deadlineBootTime]: "" });
    const keptKey = (await lab.job(kept.request)).metadata.labels?.[LABEL.key];
    for (const { runtime } of [left, kept, others, abandoned]) await runtime.close();
    const options = await lab.runtime({ owner: "options" });

    const removed = await options.sweep((key) => key === keptKey, never);

    expect(removed).toBe(2);
    for (const { request } of [left, abandoned]) {
      const job = await lab.findJob(request);
      expect(job?.metadata.deletionTimestamp).toBeDefined();
    }
    for (const { request } of [kept, others]) {
      expect((await lab.job(request)).metadata.deletionTimestamp).toBeUndefined();
    }
    const names = (await lab.secrets()).map(({ metadata }) => metadata.name ?? "");
    expect(names.some((name) => name.startsWith(launchName(left.request.action)))).toBe(false);
    expect(names.some((name) => name.startsWith(launchName(kept.request.action)))).toBe(true);
  });

  it("never removes what this process launched itself", async () => {
    const { runtime, request } = await runs({ owner: "itself" });

    expect(await runtime.sweep(() => false, never)).toBe(0);
    expect((await lab.job(request)).metadata.deletionTimestamp).toBeUndefined();
  });

  it("keeps what another worker of the group may be running", async () => {
    const first = await runs({ owner: "fleet", shared: true });
    await first.runtime.close();
    const second = await lab.runtime({ owner: "fleet", shared: true });

    expect(await second.sweep(() => false, never)).toBe(0);
    await marked(first.request, { [LABEL.deadline]: LONG_AGO, [LABEL.deadlineBootTime]: "" });
    expect(await second.sweep(() => false, never)).toBe(1);
  });

  it("keeps the Job, with its Secret, of an action that an earlier life of this replica reported", async () => {
    const first = await lab.runtime({ owner: "fleet", shared: true });
    const { request } = scriptedRequest([], { connected: true });
    const { ended } = begin(first, request);
    await finishWell(request);
    await ended;
    await first.close();
    const second = await lab.runtime({ owner: "fleet", shared: true });
    const reported = actionKey(request.action);

    expect(await second.sweep((key) => (key === reported ? "settled" : false), never)).toBe(0);

    const { metadata } = await lab.job(request);
    expect(metadata.annotations).toHaveProperty("pbnj-worker/acknowledged");
    expect(metadata.deletionTimestamp).toBeUndefined();
    const secrets = (await lab.secrets()).map(({ metadata: { name = "" } }) => name);
    expect(secrets.filter((name) => name.startsWith(launchName(request.action)))).toHaveLength(1);
    await lab.remove("jobs", launchName(request.action), { propagationPolicy: "Background" });
    await vi.waitFor(async () => {
      const left = (await lab.secrets()).map(({ metadata: { name = "" } }) => name);
      expect(left.filter((name) => name.startsWith(launchName(request.action)))).toEqual([]);
    }, 20_000);
  });

  it("removes what was acknowledged long ago and no controller removed", async () => {
    const runtime = await lab.runtime({ owner: "acknowledger" });
    const { request } = scriptedRequest([]);
    const { ended } = begin(runtime, request);
    await finishWell(request);
    await (await ended).remove(never);
    expect(await runtime.sweep(() => false, never)).toBe(0);

    await marked(request, { "pbnj-worker/acknowledged": LONG_AGO });

    expect(await runtime.sweep(() => true, never)).toBe(1);
    await vi.waitFor(async () => expect(await lab.findJob(request)).toBeUndefined(), {
      timeout: 20_000,
      interval: 20,
    });
    await expect(runtime.adopt(leftOf(request, { handle: { job: "x" } }), never)).resolves.toMatchObject({
      kind: "lost",
    });
  });
});

const isLabel = (name: string) => name === LABEL.owner;
const isNote = (name: string) => !isLabel(name);

function pick(labels: Record<string, string>, isPicked: (name: string) => boolean) {
  return Object.fromEntries(Object.entries(labels).filter(([name]) => isPicked(name)));
}

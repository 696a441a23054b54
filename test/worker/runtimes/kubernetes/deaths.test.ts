import { beforeEach, describe, expect, it, vi } from "vitest";
import type { SeenRequest } from "../../../../simulators/kubernetes/cluster.ts";
import type { LaunchHandle, LaunchRequest } from "../../../../worker/core/ports/runtime.ts";
import { scriptedRequest } from "../launch-request.ts";
import { leftOf, resultLine } from "./kubernetes-cases.ts";
import { begin, fileRuntimeLab, never } from "./runtime-lab.ts";

const ALL = [{ apiGroups: ["*"], resources: ["*"], verbs: ["*"] }];

let died = 0;
const { cluster, lab } = await fileRuntimeLab();
beforeEach(() => {
  cluster.forgetRequests();
});

/** A worker that can be made to do nothing from one moment on, as one that was killed. */
async function mortal() {
  const user = `mortal-${died++}`;
  const token = cluster.addUser(user, ALL);
  const runtime = await lab.runtime({ access: cluster.access(token), requestTimeoutMs: 60_000 });
  let handle: LaunchHandle | undefined;
  const { request } = scriptedRequest([], { connected: true });
  return {
    user,
    runtime,
    die: () => cluster.removeUser(token),
    handle: () => handle,
    request: {
      ...request,
      onLaunch: async (given: LaunchHandle) => {
        handle = given;
      },
    } satisfies LaunchRequest,
  };
}

function untilSeen(count: () => number): Promise<void> {
  return vi.waitFor(
    () => {
      if (count() === 0) throw new Error("not seen yet");
    },
    { timeout: 20_000, interval: 20 },
  );
}

/** What a restarted worker concludes. */
async function comeBack({ request, handle }: Awaited<ReturnType<typeof mortal>>) {
  const runtime = await lab.runtime();
  const given = handle();
  return { runtime, adopting: runtime.adopt(leftOf(request, given ? { handle: given } : {}), never) };
}

describe("a worker that dies", () => {
  it("before its Job has a Secret has launched nothing", async () => {
    const worker = await mortal();
    const fault = cluster.hang({ user: worker.user, verb: "create", resource: "secrets" });
    begin(worker.runtime, worker.request);
    await untilSeen(() => fault.hits);
    worker.die();

    const { adopting } = await comeBack(worker);

    await expect(adopting).resolves.toEqual({ kind: "not-launched" });
    expect(await lab.findJob(worker.request)).toBeUndefined();
    expect(await lab.podsMade(worker.request)).toBe(0);
  });

  it("after the launch is recorded and before the Job starts has launched nothing", async () => {
    const worker = await mortal();
    const fault = cluster.hang((seen) => seen.user === worker.user && isUnsuspend(seen));
    begin(worker.runtime, worker.request);
    await untilSeen(() => fault.hits);
    worker.die();
    expect(worker.handle()).toBeDefined();

    const { adopting } = await comeBack(worker);

    await expect(adopting).resolves.toEqual({ kind: "not-launched" });
    expect(await lab.podsMade(worker.request)).toBe(0);
    const secrets = await lab.secrets();
    expect(secrets.filter(({ metadata }) => metadata.name?.startsWith("pbnj-scripted"))).toEqual([]);
  });

  it("after the Job starts is replaced by one that adopts it", async () => {
    const worker = await mortal();
    const fault = cluster.loseAnswer((seen) => seen.user === worker.user && isUnsuspend(seen));
    begin(worker.runtime, worker.request);
    await untilSeen(() => fault.hits);
    worker.die();

    const { adopting } = await comeBack(worker);
    const pod = await lab.startPod(worker.request);
    await lab.kubelet.finish(pod, { container: "action", exitCode: 0, message: resultLine() });

    await expect(adopting).resolves.toMatchObject({ kind: "ended", ended: { outcome: { ok: true } } });
    expect(await lab.podsMade(worker.request)).toBe(1);
  });

  it("while the action ends leaves its end to the next worker", async () => {
    const worker = await mortal();
    begin(worker.runtime, worker.request);
    const pod = await lab.startPod(worker.request);
    worker.die();
    const failure = { ok: false, class: "verify", message: "it reverted" };
    await lab.kubelet.finish(pod, { container: "action", exitCode: 15, message: resultLine(failure) });

    const { adopting } = await comeBack(worker);

    await expect(adopting).resolves.toMatchObject({
      ended: { outcome: { ok: false, class: "verify", message: "it reverted", exitCode: 15 } },
    });
    expect(await lab.podsMade(worker.request)).toBe(1);
  });

  it("between the record of a stop and the stop leaves the stop to the next worker, for the same reason", async () => {
    const worker = await mortal();
    const fault = cluster.hang({ user: worker.user, verb: "delete", resource: "pods" });
    const dying = begin(worker.runtime, { ...worker.request, timeoutMs: 600_000 });
    const pod = await lab.startPod(worker.request);
    dying.cancel.abort();
    await untilSeen(() => fault.hits);
    worker.die();

    const { adopting } = await comeBack(worker);
    // The Job's deadline may delete the pod before the next worker has seen it.
    await untilSeen(() => cluster.requests.filter(isPodWatchOfAdmin).length);
    await lab.pod(worker.request, ({ metadata }) => metadata.deletionTimestamp !== undefined);
    await lab.kubelet.finish(pod, { container: "action", exitCode: 143 });

    await expect(adopting).resolves.toMatchObject({
      ended: { outcome: { ok: false, class: "cancelled", exitCode: 143 } },
    });
  });

  it("has an action that is served again adopted with its existing Job", async () => {
    const worker = await mortal();
    begin(worker.runtime, worker.request);
    const pod = await lab.startPod(worker.request);
    worker.die();
    const runtime = await lab.runtime({ owner: "another-state" });

    const { ended } = begin(runtime, worker.request);
    await lab.kubelet.finish(pod, { container: "action", exitCode: 0, message: resultLine() });

    await expect(ended).resolves.toMatchObject({ outcome: { ok: true, message: "done" } });
    expect(await lab.podsMade(worker.request)).toBe(1);
  });
});

function isUnsuspend({ verb, resource, body }: SeenRequest): boolean {
  return verb === "patch" && resource === "jobs" && body.includes("/spec/suspend");
}

/** By the user of every worker but those that die. */
function isPodWatchOfAdmin({ user, verb, resource }: SeenRequest): boolean {
  return user === "kubernetes-admin" && verb === "watch" && resource === "pods";
}

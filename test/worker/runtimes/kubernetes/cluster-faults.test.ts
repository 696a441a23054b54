import { describe, expect, it, vi } from "vitest";
import { Detached, NotLaunched } from "../../../../worker/core/ports/runtime.ts";
import { launchName } from "../../../../worker/runtimes/launch-name.ts";
import { scriptedRequest } from "../launch-request.ts";
import { leftOf, resultLine } from "./kubernetes-cases.ts";
import { begin, never, type RuntimeLab, runtimeLab } from "./runtime-lab.ts";

const WAIT = { timeout: 60_000, interval: 20 };

async function finishWell(
  lab: RuntimeLab,
  request: ReturnType<typeof scriptedRequest>["request"],
): Promise<void> {
  const pod = await lab.startPod(request);
  lab.kubelet.log(pod, "action", `${resultLine()}\n`);
  await lab.kubelet.finish(pod, { container: "action", exitCode: 0, message: resultLine() });
}

describe.concurrent("the kubernetes runtime, with a cluster that fails", () => {
  it("starts no Job after the worker has stopped leading, not even with a repeated request", async () => {
    await using there = await runtimeLab();
    const { cluster, lab } = there;
    let isLeading = true;
    const runtime = await lab.runtime({ shared: true, isLeading: () => isLeading });
    const { request } = scriptedRequest([]);
    const fault = cluster.fail({ verb: "patch", resource: "jobs" }, { status: 503 });
    const ended = runtime.run(request, never);
    const reason = ended.then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    await vi.waitFor(() => expect(fault.hits).toBe(1), WAIT);
    isLeading = false;

    expect(await reason).toBeInstanceOf(Detached);
    expect((await lab.job(request))["spec"]).toMatchObject({ suspend: true });
  });

  it("runs an action without polling its state", async () => {
    await using there = await runtimeLab();
    const { cluster, lab } = there;
    const runtime = await lab.runtime();
    const { request } = scriptedRequest([], { connected: true });
    const { ended } = begin(runtime, request);
    await finishWell(lab, request);
    await (await ended).remove(never);

    const asked = cluster.requests.map(
      ({ verb, resource, subresource }) => `${verb} ${[resource, subresource].filter(Boolean).join("/")}`,
    );
    const counts = Object.groupBy(asked, (text) => text);
    expect(Object.fromEntries(Object.entries(counts).map(([text, all = []]) => [text, all.length]))).toEqual({
      "create jobs": 1,
      "create secrets": 1,
      "patch jobs": 2,
      "list jobs": 1,
      "list pods": 1,
      "watch jobs": 1,
      "watch pods": 1,
      "get pods/log": 1,
    });
  });

  it.each([
    ["the Job's creation", { verb: "create", resource: "jobs" }],
    ["the Secret's creation", { verb: "create", resource: "secrets" }],
    ["the patch that lets it run", { verb: "patch", resource: "jobs" }],
  ] as const)("makes one Job and one pod although the answer to %s is lost", async (_, matcher) => {
    await using there = await runtimeLab();
    const { cluster, lab } = there;
    const runtime = await lab.runtime();
    const { request } = scriptedRequest([], { connected: true });
    const fault = cluster.loseAnswer(matcher);
    const { ended } = begin(runtime, request);
    await finishWell(lab, request);

    await expect(ended).resolves.toMatchObject({ outcome: { ok: true, message: "done" } });
    expect(fault.hits).toBe(1);
    expect(await lab.podsMade(request)).toBe(1);
  });

  it("does not run an action again whose Job was deleted before the patch, without an answer, is retried", async () => {
    await using there = await runtimeLab();
    const { cluster, lab } = there;
    const { request } = scriptedRequest([], { connected: true });
    cluster.loseAnswer({ verb: "patch", resource: "jobs" });
    const away = cluster.fail({ verb: "patch", resource: "jobs" }, { status: 503, times: 100 });
    const { ended } = begin(await lab.runtime(), request);
    await finishWell(lab, request);
    await lab.remove("jobs", launchName(request.action), { propagationPolicy: "Background" });
    away.end();

    const { outcome } = await ended;

    // The watch may have seen its end before.
    expect(outcome.message).toMatch(/^done|its Job was deleted by another client/);
    expect(await lab.podsMade(request)).toBe(1);
  });

  it("makes the Job again that was deleted before it was started, except among replicas", async () => {
    await using there = await runtimeLab();
    const { lab } = there;
    const launch = async (options: Parameters<RuntimeLab["runtime"]>[0]) => {
      const { request } = scriptedRequest([], { connected: true });
      const runtime = await lab.runtime(options);
      let isFirst = true;
      const onLaunch = async () => {
        if (isFirst)
          await lab.remove("jobs", launchName(request.action), { propagationPolicy: "Background" });
        isFirst = false;
      };
      return { request, ended: runtime.run({ ...request, onLaunch }, never) };
    };

    const alone = await launch({});
    await finishWell(lab, alone.request);
    await expect(alone.ended).resolves.toMatchObject({ outcome: { ok: true } });
    const shared = await launch({ shared: true });
    await expect(shared.ended).rejects.toThrow(NotLaunched);
    expect(await lab.podsMade(shared.request)).toBe(0);
  });

  it("among replicas, leaves an action to the server whose Job was created by a retry", async () => {
    await using there = await runtimeLab();
    const { cluster, lab } = there;
    const { request } = scriptedRequest([], { connected: true });
    cluster.fail({ verb: "create", resource: "jobs" }, { status: 503, retryAfterSeconds: 0, times: 1 });
    const runtime = await lab.runtime({ shared: true });

    await expect(runtime.run(request, never)).rejects.toThrow(NotLaunched);
    expect(await lab.findJob(request)).toBeUndefined();
  });

  it.each([429, 503])("continues after an API that answers %d for a while", async (status) => {
    await using there = await runtimeLab();
    const { cluster, lab } = there;
    const runtime = await lab.runtime();
    const { request } = scriptedRequest([], { connected: true });
    const answer = { status, retryAfterSeconds: 0, times: 2 };
    const faults = [
      cluster.fail({ verb: "create", resource: "jobs" }, answer),
      cluster.fail({ verb: "patch", resource: "jobs" }, answer),
      cluster.fail({ verb: "watch" }, answer),
      cluster.fail({ subresource: "log" }, answer),
    ];
    const { ended } = begin(runtime, request);
    await finishWell(lab, request);

    await expect(ended).resolves.toMatchObject({ outcome: { ok: true } });
    for (const fault of faults.slice(0, 2)) expect(fault.hits).toBe(2);
    for (const fault of faults) fault.end();
  });

  it("continues the log after a restart of the API server, without losing or repeating a line", async () => {
    await using there = await runtimeLab();
    const { cluster, lab } = there;
    const runtime = await lab.runtime();
    const { request, lines } = scriptedRequest([]);
    const { ended } = begin(runtime, request);
    const pod = await lab.startPod(request);
    lab.kubelet.log(pod, "action", "one\ntwo\ntw");
    await vi.waitFor(() => expect(lines).toHaveLength(2), WAIT);

    await cluster.restart();
    lab.kubelet.log(pod, "action", "o and a half\nthree\n");
    await vi.waitFor(() => expect(lines).toHaveLength(4), WAIT);
    await cluster.restart({ expire: true });
    lab.kubelet.log(pod, "action", `four\n${resultLine()}\n`);
    await lab.kubelet.finish(pod, { container: "action", exitCode: 0, message: resultLine() });

    await expect(ended).resolves.toMatchObject({ outcome: { ok: true } });
    expect(lines.map(({ line }) => line)).toEqual(["one", "two", "two and a half", "three", "four"]);
  });

  it("finds an end that its watches did not show, once it lists again", async () => {
    await using there = await runtimeLab();
    const { cluster, lab } = there;
    const runtime = await lab.runtime();
    const { request } = scriptedRequest([]);
    const { ended } = begin(runtime, request);
    const pod = await lab.startPod(request);
    await vi.waitFor(() => expect(cluster.countBy("get", "pods")).toBeGreaterThan(0), WAIT);

    await cluster.watchGap("Job", () =>
      cluster.watchGap("Pod", async () => {
        await lab.kubelet.finish(pod, { container: "action", exitCode: 0, message: resultLine() });
      }),
    );
    cluster.expireHistory();
    cluster.dropWatches();

    await expect(ended).resolves.toMatchObject({ outcome: { ok: true, message: "done" } });
  });

  it("stops an action whose end it did not see, and then accepts that it ended in time", async () => {
    await using there = await runtimeLab();
    const { cluster, lab } = there;
    const runtime = await lab.runtime({ requestTimeoutMs: 1_000 });
    const { request } = scriptedRequest([], { timeoutMs: 1_500 });
    const { ended } = begin(runtime, request);
    const pod = await lab.startPod(request);
    const startedAt = Date.now();
    await vi.waitFor(() => expect(cluster.countBy("get", "pods")).toBeGreaterThan(0), WAIT);
    const failure = resultLine({ ok: false, class: "bmc", message: "no power supply" });
    await cluster.watchGap("Job", () =>
      cluster.watchGap("Pod", async () => {
        const times = { startedAt, finishedAt: startedAt };
        await lab.kubelet.finish(pod, { container: "action", exitCode: 19, message: failure, ...times });
        await vi.waitFor(() => expect(cluster.requests.some(isStop)).toBe(true), WAIT);
      }),
    );

    await expect(ended).resolves.toMatchObject({
      outcome: { ok: false, class: "bmc", message: "no power supply", timedOut: false },
    });
  });

  it("finds the Job that an earlier worker left once the API answers", async () => {
    await using there = await runtimeLab();
    const { cluster, lab } = there;
    const { request } = scriptedRequest([]);
    const first = await lab.runtime();
    begin(first, request);
    const pod = await lab.startPod(request);
    await first.close();
    await lab.kubelet.finish(pod, { container: "action", exitCode: 0, message: resultLine() });
    const second = await lab.runtime();
    await cluster.stop();
    const adopting = second.adopt(leftOf(request, { handle: { job: "x" } }), never);
    await vi.waitFor(() => {
      expect(lab.said.map(({ message }) => message)).toContain("cluster not responding, retrying");
    }, WAIT);
    await cluster.listen();

    await expect(adopting).resolves.toMatchObject({ kind: "ended", ended: { outcome: { ok: true } } });
  });
});

function isStop({ body }: { readonly body: string }): boolean {
  return body.includes("pbnj-worker~1stopped");
}

import { describe, expect, it, vi } from "vitest";
import type { LaunchRequest } from "../../../../worker/core/ports/runtime.ts";
import { launchName } from "../../../../worker/runtimes/launch-name.ts";
import { scriptedRequest } from "../launch-request.ts";
import { leftOf, resultLine } from "./kubernetes-cases.ts";
import { begin, fileRuntimeLab, never } from "./runtime-lab.ts";

const { lab } = await fileRuntimeLab();
const { lab: aloneLab } = await fileRuntimeLab({ controllers: false });

async function started(options: Parameters<typeof scriptedRequest>[1] = {}) {
  const runtime = await lab.runtime();
  const { request, lines } = scriptedRequest([], options);
  const { ended, cancel } = begin(runtime, request);
  const pod = await lab.startPod(request);
  return { runtime, request, lines, ended, cancel, pod };
}

describe("the end of an action in a pod", () => {
  it("is out of memory if its container was", async () => {
    const { ended, pod } = await started();

    await lab.kubelet.finish(pod, { container: "action", exitCode: 137, reason: "OOMKilled" });

    const { outcome } = await ended;
    expect(outcome).toMatchObject({ ok: false, class: "internal", exitCode: 137, killed: true });
    expect(outcome.message).toBe("killed, out of memory");
  });

  it("has the last lines of the log as the reason if there is no result", async () => {
    const { ended, pod } = await started();
    lab.kubelet.log(pod, "action", 'connecting\n{"level":50,"msg":"no route"}\n');

    await lab.kubelet.finish(pod, { container: "action", exitCode: 11 });

    expect((await ended).outcome).toMatchObject({
      ok: false,
      class: "unreachable",
      message: "exited 11: connecting | no route",
    });
  });

  it("is a usage error if its program cannot be started", async () => {
    const { ended, pod } = await started();

    await lab.kubelet.finish(pod, {
      container: "action",
      exitCode: 128,
      reason: "StartError",
      message: 'exec: "/action": no such file or directory',
    });

    const { outcome } = await ended;
    expect(outcome).toMatchObject({ ok: false, class: "usage", timedOut: false });
    expect(outcome.message).toBe(
      'the container could not be started: exec: "/action": no such file or directory',
    );
    expect(outcome.exitCode).toBeUndefined();
  });

  it("reports that another client deleted the pod, and creates no second one", async () => {
    const { ended, pod, request } = await started();

    await lab.remove("pods", pod.metadata.name ?? "");
    await lab.kubelet.finish(pod, { container: "action", exitCode: 143 });

    const { outcome } = await ended;
    expect(outcome).toMatchObject({ ok: false, class: "internal", killed: true });
    expect(outcome.message).toBe("its pod was deleted by another client; exited 143");
    await lab.job(request, ({ status }) => JSON.stringify(status).includes('"Failed"'));
    expect(await lab.podsMade(request)).toBe(1);
  });

  it("is a success although another client deleted the pod, if the action had ended", async () => {
    const { ended, pod } = await started();

    await lab.remove("pods", pod.metadata.name ?? "");
    await lab.kubelet.finish(pod, { container: "action", exitCode: 0, message: resultLine() });

    expect((await ended).outcome).toMatchObject({ ok: true, message: "done" });
  });

  it("is unknown if Job and pod were deleted with force, and the message has the action's result", async () => {
    const { ended, lines, pod, request } = await started();
    lab.kubelet.log(pod, "action", `up\n${resultLine({ message: "off via redfish" })}\n`);
    await vi.waitFor(() => expect(lines).toHaveLength(1), { timeout: 20_000, interval: 20 });

    await lab.remove("jobs", launchName(request.action), { propagationPolicy: "Orphan" });
    await lab.kubelet.vanish(pod);

    const { outcome } = await ended;
    expect(outcome).toMatchObject({ ok: false, class: "internal", killed: true });
    expect(outcome.message).toMatch(
      /^its outcome is unknown: its pod was deleted by another client although it said: off via redfish$/,
    );
  });

  it("reports a node that does not answer at the timeout", async () => {
    const runtime = await lab.runtime({ stopGraceMs: 1 });
    const { request } = scriptedRequest([]);
    const { ended } = begin(runtime, request);
    const pod = await lab.startPod(request);

    await lab.kubelet.nodeLost(pod);
    // What the pod collector does in the end.
    await lab.kubelet.vanish(pod);

    const { outcome } = await ended;
    expect(outcome).toMatchObject({ ok: false, class: "internal" });
    expect(outcome.message).toContain("its node does not answer: Node node-");
    expect(await lab.podsMade(request)).toBe(1);
  });

  it("is a timeout if the Job's own deadline ended it", async () => {
    const { ended, pod, request } = await started();

    await lab.patchJob(request, { spec: { activeDeadlineSeconds: 1 } });
    await lab.pod(request, ({ metadata }) => metadata.deletionTimestamp !== undefined);
    const times = { startedAt: Date.now() - 120_000, finishedAt: Date.now() };
    await lab.kubelet.finish(pod, { container: "action", exitCode: 137, ...times });

    expect((await ended).outcome).toMatchObject({ ok: false, class: "timeout", timedOut: true });
  });

  it("is a success if the Job completed, although the pod is gone and only the log has the result", async () => {
    const { ended, pod, request, runtime } = await started();
    await lab.kubelet.finish(pod, { container: "action", exitCode: 0, message: resultLine() });
    await ended;
    await lab.job(request, ({ status }) => JSON.stringify(status).includes('"Complete"'));
    await lab.kubelet.vanish(pod);

    const adoption = await runtime.adopt(leftOf(request, { handle: { job: "x" } }), never);

    expect(adoption).toMatchObject({ ended: { outcome: { ok: true, exitCode: 0, message: "exited 0" } } });
  });
});

describe("an action beside a sidecar", () => {
  /** Creates the pod of a Job, with a container that an admission webhook adds. */
  async function podWithSidecar(request: LaunchRequest) {
    const job = await aloneLab.job(request, ({ spec }) => spec?.["suspend"] === false);
    const { template } = job.spec as unknown as {
      template: { metadata: object; spec: { containers: object[] } };
    };
    const { name, uid } = job.metadata;
    const { kind, apiVersion } = { kind: "Job", apiVersion: "batch/v1" };
    return aloneLab.create("pods", {
      metadata: {
        ...template.metadata,
        name: `${name}-abcde`,
        ownerReferences: [{ apiVersion, kind, name, uid, controller: true, blockOwnerDeletion: true }],
      },
      spec: {
        ...template.spec,
        containers: [{ name: "proxy", image: "mesh.example/proxy:v1" }, ...template.spec.containers],
      },
    });
  }

  it("ends with its own container, and its pod is removed once that is acknowledged", async () => {
    const runtime = await aloneLab.runtime();
    const { request } = scriptedRequest([]);
    const { ended } = begin(runtime, request);
    const pod = await podWithSidecar(request);
    await aloneLab.kubelet.start(pod);
    aloneLab.kubelet.log(pod, "proxy", `${resultLine({ ok: false, message: "of the proxy" })}\n`);
    await aloneLab.kubelet.finish(pod, { container: "action", exitCode: 0, message: resultLine() });

    const { outcome, remove } = await ended;
    const before = await aloneLab.kubelet.pod(pod);
    await remove(never);
    const after = await aloneLab.kubelet.pod(pod);

    expect(outcome).toMatchObject({ ok: true, message: "done" });
    expect(before.metadata.deletionTimestamp).toBeUndefined();
    expect(after.metadata.deletionTimestamp).toBeDefined();
    const job = await aloneLab.job(request);
    expect(job.spec).toMatchObject({ activeDeadlineSeconds: 1, ttlSecondsAfterFinished: 600 });
    expect(job.metadata.annotations).toMatchObject({ "pbnj-worker/exit-code": "0" });

    await aloneLab.kubelet.finish(pod, { container: "proxy", exitCode: 143 });
    const again = await runtime.adopt(leftOf(request, { handle: { job: "x" } }), never);
    expect(again).toMatchObject({ kind: "ended", ended: { outcome: { ok: true, exitCode: 0 } } });
  });
});

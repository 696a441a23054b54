import { describe, expect, it } from "vitest";
import type { RbacRule } from "../../../../simulators/kubernetes/cluster.ts";
import { RIGHTS } from "../../../../worker/runtimes/kubernetes/runtime-rights.ts";
import { scriptedRequest } from "../launch-request.ts";
import { resultLine } from "./kubernetes-cases.ts";
import { begin, fileRuntimeLab, never } from "./runtime-lab.ts";

const namespace = "actions";
/** The rights that the chart grants, except those that `without` selects. */
function rules(without: (right: { resource: string; verb: string }) => boolean = () => false): RbacRule[] {
  return RIGHTS.map(({ group, resource, verbs }) => ({
    apiGroups: [group],
    resources: [resource],
    verbs: verbs.filter((verb) => !without({ resource, verb })),
    namespaces: [namespace],
  })).filter(({ verbs }) => verbs.length > 0);
}

const { cluster, lab } = await fileRuntimeLab();

let users = 0;
function worker(granted: RbacRule[]) {
  return lab.runtime({ access: cluster.access(cluster.addUser(`worker-${users++}`, granted)) });
}

describe("the rights of the kubernetes runtime", () => {
  it("suffice for everything: run, stop, acknowledge and sweep", async () => {
    const runtime = await worker(rules());
    const { request } = scriptedRequest([], { connected: true });
    cluster.forgetRequests();
    const { ended, cancel } = begin(runtime, request);
    const pod = await lab.startPod(request);
    lab.kubelet.log(pod, "action", `${resultLine()}\n`);
    cancel.abort();
    await lab.pod(request, ({ metadata }) => metadata.deletionTimestamp !== undefined);
    await lab.kubelet.finish(pod, { container: "action", exitCode: 0, message: resultLine() });
    await (await ended).remove(never);
    await runtime.sweep(() => false, never);

    await expect(runtime.check(never)).resolves.toMatch(/namespace actions$/);
    const failed = lab.said.filter(({ level }) => level === "warn" || level === "error");
    expect(failed).toEqual([]);
    // Nothing is granted that is not used, but for what only bad days need.
    const used = new Set(
      cluster.requests.map(({ verb, resource, subresource }) =>
        [verb, [resource, subresource].filter(Boolean).join("/")].join(" "),
      ),
    );
    const unused = RIGHTS.flatMap(({ resource, verbs }) => verbs.map((verb) => `${verb} ${resource}`)).filter(
      (right) => !used.has(right),
    );
    expect(unused).toEqual(["get jobs", "delete jobs", "list events"]);
  });

  it("are named one by one in the check if some are missing", async () => {
    const missing = new Set(["watch jobs", "patch jobs", "list pods"]);
    const runtime = await worker(rules(({ resource, verb }) => missing.has(`${verb} ${resource}`)));

    await expect(runtime.check(never)).rejects.toThrow(
      "the worker may not watch jobs.batch in actions, patch jobs.batch in actions, list pods in actions: grant it with a Role and a RoleBinding",
    );
  });

  it("may lack optional ones, which the check reports", async () => {
    const runtime = await worker(rules(({ resource }) => /secrets|events|log/.test(resource)));

    await expect(runtime.check(never)).resolves.toMatch(
      /without the right to get pods\/log in actions, create secrets in actions, list events in actions$/,
    );
  });

  it("to read logs may be missing: that is logged once, and outcomes are unaffected", async () => {
    const runtime = await worker(rules(({ resource }) => resource === "pods/log"));
    lab.said.length = 0;
    for (const _ of [1, 2]) {
      const { request, lines } = scriptedRequest([]);
      const { ended } = begin(runtime, request);
      const pod = await lab.startPod(request);
      lab.kubelet.log(pod, "action", "unread\n");
      await lab.kubelet.finish(pod, { container: "action", exitCode: 0, message: resultLine() });

      expect((await ended).outcome).toMatchObject({ ok: true, message: "done" });
      expect(lines).toEqual([]);
    }

    const warnings = lab.said.filter(({ message }) => message.startsWith("action logs unavailable"));
    expect(warnings).toHaveLength(1);
    expect(JSON.stringify(warnings[0]?.fields)).toContain("pods/log");
  });

  it("to create Secrets may be missing: an action that needs one is refused, and its Job is removed", async () => {
    const runtime = await worker(rules(({ resource }) => resource === "secrets"));
    const { request } = scriptedRequest([], { connected: true });

    const { outcome } = await runtime.run(request, never);

    expect(outcome).toMatchObject({ ok: false, class: "internal" });
    expect(outcome.message).toMatch(
      /^the connection of m1 cannot be passed to the pod: create secrets in actions: .*forbidden.*; put its Secret into actions, or grant/,
    );
    expect(await lab.findJob(request)).toBeUndefined();
  });

  it("to delete pods may be missing: the Job's deadline stops the action", async () => {
    const runtime = await worker(rules(({ resource, verb }) => resource === "pods" && verb === "delete"));
    const { request } = scriptedRequest([], { timeoutMs: 1_500 });
    const { ended } = begin(runtime, request);
    const pod = await lab.startPod(request);
    await lab.pod(request, ({ metadata }) => metadata.deletionTimestamp !== undefined);
    await lab.kubelet.finish(pod, { container: "action", exitCode: 143 });

    expect((await ended).outcome).toMatchObject({ ok: false, class: "timeout", timedOut: true });
    expect(lab.said.map(({ message }) => message)).toContain("pod deletion failed");
  });

  it("to list events may be missing: then the failure names the command that shows the reason", async () => {
    const granted = rules(({ resource }) => resource === "events");
    const access = cluster.access(cluster.addUser("no-events", granted));
    const runtime = await lab.runtime({
      access,
      pods: { startTimeoutMs: 1_000, serviceAccount: "no-such-account" },
    });
    const { request } = scriptedRequest([]);

    const { outcome } = await runtime.run(request, never);

    expect(outcome.message).toMatch(
      /^the pod did not start within 1\.0 s: the cluster created no pod for it; kubectl describe job pbnj-scripted-action-[0-9a-f]{16} may show why$/,
    );
  });
});

import { describe, expect, it, vi } from "vitest";
import { systemClock } from "../../../../shared/clock.ts";
import { silentLogger } from "../../../../shared/logger.ts";
import { requireVersion } from "../../../../worker/runtimes/kubernetes/server-version.ts";
import { scriptedRequest } from "../launch-request.ts";
import { resultLine } from "./kubernetes-cases.ts";
import { begin, fileRuntimeLab, never } from "./runtime-lab.ts";

const WAIT = { timeout: 60_000, interval: 20 };

const { cluster, lab } = await fileRuntimeLab();

describe("the watches of the kubernetes runtime", () => {
  it("are two for all actions, and end after a while without actions", async () => {
    const over = Promise.withResolvers<void>();
    const clock = {
      ...systemClock,
      sleep: (ms: number, signal?: AbortSignal) =>
        ms === 60_000 ? over.promise : systemClock.sleep(ms, signal),
    };
    const before = cluster.openWatches().length;
    const runtime = await lab.runtime({ clock, log: silentLogger });
    expect(cluster.openWatches()).toHaveLength(before);
    const requests = Array.from({ length: 5 }, () => scriptedRequest([]).request);

    const running = requests.map((request) => begin(runtime, request));
    await Promise.all(
      requests.map(async (request) => {
        const pod = await lab.startPod(request);
        await lab.kubelet.finish(pod, { container: "action", exitCode: 0, message: resultLine() });
      }),
    );
    await Promise.all(running.map(async ({ ended }) => (await ended).remove(never)));
    expect(cluster.openWatches()).toHaveLength(before + 2);
    over.resolve();

    await vi.waitFor(() => expect(cluster.openWatches()).toHaveLength(before), WAIT);
    expect(cluster.countBy("watch")).toBe(2);
  });
});

describe("the version of a cluster", () => {
  it.each(["v1.29.0", "v1.37.2+k3s1", "v2.0.0", "unknown"])("may be %s", (version) => {
    expect(requireVersion(version)).toBe(version);
  });

  it("must not be one in which a Job may create a second pod", () => {
    expect(() => requireVersion("v1.28.9-eks-1")).toThrow(
      "the cluster is Kubernetes v1.28.9-eks-1: 1.29 is needed, as older ones may run an action twice",
    );
  });
});

import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { systemClock } from "../../../../shared/clock.ts";
import { type Logger, silentLogger } from "../../../../shared/logger.ts";
import type { Cluster, Selection } from "../../../../worker/kubernetes/client/cluster.ts";
import { KINDS, type Kind } from "../../../../worker/kubernetes/client/kinds.ts";
import { WatchedObjects } from "../../../../worker/kubernetes/client/watched-objects.ts";
import { type FakeClusterLab, openFakeCluster } from "../../../support/fake-cluster.ts";

const MAPS: Kind = { group: "", version: "v1", kind: "ConfigMap", resource: "configmaps" };
const ConfigMap = z.object({ data: z.record(z.string(), z.string()).optional() });
const WITHIN = { timeout: 15_000, interval: 10 };

let there: FakeClusterLab;
let fake: FakeClusterLab["fake"];
let cluster: Cluster;
let said: string[];
let stop: AbortController;
let running: Promise<void>[];
const log: Logger = {
  ...silentLogger,
  info: (_, message) => said.push(message),
  warn: ({ error }, message) => said.push(`${message}: ${error}`),
};

beforeEach(async () => {
  there = await openFakeCluster();
  fake = there.fake;
  cluster = await there.connect();
  said = [];
  stop = new AbortController();
  running = [];
});
afterEach(async () => {
  stop.abort();
  await Promise.all(running);
  await there[Symbol.asyncDispose]();
});

function watch(kind: Kind = MAPS, selection: Selection = { namespace: "default" }) {
  const changes: string[] = [];
  const objects = new WatchedObjects<string>({
    cluster,
    kind,
    selection,
    project: (object) => ConfigMap.parse(object).data?.["value"],
    onChange: (change) => changes.push(`${change.kind} ${change.name.name}`),
    clock: systemClock,
    log,
  });
  running.push(objects.run(stop.signal));
  return { objects, changes };
}

const put = (name: string, value: string, namespace = "default") => {
  const object = { apiVersion: "v1", kind: "ConfigMap", metadata: { namespace, name }, data: { value } };
  return fake.get("v1", "ConfigMap", name, namespace)
    ? fake.replace("v1", "ConfigMap", object)
    : fake.create("v1", "ConfigMap", object);
};
const at = (name: string, namespace = "default") => ({ namespace, name });

describe("watched objects", () => {
  it("are the listed ones and every change since", async () => {
    put("a", "1");
    const { objects, changes } = watch();
    await objects.synced;
    expect(objects.get(at("a"))).toBe("1");

    put("b", "1");
    put("a", "2");
    fake.remove("v1", "ConfigMap", "b", "default");

    await vi.waitFor(() => expect(changes).toEqual(["set a", "set b", "set a", "gone b"]), WITHIN);
    expect([...objects.values()]).toEqual(["2"]);
    expect(fake.countBy("list", "configmaps")).toBe(1);
    expect(fake.countBy("watch", "configmaps")).toBe(1);
  });

  it("are in one namespace, or in all", async () => {
    put("a", "1");
    put("a", "2", "tink-system");
    const one = watch();
    const all = watch(MAPS, {});
    await Promise.all([one.objects.synced, all.objects.synced]);

    expect([...one.objects.values()]).toEqual(["1"]);
    expect([...all.objects.values()].toSorted()).toEqual(["1", "2"]);
    expect(all.objects.get(at("a", "tink-system"))).toBe("2");
  });

  it("are removed when `project` drops them", async () => {
    put("a", "1");
    const { objects, changes } = watch();
    await objects.synced;

    fake.replace("v1", "ConfigMap", {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: at("a"),
      data: { other: "x" },
    });

    await vi.waitFor(() => expect(changes).toEqual(["set a", "gone a"]), WITHIN);
    expect(objects.size).toBe(0);
  });
});

describe("a watch resumes", () => {
  it("from its last version after a disconnect", async () => {
    const { objects, changes } = watch();
    await objects.synced;
    await vi.waitFor(() => expect(objects.state.kind).toBe("watching"), WITHIN);

    fake.dropWatches();
    put("a", "1");

    await vi.waitFor(() => expect(changes).toEqual(["set a"]), WITHIN);
    expect(fake.countBy("list", "configmaps")).toBe(1);
  });

  it("from its last version after a silence, as on a dead connection", async () => {
    cluster = await there.connect({ watchSilenceMs: 300 });
    const { objects, changes } = watch();
    await objects.synced;
    await vi.waitFor(() => expect(objects.state.kind).toBe("watching"), WITHIN);

    fake.dropWatches({ silently: true });
    put("a", "1");

    await vi.waitFor(() => expect(changes).toEqual(["set a"]), WITHIN);
    expect(said).toEqual([]);
  });

  it("with a list after 410, and reports the difference", async () => {
    put("a", "1");
    put("b", "1");
    const { objects, changes } = watch();
    await objects.synced;
    await vi.waitFor(() => expect(objects.state.kind).toBe("watching"), WITHIN);

    await fake.watchGap("ConfigMap", () => {
      fake.remove("v1", "ConfigMap", "a", "default");
      put("b", "2");
      put("c", "1");
    });
    fake.expireHistory();
    fake.dropWatches();

    await vi.waitFor(() => expect([...objects.values()].toSorted()).toEqual(["1", "2"]), WITHIN);
    expect(changes.slice(2).toSorted()).toEqual(["gone a", "set b", "set c"]);
    expect(fake.countBy("list", "configmaps")).toBe(2);
  });

  it("after a restart of the API server, with one warning", async () => {
    const { objects, changes } = watch();
    await objects.synced;
    await vi.waitFor(() => expect(objects.state.kind).toBe("watching"), WITHIN);

    await fake.stop();
    await vi.waitFor(() => expect(objects.state.kind).toBe("failing"), WITHIN);
    put("a", "1");
    const opened = vi.fn();
    cluster.onWatchOpened(opened);
    await fake.listen();

    await vi.waitFor(() => expect(changes).toEqual(["set a"]), WITHIN);
    expect(objects.state.kind).toBe("watching");
    expect(opened).toHaveBeenCalledOnce();
    expect(said).toEqual([
      expect.stringMatching(
        /^cluster watch failed, retrying: watch configmaps in default: .*does not answer/,
      ),
      "cluster watch resumed",
    ]);
  });
});

describe("a failed watch", () => {
  it("logs the missing right, and resumes once it is granted", async () => {
    await there.allow([]);
    cluster = await there.connect();

    const { objects } = watch();
    await vi.waitFor(() => expect(objects.state.kind).toBe("failing"), WITHIN);

    expect(objects.isSynced).toBe(false);
    expect(said).toEqual([
      expect.stringMatching(/cluster watch failed, retrying.*"worker" cannot list resource "configmaps"/),
    ]);
  });

  it("logs a kind that the API does not serve", async () => {
    const { objects } = watch(KINDS.hardwareV1Alpha2);
    await vi.waitFor(() => expect(objects.state.kind).toBe("failing"), WITHIN);

    expect(said).toEqual([expect.stringMatching(/cluster watch failed, retrying.*hardware.tinkerbell.org/)]);
  });

  it("rejects `synced` when it ends", async () => {
    fake.hang({ verb: "list" });
    const { objects } = watch();
    const waiting = expect(objects.synced).rejects.toThrow("over");
    stop.abort(new Error("over"));
    await waiting;
  });
});

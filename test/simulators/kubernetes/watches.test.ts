import { CoreV1Api, KubeConfig, makeInformer, type V1ConfigMap } from "@kubernetes/client-node";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { FakeCluster } from "./cluster.ts";
import { ClusterClient, type WatchedEvent } from "./node/cluster-client.ts";

const SOON = { timeout: 15_000, interval: 10 };
const PATH = "/api/v1/namespaces/default/configmaps";

let cluster: FakeCluster;
let client: ClusterClient;
let ending: AbortController;
beforeEach(async () => {
  cluster = await FakeCluster.start({ controllers: false, historyLimit: 50 });
  client = new ClusterClient(cluster.access());
  ending = new AbortController();
  cluster.remove("v1", "ConfigMap", "kube-root-ca.crt");
});
afterEach(async () => {
  ending.abort();
  await client.close();
  await cluster.close();
});

const make = (name: string, labels: Record<string, string> = {}) =>
  cluster.create("v1", "ConfigMap", { metadata: { name, labels } });

/** What a watch says, as `TYPE name`, in order, and its end as the last one. */
function watching(query: string, path = PATH): string[] {
  const seen: string[] = [];
  const { signal } = ending;
  const follow = async () => {
    for await (const { type, object } of events(path, query, signal))
      seen.push(
        type === "ERROR"
          ? `ERROR ${object["code"]} ${object["reason"]}`
          : `${type} ${object.metadata.name ?? ""}`.trim(),
      );
  };
  follow().then(
    () => seen.push("end"),
    () => seen.push("broken"),
  );
  return seen;
}

function events(path: string, query: string, signal: AbortSignal): AsyncGenerator<WatchedEvent> {
  const [version = "", ...selectors] = query.split("&");
  return client.watch(path, version, signal, selectors.join("&"));
}

test("an informer of the official client follows what happens", async () => {
  const config = new KubeConfig();
  config.loadFromString(cluster.kubeconfig());
  const core = config.makeApiClient(CoreV1Api);
  const seen: string[] = [];
  const informer = makeInformer<V1ConfigMap>(config, PATH, () =>
    core.listNamespacedConfigMap({ namespace: "default" }),
  );
  for (const event of ["add", "update", "delete"] as const)
    informer.on(event, (object) => seen.push(`${event} ${object.metadata?.name}`));
  make("before");

  await informer.start();
  await vi.waitFor(() => expect(cluster.openWatches("configmaps")).toHaveLength(1), SOON);
  make("a");
  cluster.patch("v1", "ConfigMap", "a", { data: { x: "y" } });
  cluster.remove("v1", "ConfigMap", "a");
  await vi.waitFor(() => expect(seen).toHaveLength(4), SOON);
  await informer.stop();

  expect(seen).toEqual(["add before", "add a", "update a", "delete a"]);
});

test("a watch goes on where a list ended, and tells nothing twice", async () => {
  make("a");
  const { resourceVersion } = await client.list(PATH);
  make("b");

  const seen = watching(resourceVersion);
  await vi.waitFor(() => expect(seen).toHaveLength(1), SOON);
  make("c");
  await vi.waitFor(() => expect(seen).toHaveLength(2), SOON);

  expect(seen).toEqual(["ADDED b", "ADDED c"]);
});

test("without a version a watch begins with what is there", async () => {
  make("a");

  const seen = watching("");
  await vi.waitFor(() => expect(seen).toEqual(["ADDED a"]), SOON);
});

test("what leaves a selection is told as deleted, what enters it as added", async () => {
  const seen = watching("0&labelSelector=kind%20in%20(one,two)");
  await vi.waitFor(() => expect(cluster.openWatches()).toHaveLength(1), SOON);

  make("a", { kind: "one" });
  cluster.patch("v1", "ConfigMap", "a", { metadata: { labels: { kind: "three" } } });
  cluster.patch("v1", "ConfigMap", "a", { metadata: { labels: { kind: "two" } } });
  make("z", { kind: "four" });
  cluster.remove("v1", "ConfigMap", "a");

  await vi.waitFor(() => expect(seen).toEqual(["ADDED a", "DELETED a", "ADDED a", "DELETED a"]), SOON);
});

test("a version that is forgotten ends a watch with 410, in an event or in the status", async () => {
  const { resourceVersion } = await client.list(PATH);
  cluster.expireHistory();

  const told = watching(resourceVersion);
  await vi.waitFor(() => expect(told).toEqual(["ERROR 410 Expired", "end"]), SOON);
  cluster.staleWatches = "status";

  await expect(events(PATH, resourceVersion, ending.signal).next()).rejects.toMatchObject({
    status: 410,
    reason: "Expired",
  });
});

test("more changes than the history holds make a version too old", async () => {
  const { resourceVersion } = await client.list(PATH);
  for (let count = 0; count < 60; count++) make(`c-${count}`);

  const seen = watching(resourceVersion);

  await vi.waitFor(() => expect(seen).toEqual(["ERROR 410 Expired", "end"]), SOON);
});

test("bookmarks come to those that want them, with the newest version", async () => {
  const wanting = watching("0");
  await vi.waitFor(() => expect(cluster.openWatches()).toHaveLength(1), SOON);
  cluster.create("v1", "Secret", { metadata: { name: "elsewhere" } });

  cluster.sendBookmarks();

  await vi.waitFor(() => expect(wanting).toEqual(["BOOKMARK"]), SOON);
});

test("a watch ends when its time is over", async () => {
  const seen = watching("0&timeoutSeconds=1");

  await vi.waitFor(() => expect(seen.at(-1)).toBe("end"), SOON);
});

test("dropped watches break, silenced ones say nothing and stay", async () => {
  const dropped = watching("0");
  await vi.waitFor(() => expect(cluster.openWatches()).toHaveLength(1), SOON);
  cluster.dropWatches();
  await vi.waitFor(() => expect(dropped).toEqual(["broken"]), SOON);

  const silent = watching("0");
  await vi.waitFor(() => expect(cluster.openWatches()).toHaveLength(1), SOON);
  cluster.dropWatches({ silently: true });
  const other = watching("0");
  await vi.waitFor(() => expect(cluster.openWatches()).toHaveLength(2), SOON);
  make("a");
  await vi.waitFor(() => expect(other).toEqual(["ADDED a"]), SOON);

  expect(silent).toEqual([]);
});

test("what happens in a gap is never told to an open watch, while a list has it", async () => {
  const seen = watching("0");
  await vi.waitFor(() => expect(cluster.openWatches()).toHaveLength(1), SOON);

  await cluster.watchGap("ConfigMap", () => void make("missed"));
  make("told");

  await vi.waitFor(() => expect(seen).toEqual(["ADDED told"]), SOON);
  const { items } = await client.list(PATH);
  expect(items.map(({ metadata }) => metadata.name)).toEqual(["missed", "told"]);
});

test("a list in chunks is of one moment, and its token ends with the history", async () => {
  for (const name of ["a", "b", "c"]) make(name);
  const first = await client.get(`${PATH}?limit=2`);
  make("aa");
  cluster.remove("v1", "ConfigMap", "c");
  const token = (first.metadata as { continue?: string }).continue;

  const second = await client.list(`${PATH}?limit=2&continue=${token}`);
  cluster.expireHistory();
  const late = client.list(`${PATH}?limit=2&continue=${token}`);

  expect(first.metadata).toMatchObject({ remainingItemCount: 1 });
  expect(second.items.map(({ metadata }) => metadata.name)).toEqual(["c"]);
  await expect(late).rejects.toMatchObject({ status: 410, reason: "Expired" });
});

test.each([
  ["labelSelector=kind", ["a", "b"]],
  ["labelSelector=!kind", ["c"]],
  ["labelSelector=kind%3Done", ["a"]],
  ["labelSelector=kind!%3Done", ["b", "c"]],
  ["labelSelector=kind%20notin%20(two),kind", ["a"]],
  ["fieldSelector=metadata.name%3Db", ["b"]],
  ["fieldSelector=metadata.name!%3Db", ["a", "c"]],
])("a list by %s has %j", async (query, names) => {
  make("a", { kind: "one" });
  make("b", { kind: "two" });
  make("c");

  const { items } = await client.list(`${PATH}?${query}`);

  expect(items.map(({ metadata }) => metadata.name)).toEqual(names);
});

test("a list of all namespaces has those of each, and built-in items bear no kind", async () => {
  make("a");
  cluster.create("v1", "ConfigMap", { metadata: { name: "a", namespace: "tink-system" } });

  const { items } = await client.list("/api/v1/configmaps?fieldSelector=metadata.name%3Da");

  expect(items.map(({ metadata }) => metadata.namespace)).toEqual(["default", "tink-system"]);
  expect(items[0]).not.toHaveProperty("kind");
});

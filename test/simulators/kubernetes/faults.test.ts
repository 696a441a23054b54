import { Agent, request } from "undici";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { FakeCluster } from "./cluster.ts";
import { ClusterClient } from "./node/cluster-client.ts";

const SOON = { timeout: 15_000, interval: 10 };
const SECRETS = "/api/v1/namespaces/default/secrets";

let cluster: FakeCluster;
let client: ClusterClient;
beforeEach(async () => {
  cluster = await FakeCluster.start({ controllers: false });
  client = new ClusterClient(cluster.access());
});
afterEach(async () => {
  await client.close();
  await cluster.close();
});

test("the next requests of a kind are refused as often as told, with the time to wait", async () => {
  const fault = cluster.fail(
    { verb: "create", resource: "secrets" },
    { status: 429, retryAfterSeconds: 7, times: 2 },
  );
  const agent = new Agent({ connect: { ca: cluster.ca } });
  const headers = { Authorization: `Bearer ${cluster.token}`, "Content-Type": "application/json" };
  const create = () =>
    request(`${cluster.url}${SECRETS}`, {
      method: "POST",
      dispatcher: agent,
      headers,
      body: '{"metadata":{"name":"a"}}',
    });

  const refused = await create();
  const status = await refused.body.json();
  const other = await client.list(SECRETS);
  const second = await create();
  await second.body.dump();
  const third = await create();
  await third.body.dump();
  await agent.close();

  expect(refused.headers["retry-after"]).toBe("7");
  expect(status).toMatchObject({ code: 429, reason: "TooManyRequests", details: { retryAfterSeconds: 7 } });
  expect(other.items).toEqual([]);
  expect([second.statusCode, third.statusCode]).toEqual([429, 201]);
  expect(fault.hits).toBe(2);
});

test("a planned fault can be called off, and spares the control plane", async () => {
  const fault = cluster.fail({ resource: "secrets" }, { status: 503, times: Number.POSITIVE_INFINITY });
  const controlPlane = new ClusterClient(cluster.controlPlane);

  const spared = await controlPlane.list(SECRETS);
  await expect(client.list(SECRETS)).rejects.toMatchObject({ status: 503, reason: "ServiceUnavailable" });
  fault.end();
  const after = await client.list(SECRETS);
  await controlPlane.close();

  expect([spared.items, after.items]).toEqual([[], []]);
});

test("an answer can be lost after the deed", async () => {
  cluster.loseAnswer((seen) => seen.verb === "create");

  const lost = client.create(SECRETS, { metadata: { name: "a" } });

  await expect(lost).rejects.toThrow();
  expect(cluster.get("v1", "Secret", "a")).toBeDefined();
  await expect(client.create(SECRETS, { metadata: { name: "a" } })).rejects.toMatchObject({ status: 409 });
});

test("an answer can stay away for ever", async () => {
  const fault = cluster.hang({ verb: "list" });
  const agent = new Agent({ connect: { ca: cluster.ca } });
  const giveUp = new AbortController();
  const headers = { Authorization: `Bearer ${cluster.token}` };

  const asked = request(`${cluster.url}${SECRETS}`, { dispatcher: agent, headers, signal: giveUp.signal });
  await vi.waitFor(() => expect(fault.hits).toBe(1), SOON);
  giveUp.abort(new Error("waited enough"));

  await expect(asked).rejects.toThrow("waited enough");
  await agent.close();
});

test("a restart breaks connections, keeps objects and its address, and forgets history when asked to", async () => {
  const { resourceVersion } = await client
    .create(SECRETS, { metadata: { name: "a" } })
    .then(({ metadata }) => metadata);
  const { url } = cluster;
  const watch = client.watch(SECRETS, resourceVersion ?? "", AbortSignal.timeout(15_000));
  const next = watch.next();
  await vi.waitFor(() => expect(cluster.openWatches("secrets")).toHaveLength(1), SOON);

  const broken = expect(next).rejects.toThrow();
  await cluster.restart({ expire: true });
  await broken;

  expect(cluster.url).toBe(url);
  expect((await client.list(SECRETS)).items).toHaveLength(1);
  const stale = await client.watch(SECRETS, resourceVersion ?? "", AbortSignal.timeout(15_000)).next();
  expect(stale.value).toMatchObject({ type: "ERROR", object: { code: 410, reason: "Expired" } });
});

test("nobody answers while it is stopped", async () => {
  await cluster.stop();
  await expect(client.list(SECRETS)).rejects.toThrow();

  await cluster.listen();

  expect((await client.list(SECRETS)).items).toEqual([]);
});

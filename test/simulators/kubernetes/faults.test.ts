import { Agent, request } from "undici";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { FakeCluster } from "../../../simulators/kubernetes/cluster.ts";
import { ClusterClient } from "../../../simulators/kubernetes/node/cluster-client.ts";

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

test("refuses the next matching requests, as many as planned", async () => {
  const fault = cluster.fail({ verb: "create", resource: "secrets" }, { status: 503, times: 2 });
  const create = () => client.create(SECRETS, { metadata: { name: "a" } });

  await expect(create()).rejects.toMatchObject({ status: 503, reason: "ServiceUnavailable" });
  expect((await client.list(SECRETS)).items).toEqual([]);
  await expect(create()).rejects.toMatchObject({ status: 503 });
  await create();

  expect(fault.hits).toBe(2);
});

test("sends the time to wait as a header and in the Status", async () => {
  cluster.fail({}, { status: 429, retryAfterSeconds: 7 });
  const dispatcher = new Agent({ connect: { ca: cluster.ca } });

  const { headers, body } = await request(`${cluster.url}${SECRETS}`, { dispatcher });
  const status = await body.json();
  await dispatcher.close();

  expect(headers["retry-after"]).toBe("7");
  expect(status).toMatchObject({ reason: "TooManyRequests", details: { retryAfterSeconds: 7 } });
});

test("a planned fault can be ended, and does not affect the control plane", async () => {
  const fault = cluster.fail({ resource: "secrets" }, { status: 503, times: Number.POSITIVE_INFINITY });
  const controlPlane = new ClusterClient(cluster.controlPlane);

  await controlPlane.list(SECRETS);
  await controlPlane.close();
  await expect(client.list(SECRETS)).rejects.toMatchObject({ status: 503 });
  fault.end();

  expect((await client.list(SECRETS)).items).toEqual([]);
});

test("carries a request out whose answer is lost", async () => {
  cluster.loseAnswer((seen) => seen.verb === "create");

  await expect(client.create(SECRETS, { metadata: { name: "a" } })).rejects.toThrow("other side closed");

  expect(cluster.get("v1", "Secret", "a")).toBeDefined();
});

test("never answers a request that hangs", async () => {
  const fault = cluster.hang({ verb: "list" });
  const asked = client.list(SECRETS);
  await vi.waitFor(() => expect(fault.hits).toBe(1), SOON);

  const first = await Promise.race([asked, client.get("/version").then(() => "the version")]);
  await client.close();

  expect(first).toBe("the version");
  await expect(asked).rejects.toThrow();
});

test("a restart breaks connections and keeps objects and the address", async () => {
  await client.create(SECRETS, { metadata: { name: "a" } });
  const { url } = cluster;
  const next = client
    .watch(SECRETS, "1", AbortSignal.timeout(15_000), { fieldSelector: "metadata.name=b" })
    .next();
  const broken = expect(next).rejects.toThrow();
  await vi.waitFor(() => expect(cluster.openWatches("secrets")).toHaveLength(1), SOON);

  await cluster.stop();
  await broken;
  await expect(client.list(SECRETS)).rejects.toThrow();
  await cluster.listen();

  expect(cluster.url).toBe(url);
  expect((await client.list(SECRETS)).items).toHaveLength(1);
});

import { once } from "node:events";
import { createServer } from "node:http";
import { createSecureServer } from "node:http2";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import * as z from "zod/mini";
import { createCertificate } from "../../../../simulators/certificate.ts";
import { listenOn } from "../../../../simulators/free-port.ts";
import { FakeCluster } from "../../../../simulators/kubernetes/cluster.ts";
import { Cluster } from "../../../../worker/kubernetes/client/cluster.ts";
import { KINDS } from "../../../../worker/kubernetes/client/kinds.ts";
import { KubernetesError } from "../../../../worker/kubernetes/client/kubernetes-error.ts";
import { type FakeClusterLab, openFakeCluster } from "../../../support/fake-cluster.ts";

const Named = z.object({ metadata: z.object({ name: z.string(), resourceVersion: z.string() }) });
const SECRET = { type: "Opaque", stringData: { password: "canary-9d1e" } };
const IN_DEFAULT = (name: string) => ({ namespace: "default", name });

let there: FakeClusterLab;
let fake: FakeCluster;
let cluster: Cluster;
const { signal } = new AbortController();

async function open(kubeconfig: string, requestTimeoutMs?: number): Promise<Cluster> {
  await there.write("kubeconfig", kubeconfig);
  return there.connect({ ...(requestTimeoutMs && { requestTimeoutMs }) });
}

beforeEach(async () => {
  there = await openFakeCluster({ controllers: false });
  fake = there.fake;
  cluster = await there.connect();
});
afterEach(() => there[Symbol.asyncDispose]());

const secret = (name: string) => ({ metadata: { name }, ...SECRET });
const reasonOf = (thrown: unknown) => (thrown instanceof KubernetesError ? thrown.reason : thrown);
const failureOf = (work: Promise<unknown>) => work.then(() => "no failure", reasonOf);

describe("an object", () => {
  it("is created, read, patched and removed", async () => {
    const made = await cluster.create(KINDS.secret, "default", secret("a"), Named, signal);
    const read = await cluster.get(KINDS.secret, IN_DEFAULT("a"), Named, signal);
    expect(read).toEqual(made);

    const patch = { type: "merge", body: { metadata: { labels: { x: "y" } } } } as const;
    await cluster.patch(KINDS.secret, IN_DEFAULT("a"), patch, Named, signal);
    const Labelled = z.object({ metadata: z.object({ labels: z.record(z.string(), z.string()) }) });
    const labelled = await cluster.get(KINDS.secret, IN_DEFAULT("a"), Labelled, signal);
    expect(labelled.metadata.labels).toEqual({ x: "y" });

    expect(await cluster.remove(KINDS.secret, IN_DEFAULT("a"), {}, signal)).toBe(true);
    expect(await cluster.remove(KINDS.secret, IN_DEFAULT("a"), {}, signal)).toBe(false);
    expect(await cluster.find(KINDS.secret, IN_DEFAULT("a"), Named, signal)).toBeUndefined();
  });

  it("with a stale version is a conflict", async () => {
    const { metadata } = await cluster.create(KINDS.secret, "default", secret("a"), Named, signal);
    const patch = { type: "merge", body: { metadata: { labels: { x: "y" } } } } as const;
    await cluster.patch(KINDS.secret, IN_DEFAULT("a"), patch, Named, signal);

    const stale = { metadata: { name: "a", resourceVersion: metadata.resourceVersion }, ...SECRET };
    expect(await failureOf(cluster.replace(KINDS.secret, IN_DEFAULT("a"), stale, Named, signal))).toBe(
      "conflict",
    );
    const { resourceVersion } = metadata;
    expect(await failureOf(cluster.remove(KINDS.secret, IN_DEFAULT("a"), { resourceVersion }, signal))).toBe(
      "conflict",
    );
  });

  it("is listed on whichever page it is", async () => {
    for (let index = 0; index < 1_100; index++) {
      fake.create("v1", "ConfigMap", {
        metadata: { namespace: "default", name: `m-${index}`, labels: { many: "yes" } },
      });
    }
    const kind = { group: "", version: "v1", kind: "ConfigMap", resource: "configmaps" };

    const { items, resourceVersion } = await cluster.list(
      kind,
      { namespace: "default", labelSelector: "many=yes" },
      Named,
      signal,
    );

    expect(new Set(items.map(({ metadata }) => metadata.name)).size).toBe(1_100);
    expect(Number(resourceVersion)).toBeGreaterThan(0);
    expect(fake.countBy("list", "configmaps")).toBe(3);
  });
});

describe("a failed request reports", () => {
  it("the reason of the API", async () => {
    await cluster.create(KINDS.secret, "default", secret("a"), Named, signal);

    expect(await failureOf(cluster.create(KINDS.secret, "default", secret("a"), Named, signal))).toBe(
      "already-exists",
    );
    expect(await failureOf(cluster.get(KINDS.secret, IN_DEFAULT("b"), Named, signal))).toBe("not-found");
    expect(await failureOf(cluster.get(KINDS.hardwareV1Alpha2, IN_DEFAULT("b"), Named, signal))).toBe(
      "no-such-kind",
    );
    const unknownField = { ...secret("c"), dta: {} };
    expect(await failureOf(cluster.create(KINDS.secret, "default", unknownField, Named, signal))).toBe(
      "invalid",
    );
  });

  it("the denied verb, the user and the namespace", async () => {
    const token = fake.addUser("system:serviceaccount:pbnj:worker", []);
    const other = await open(fake.kubeconfig({ token }));
    await expect(other.get(KINDS.secret, IN_DEFAULT("a"), Named, signal)).rejects.toMatchObject({
      ...{ reason: "forbidden", status: 403 },
      message: expect.stringMatching(
        /get secrets default\/a: .*system:serviceaccount:pbnj:worker.*cannot get/,
      ),
    });
  });

  it("an invalid token", async () => {
    const other = await open(fake.kubeconfig({ token: "unknown" }));
    expect(await failureOf(other.get(KINDS.secret, IN_DEFAULT("a"), Named, signal))).toBe("unauthorized");
  });

  it("an unreachable server and a timeout", async () => {
    const hurried = await open(fake.kubeconfig(), 300);
    fake.hang({ verb: "create" });
    expect(await failureOf(hurried.create(KINDS.secret, "default", secret("a"), Named, signal))).toBe(
      "timeout",
    );
    await fake.stop();
    expect(await failureOf(hurried.create(KINDS.secret, "default", secret("a"), Named, signal))).toBe(
      "unreachable",
    );
    await hurried.close();
  });

  it("nothing of the request body", async () => {
    const wrong = { ...secret("A_wrong_name") };
    const thrown = await cluster
      .create(KINDS.secret, "default", wrong, Named, signal)
      .catch((caught: unknown) => caught);
    expect(thrown).toMatchObject({ reason: "invalid" });
    expect(String(thrown)).not.toContain("canary-9d1e");
  });
});

describe("a transient failure", () => {
  it("429 is retried", async () => {
    fake.fail({ verb: "create" }, { status: 429, retryAfterSeconds: 0, times: 2 });

    await cluster.create(KINDS.secret, "default", secret("a"), Named, signal);

    expect(fake.countBy("create", "secrets")).toBe(3);
  });

  it("is retried for a read", async () => {
    fake.fail({ verb: "get" }, { status: 503, times: 1 });
    fake.create("v1", "Secret", { metadata: { namespace: "default", name: "a" } });

    await cluster.get(KINDS.secret, IN_DEFAULT("a"), Named, signal);

    expect(fake.countBy("get", "secrets")).toBe(2);
  });

  it("is not retried for a write that may have been executed", async () => {
    fake.loseAnswer({ verb: "create" });

    expect(await failureOf(cluster.create(KINDS.secret, "default", secret("a"), Named, signal))).toBe(
      "unreachable",
    );

    expect(fake.countBy("create", "secrets")).toBe(1);
    expect(await cluster.find(KINDS.secret, IN_DEFAULT("a"), Named, signal)).toBeDefined();
  });

  it("rejects with the signal's reason as soon as that aborts", async () => {
    fake.hang({ verb: "get" });
    const stop = new AbortController();
    const asking = cluster.get(KINDS.secret, IN_DEFAULT("a"), Named, stop.signal);
    const reason = new Error("enough");
    stop.abort(reason);
    await expect(asking).rejects.toBe(reason);
  });
});

describe("connections", () => {
  it("are reused", async () => {
    for (let index = 0; index < 10; index++) await cluster.version(signal);
    expect(fake.connections).toBeLessThanOrEqual(2);
  });

  it("trust the cluster's own certificate authority alone", async () => {
    await using stranger = await FakeCluster.start();
    const mixed = fake.kubeconfig().replace(fake.url, stranger.url);
    const other = await open(mixed);
    expect(await failureOf(other.version(signal))).toBe("unreachable");
  });

  it("use HTTP/1.1, also with a server that prefers HTTP/2", async () => {
    const certificate = createCertificate({ commonName: "api", altNames: ["127.0.0.1"] });
    const versions: string[] = [];
    const server = createSecureServer({ ...certificate, allowHTTP1: true }, (request, response) => {
      versions.push(request.httpVersion);
      response.end('{"gitVersion":"v1.37.0"}');
    });
    await listenOn(0, async (port) => {
      await once(server.listen(port, "127.0.0.1"), "listening");
    });
    const { port } = server.address() as AddressInfo;
    const base64 = (text: string) => Buffer.from(text).toString("base64");
    const other = await open(
      fake
        .kubeconfig()
        .replace(fake.url, `https://127.0.0.1:${port}`)
        .replace(base64(fake.ca), base64(certificate.cert)),
    );
    await other.version(signal);
    expect(versions).toEqual(["1.1"]);
    server.close();
  });
});

describe("settings of the connection", () => {
  it("report the file that is invalid", async () => {
    const missing = there.path("nowhere");
    await expect(Cluster.open({ kubeconfig: missing })).rejects.toThrow(missing);
    await expect(open("clusters: [")).rejects.toThrow(there.kubeconfig);
    await expect(open("apiVersion: v1\nkind: Config\n")).rejects.toThrow(/no current context/);
  });

  it("refuse a server without TLS, unless the kubeconfig allows it", async () => {
    const server = createServer((_request, response) => response.end('{"gitVersion":"v1.37.0"}'));
    await listenOn(0, async (port) => {
      await once(server.listen(port, "127.0.0.1"), "listening");
    });
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const plain = fake.kubeconfig().replace(fake.url, url);
    const allowed = plain.replace(url, `${url}\n      insecure-skip-tls-verify: true`);

    await expect(open(plain)).rejects.toThrow(`${url} has no TLS`);
    expect(await (await open(allowed)).version(signal)).toBe("v1.37.0");
    server.close();
  });

  it("say how to pass a kubeconfig if there is none", async () => {
    vi.stubEnv("KUBECONFIG", "");
    vi.stubEnv("HOME", there.path("nowhere"));

    await expect(Cluster.open()).rejects.toThrow(/no kubeconfig found: pass --kubeconfig/);
    vi.unstubAllEnvs();
  });

  it("set the namespace, unless an option does", async () => {
    const named = await open(fake.kubeconfig({ namespace: "tink-system" }));
    expect(named.namespace).toBe("tink-system");
    const other = await there.connect({ namespace: "pbnj" });
    expect(other.namespace).toBe("pbnj");
  });
});

describe("rights", () => {
  it("are checked with a SelfSubjectAccessReview", async () => {
    const rules = [{ apiGroups: ["batch"], resources: ["jobs"], verbs: ["create"], namespaces: ["default"] }];
    await there.allow(rules);
    const other = await there.connect();
    const may = (namespace: string, verb: string) => other.may({ verb, kind: KINDS.job, namespace }, signal);

    expect(await may("default", "create")).toBe(true);
    expect(await may("default", "delete")).toBe(false);
    expect(await may("tink-system", "create")).toBe(false);
  });
});

import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import type { KubeObject } from "../../../simulators/kubernetes/api/object.ts";
import { ClusterClient } from "../../../simulators/kubernetes/node/cluster-client.ts";
import { type Subject, startSubject } from "./subject.ts";

const SOON = { timeout: 15_000, interval: 10 };
const JSON_PATCH = "application/json-patch+json";

describe("the API server", () => {
  const namespace = `contract-${randomUUID().slice(0, 8)}`;
  const secrets = `/api/v1/namespaces/${namespace}/secrets`;
  const pods = `/api/v1/namespaces/${namespace}/pods`;
  const jobs = `/apis/batch/v1/namespaces/${namespace}/jobs`;
  const machines = `/apis/bmc.tinkerbell.org/v1alpha1/namespaces/${namespace}/machines`;
  let subject: Subject;
  let client: ClusterClient;
  let count = 0;
  let name = "";

  beforeAll(async () => {
    subject = await startSubject();
    client = new ClusterClient(subject.controlPlane);
    await client.create("/api/v1/namespaces", { metadata: { name: namespace } });
  });
  beforeEach(() => {
    name = `case-${count++}`;
  });
  afterAll(async () => {
    await client?.delete(`/api/v1/namespaces/${namespace}`);
    await client?.close();
    await subject?.close();
  });

  const makeSecret = (more: object = {}) => client.create(secrets, { metadata: { name, ...more } });
  const makeMachine = () =>
    client.create(machines, {
      apiVersion: "bmc.tinkerbell.org/v1alpha1",
      kind: "Machine",
      metadata: { name },
      spec: { connection: { host: "192.0.2.1", insecureTLS: true } },
      status: { powerState: "on" },
    });

  test("tells of its groups, versions and kinds", async () => {
    const found = async (path: string) => JSON.stringify(await client.get(path));

    expect(await found("/api")).toContain('"versions":["v1"]');
    expect(await found("/apis")).toContain('"groupVersion":"bmc.tinkerbell.org/v1alpha1"');
    const kinds = await client.get("/apis/bmc.tinkerbell.org/v1alpha1");
    expect(kinds["resources"]).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ name: "machines", kind: "Machine", namespaced: true }),
        expect.objectContaining({ name: "machines/status", kind: "Machine" }),
      ]),
    );
  });

  test("gives an object a uid and a version, and the data of a Secret's stringData", async () => {
    const secret = await client.create(secrets, { metadata: { name }, stringData: { password: "hunter2" } });

    expect(secret.metadata.uid).toMatch(/^[0-9a-f-]{36}$/);
    expect(Number(secret.metadata.resourceVersion)).toBeGreaterThan(0);
    expect(secret["data"]).toEqual({ password: Buffer.from("hunter2").toString("base64") });
    expect(secret["stringData"]).toBeUndefined();
  });

  test.each([
    ["a name with capitals", 422, "Invalid", () => client.create(secrets, { metadata: { name: "A_" } })],
    ["no name", 422, "Invalid", () => client.create(secrets, { metadata: {} })],
    ["a label of 64 characters", 422, "Invalid", () => makeSecret({ labels: { long: "x".repeat(64) } })],
    [
      "a field that does not exist",
      400,
      "BadRequest",
      () => client.create(`${secrets}?fieldValidation=Strict`, { metadata: { name }, dta: {} }),
    ],
    ["a field of another type", 400, "BadRequest", () => makeSecret({ labels: ["a"] })],
    [
      "a namespace that does not exist",
      404,
      "NotFound",
      () => client.create("/api/v1/namespaces/nowhere/secrets", { metadata: { name } }),
    ],
    ["an object that does not exist", 404, "NotFound", () => client.get(`${secrets}/absent`)],
    ["a kind that does not exist", 404, "Unknown", () => client.list("/apis/example.org/v1/things")],
  ])("refuses %s with %i", async (_title, status, reason, act) => {
    await expect(act()).rejects.toMatchObject({ status, reason });
  });

  test("refuses a name that is taken, a stale version, and another object of the same name", async () => {
    const secret = await makeSecret();
    await client.patch(`${secrets}/${name}`, { metadata: { labels: { a: "b" } } });
    const conflict = { status: 409, reason: "Conflict" };
    const another = { uid: randomUUID() };

    await expect(makeSecret()).rejects.toMatchObject({ status: 409, reason: "AlreadyExists" });
    await expect(client.replace(`${secrets}/${name}`, secret)).rejects.toMatchObject(conflict);
    const replacement = { metadata: { name, ...another } };
    await expect(client.replace(`${secrets}/${name}`, replacement)).rejects.toMatchObject(conflict);
    const patched = client.patch(`${secrets}/${name}`, { metadata: another });
    await expect(patched).rejects.toMatchObject({ status: 422, reason: "Invalid" });
    const deleted = client.delete(`${secrets}/${name}`, { preconditions: another });
    await expect(deleted).rejects.toMatchObject(conflict);
  });

  test("keeps the status apart from the specification", async () => {
    const made = await makeMachine();
    const body = { spec: { connection: { host: "192.0.2.2" } }, status: { powerState: "off" } };

    const reported = await client.patch(`${machines}/${name}/status`, body);
    const changed = await client.patch(`${machines}/${name}`, { ...body, status: { powerState: "on" } });

    expect(made.status).toBeUndefined();
    expect(made.spec).toMatchObject({ connection: { port: 623 } });
    expect(reported.spec).toEqual(made.spec);
    expect(reported.status).toEqual({ powerState: "off" });
    expect(changed.spec).toMatchObject({ connection: { host: "192.0.2.2", insecureTLS: true } });
    expect(changed.status).toEqual({ powerState: "off" });
  });

  test("applies JSON patches whose tests hold, and merge patches", async () => {
    const { metadata } = await makeSecret({ labels: { a: "1", b: "2" } });
    const patch = (uid: string | undefined) => [
      { op: "test", path: "/metadata/uid", value: uid },
      { op: "add", path: "/metadata/labels/x~1y", value: "3" },
      { op: "remove", path: "/metadata/labels/b" },
    ];

    await client.patch(`${secrets}/${name}`, patch(metadata.uid), JSON_PATCH);
    const merged = await client.patch(`${secrets}/${name}`, { metadata: { labels: { a: null } } });
    const refused = client.patch(`${secrets}/${name}`, patch(randomUUID()), JSON_PATCH);

    expect(merged.metadata.labels).toEqual({ "x/y": "3" });
    await expect(refused).rejects.toMatchObject({ status: 422 });
  });

  test("takes away what a manager applied before and does not apply now, and nothing else", async () => {
    const hardware = `/apis/tinkerbell.org/v1alpha1/namespaces/${namespace}/hardware`;
    const object = { apiVersion: "tinkerbell.org/v1alpha1", kind: "Hardware", metadata: { name, namespace } };
    const { metadata } = await client.create(hardware, { ...object, spec: {} });
    const apply = (outOfBand: object, more: object = {}, query = "?fieldManager=one&force=true") =>
      client.patch(
        `${hardware}/${name}/status${query}`,
        { ...object, metadata: { name, namespace, ...more }, status: { attributes: { outOfBand } } },
        "application/apply-patch+yaml",
      );

    await client.patch(`${hardware}/${name}/status`, { status: { state: "ready" } });
    await apply({ chassis: { model: "a" }, bmc: { vendor: "b", model: "c" }, psus: [{ vendor: "d" }] });
    const applied = await apply({ bmc: { model: "e" }, tpms: [{ vendor: "f" }] });

    expect(applied.status).toEqual({
      state: "ready",
      attributes: { outOfBand: { bmc: { model: "e" }, tpms: [{ vendor: "f" }] } },
    });
    await expect(apply({}, {}, "")).rejects.toMatchObject({ status: 422, reason: "Invalid" });
    const { resourceVersion } = metadata;
    await expect(apply({}, { resourceVersion })).rejects.toMatchObject({ status: 409, reason: "Conflict" });
    // The UID is not checked in the status of a custom resource.
    expect((await apply({}, { uid: randomUUID() })).metadata.uid).toBe(metadata.uid);
  });

  test("makes no version of a write that changes nothing", async () => {
    const { metadata } = await makeSecret({ labels: { a: "b" } });
    const again = await client.patch(`${secrets}/${name}`, { metadata: { labels: { a: "b" } } });

    expect(again.metadata.resourceVersion).toBe(metadata.resourceVersion);
  });

  test("labels the Pods of a Job", async () => {
    const spec = { restartPolicy: "Never", containers: [{ name: "c", image: "x:1" }] };
    const { metadata, spec: made } = await client.create(jobs, {
      metadata: { name },
      spec: { suspend: true, template: { spec } },
    });

    const labels = {
      "batch.kubernetes.io/job-name": name,
      "batch.kubernetes.io/controller-uid": metadata.uid,
    };
    expect(made).toMatchObject({ template: { metadata: { labels } } });
  });

  test("refuses a Pod of a service account that does not exist", async () => {
    const containers = [{ name: "c", image: "x:1" }];
    const made = client.create(pods, {
      metadata: { name },
      spec: { serviceAccountName: "absent", containers },
    });

    await expect(made).rejects.toMatchObject({ status: 403, reason: "Forbidden" });
  });

  test("holds a deleted object until its last finalizer is removed", async () => {
    await makeSecret({ finalizers: ["test/one"] });

    await client.delete(`${secrets}/${name}`);
    const held = await client.get(`${secrets}/${name}`);
    await client.patch(`${secrets}/${name}`, { metadata: { finalizers: null } });

    expect(held.metadata.deletionTimestamp).toMatch(/Z$/);
    expect(await client.find(`${secrets}/${name}`)).toBeUndefined();
  });

  test("deletes the objects of a collection that match a selector", async () => {
    await makeSecret({ labels: { rack: name } });
    await client.create(secrets, { metadata: { name: `${name}-other` } });

    await client.delete(`${secrets}?labelSelector=rack%3D${name}`);

    expect(await client.find(`${secrets}/${name}`)).toBeUndefined();
    expect(await client.find(`${secrets}/${name}-other`)).toBeDefined();
  });

  test("holds a running Pod for its grace period", async () => {
    const spec = {
      nodeName: "n",
      containers: [{ name: "c", image: "x:1" }],
      terminationGracePeriodSeconds: 7,
    };
    const account = { serviceAccountName: name, automountServiceAccountToken: false };
    await client.create(`/api/v1/namespaces/${namespace}/serviceaccounts`, { metadata: { name } });
    await client.create(pods, { metadata: { name }, spec: { ...spec, ...account } });

    await client.delete(`${pods}/${name}`);
    const held = await client.get(`${pods}/${name}`);
    await client.delete(`${pods}/${name}`, { gracePeriodSeconds: 0 });

    expect(held.metadata.deletionGracePeriodSeconds).toBe(7);
    expect(await client.find(`${pods}/${name}`)).toBeUndefined();
  });

  test("keeps the Pods of a Job that is deleted without a propagation policy", async () => {
    const spec = { restartPolicy: "Never", containers: [{ name: "c", image: "x:1" }] };
    const job = { metadata: { name }, spec: { suspend: true, template: { spec } } };
    const { metadata } = await client.create(jobs, job);

    await client.delete(`${jobs}/${name}`);

    const more = { timeoutSeconds: "1", fieldSelector: `metadata.name=${name}` };
    const signal = AbortSignal.timeout(SOON.timeout);
    const seen: unknown[] = [];
    for await (const { object } of client.watch(jobs, metadata.resourceVersion ?? "", signal, more))
      seen.push(object.metadata.finalizers);
    expect(seen).toContainEqual(["orphan"]);
  });

  test.each([
    ["labelSelector=kind,test", ["a", "b"]],
    ["labelSelector=!kind,test", ["c"]],
    ["labelSelector=kind=one,test", ["a"]],
    ["labelSelector=kind!=one,test", ["b", "c"]],
    ["labelSelector=kind in (two,three),test", ["b"]],
    ["labelSelector=kind notin (two),test", ["a", "c"]],
    ["fieldSelector=metadata.name=b", ["b"]],
  ])("lists by %s", async (query, names) => {
    const [selector = "", ...value] = query.split("=");
    for (const [object, labels] of [
      ["a", { kind: "one", test: "x" }],
      ["b", { kind: "two", test: "x" }],
      ["c", { test: "x" }],
    ] as const)
      if (!(await client.find(`${secrets}/${object}`)))
        await client.create(secrets, { metadata: { name: object, labels } });

    const { items } = await client.list(`${secrets}?${new URLSearchParams({ [selector]: value.join("=") })}`);

    expect(items.map(({ metadata }) => metadata.name)).toEqual(names);
    expect(items[0]).not.toHaveProperty("kind");
  });

  test("lists in pages, from whose version a watch reports what changed since the first", async () => {
    const labels = { list: name };
    for (const suffix of ["a", "b", "c"])
      await client.create(secrets, { metadata: { name: `${name}-${suffix}`, labels } });
    const query = `labelSelector=list%3D${name}&limit=2`;

    const first = await client.get(`${secrets}?${query}`);
    await client.patch(`${secrets}/${name}-a`, { metadata: { labels: { changed: "yes" } } });
    const { continue: token } = first.metadata as { continue?: string };
    const second = await client.get(`${secrets}?${query}&continue=${token}`);

    expect((first["items"] as KubeObject[]).length).toBe(2);
    expect((second["items"] as KubeObject[]).map(({ metadata }) => metadata.name)).toEqual([`${name}-c`]);
    expect(second.metadata.resourceVersion).toBe(first.metadata.resourceVersion);
  });

  test("watches from a version on what enters, changes in and leaves a selection", async () => {
    const { resourceVersion } = await client.list(secrets);
    const seen: string[] = [];
    const stop = new AbortController();
    const follow = async () => {
      const selector = { labelSelector: `watch=${name}` };
      for await (const { type, object } of client.watch(secrets, resourceVersion, stop.signal, selector))
        seen.push(`${type} ${object.metadata.name}`);
    };
    await makeSecret({ labels: { watch: name } });
    const following = follow().catch(() => undefined);
    for (const labels of [{ other: "x" }, { watch: null }, { watch: name }])
      await client.patch(`${secrets}/${name}`, { metadata: { labels } });
    await client.delete(`${secrets}/${name}`);

    const events = ["ADDED", "MODIFIED", "DELETED", "ADDED", "DELETED"].map((type) => `${type} ${name}`);
    await vi.waitFor(() => expect(seen).toEqual(events), SOON);
    stop.abort();
    await following;
  });

  test("ends a watch after its timeout", async () => {
    const more = { timeoutSeconds: "1", fieldSelector: "metadata.name=absent" };
    const { resourceVersion } = await client.list(secrets);
    const watch = client.watch(secrets, resourceVersion, AbortSignal.timeout(15_000), more);

    expect(await watch.next()).toMatchObject({ done: true });
  });
});

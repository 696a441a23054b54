import { randomUUID } from "node:crypto";
import { Agent, request } from "undici";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ClusterClient } from "./node/cluster-client.ts";
import { REFUSALS } from "./refusals.ts";
import { type Subject, subjects } from "./subjects.ts";

describe.each(subjects())("%s refuses", (_, start) => {
  const namespace = `refusals-${randomUUID().slice(0, 8)}`;
  let cluster: Subject;
  let client: ClusterClient;
  let agent: Agent;

  beforeAll(async () => {
    cluster = await start({ jobs: false });
    const { ca, cert, key } = cluster.controlPlane;
    agent = new Agent({
      connect: Object.fromEntries(Object.entries({ ca, cert, key }).filter(([, value]) => value)),
    });
    client = new ClusterClient(cluster.controlPlane);
    const metadata = { name: "kept", namespace };
    const core = `/api/v1/namespaces/${namespace}`;
    await client.create("/api/v1/namespaces", { metadata: { name: namespace } });
    if (!(await client.find(`${core}/serviceaccounts/default`)))
      await client.create(`${core}/serviceaccounts`, { metadata: { name: "default" } });
    await client.create(`${core}/secrets`, { metadata, stringData: { a: "b" } });
    await client.create(`/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases`, {
      metadata,
      spec: {},
    });
    await client.create(`/apis/batch/v1/namespaces/${namespace}/jobs`, {
      metadata,
      spec: { template: { spec: { restartPolicy: "Never", containers: [{ name: "c", image: "x" }] } } },
    });
    await client.create(`/apis/bmc.tinkerbell.org/v1alpha1/namespaces/${namespace}/machines`, {
      apiVersion: "bmc.tinkerbell.org/v1alpha1",
      kind: "Machine",
      metadata,
      spec: { connection: { host: "192.0.2.1", insecureTLS: true } },
    });
  });

  afterAll(async () => {
    await client.delete(`/api/v1/namespaces/${namespace}`);
    await client.close();
    await agent.close();
    await cluster.close();
  });

  test.each(REFUSALS.map((refusal) => [refusal.title, refusal] as const))("%s", async (_title, refusal) => {
    const { method, path, body, contentType = "application/json" } = refusal;
    const { url, token } = cluster.controlPlane;

    const answer = await request(`${url}${path.replaceAll("{ns}", namespace)}`, {
      method,
      dispatcher: agent,
      headers: { "Content-Type": contentType, ...(token ? { Authorization: `Bearer ${token}` } : {}) },
      ...(method === "GET"
        ? {}
        : { body: body === undefined && method === "POST" ? '{"metadata":' : (JSON.stringify(body) ?? "") }),
    });
    const status = (await answer.body.json()) as { message: string; reason: string; code: number };

    expect({ status: answer.statusCode, reason: status.reason, code: status.code }).toEqual({
      status: refusal.status,
      reason: refusal.reason,
      code: refusal.status,
    });
    expect(status.message).toMatch(refusal.says);
  });
});

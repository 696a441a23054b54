import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { Connection } from "../../../../shared/contract/connection.ts";
import { parseImageReference } from "../../../../shared/contract/image-reference.ts";
import { FakeCluster } from "../../../../simulators/kubernetes/cluster.ts";
import { RunningKubelet } from "../../../../simulators/kubernetes/node/running-kubelet.ts";
import { type RedfishBmc, startRedfishBmc } from "../../../../simulators/redfish/bmc.ts";
import type { LaunchRequest } from "../../../../worker/core/ports/runtime.ts";
import { begin, never, RuntimeLab } from "../../../worker/runtimes/kubernetes/runtime-lab.ts";
import { scriptedRequest } from "../../../worker/runtimes/launch-request.ts";

const namespace = "actions";
const actions = join(import.meta.dirname, "../../../../actions/main.ts");

let bmc: RedfishBmc;
let cluster: FakeCluster;
let node: RunningKubelet;
let lab: RuntimeLab;
beforeAll(async () => {
  bmc = await startRedfishBmc({ username: "admin", password: "password" });
  cluster = await FakeCluster.start({ namespaces: ["default"] });
  cluster.create("v1", "Namespace", {
    metadata: { name: namespace, labels: { "pod-security.kubernetes.io/enforce": "restricted" } },
  });
  node = await RunningKubelet.run(cluster.controlPlane, {
    commandOf: (image, args) => [process.execPath, actions, parseImageReference(image)?.name ?? "", ...args],
  });
  lab = await RuntimeLab.start({ control: cluster.controlPlane, worker: cluster.access(), namespace });
});
afterAll(async () => {
  await lab?.close();
  await node?.close();
  await cluster?.close();
  await bmc?.stop();
});

function requestFor(image: string, given: Partial<LaunchRequest>) {
  const { request } = scriptedRequest([], { action: { image, name: image } });
  return { ...request, ...given };
}

function connectionTo({ port }: { readonly port: number }) {
  const machine = { machine: "node-01", host: "127.0.0.1", providers: ["redfish"] };
  return { ...machine, tls: { verify: false }, redfish: { port } };
}

describe("an action's own program in a pod", () => {
  it("turns its machine off with the connection of its Secret", async () => {
    const runtime = await lab.runtime();
    const connection = Connection.parse({ ...connectionTo(bmc), username: "admin", password: "password" });
    const request = requestFor("power-off", { connection });

    const { outcome, remove } = await begin(runtime, request).ended;
    await remove(never);

    expect(outcome).toMatchObject({ ok: true, exitCode: 0, result: { action: "power-off", changed: true } });
    expect(outcome.message).toContain("via redfish");
    expect(bmc.machines.map(({ power }) => power)).toEqual(["off"]);
    expect(await lab.podsMade(request)).toBe(1);
  });

  it("reads its machine's power with user and password out of the machine's own Secret", async () => {
    await lab.create("secrets", {
      metadata: { name: "node-01-bmc" },
      stringData: { username: "admin", password: "password" },
    });
    const runtime = await lab.runtime();
    const files = ["username", "password"].map((file) => ({ file, secret: "node-01-bmc", key: file }));
    const document = {
      ...connectionTo(bmc),
      username: { $file: "username" },
      password: { $file: "password" },
    };
    const request = requestFor("power-status", { mounted: { document, files } });

    const { outcome } = await begin(runtime, request).ended;

    expect(outcome).toMatchObject({ ok: true, result: { action: "power-status" } });
  });

  it("is stopped by SIGTERM and reports its progress", async () => {
    const runtime = await lab.runtime({ stopGraceMs: 10_000 });
    const connection = Connection.parse({ ...connectionTo(bmc), username: "admin", password: "password" });
    const request = requestFor("wait-for-power-state", { connection });
    const [machine] = bmc.machines;
    const environment = { STATE: machine?.power === "on" ? "off" : "on" };
    bmc.requests.length = 0;
    const { ended, cancel } = begin(runtime, { ...request, action: { ...request.action, environment } });
    await vi.waitFor(() => expect(bmc.requests.length).toBeGreaterThan(2), {
      timeout: 20_000,
      interval: 50,
    });
    cancel.abort();

    const { outcome } = await ended;

    expect(outcome).toMatchObject({ ok: false, class: "cancelled", killed: true, exitCode: 143 });
  });
});

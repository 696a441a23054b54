import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { accessFromKubeconfig, ClusterClient } from "../../simulators/kubernetes/node/cluster-client.ts";
import { SimulatedMachine } from "../../simulators/machine.ts";
import { startRedfishBmc } from "../../simulators/redfish/bmc.ts";
import { WorkerProgram } from "../support/worker-program.ts";

/**
 * Workflows of one real Tinkerbell (`TINK_SERVER`, `KUBECONFIG`) for machines in another cluster (`OTHER_KUBECONFIG`, with
 * Tinkerbell's definitions). Skipped without them.
 */
const server = process.env["TINK_SERVER"];
const home = process.env["KUBECONFIG"];
const other = process.env["OTHER_KUBECONFIG"];
const available = server !== undefined && home !== undefined && other !== undefined;
if (!available)
  process.stderr.write("skipped: TINK_SERVER, KUBECONFIG and OTHER_KUBECONFIG name no two clusters\n");

const UNTIL = { timeout: 60_000, interval: 200 };
const DEFAULT = "namespaces/default";
const MACHINES = `/apis/bmc.tinkerbell.org/v1alpha1/${DEFAULT}/machines`;
const SECRETS = `/api/v1/${DEFAULT}/secrets`;
const TINKERBELL = `/apis/tinkerbell.org/v1alpha1/${DEFAULT}`;
const base64 = (text: string) => Buffer.from(text).toString("base64");

describe.skipIf(!available)("machines of another real cluster", { timeout: 300_000 }, () => {
  const suffix = randomBytes(4).toString("hex");
  const node = `node-${suffix}`;
  const name = `edge-${node}`;
  const machine = new SimulatedMachine({ name: node, power: "on" });
  const homeText = home === undefined ? "" : readFileSync(home, "utf8");
  const otherText = other === undefined ? "" : readFileSync(other, "utf8");
  let apis: Readonly<Record<"home" | "other", ClusterClient>>;
  let folder: string;
  let bmc: Awaited<ReturnType<typeof startRedfishBmc>>;
  const created: [api: "home" | "other", path: string][] = [];

  beforeAll(async () => {
    apis = {
      home: new ClusterClient(accessFromKubeconfig(homeText)),
      other: new ClusterClient(accessFromKubeconfig(otherText)),
    };
    folder = await mkdtemp(join(tmpdir(), "pbnj-other-"));
    bmc = await startRedfishBmc({ machines: [machine], password: "calvin" });
    await create("home", SECRETS, `identity-${suffix}`, { data: { kubeconfig: base64(otherText) } });
  });
  afterAll(async () => {
    if (!available) return;
    for (const [api, path] of created.toReversed()) await apis[api].delete(path);
    await Promise.all([apis.home.close(), apis.other.close(), bmc.close()]);
    await rm(folder, { recursive: true });
  });

  async function create(
    api: "home" | "other",
    path: string,
    called: string,
    object: object,
  ): Promise<string> {
    await apis[api].create(path, { metadata: { name: called, namespace: "default" }, ...object });
    created.push([api, `${path}/${called}`]);
    return `${path}/${called}`;
  }

  async function createMachine(api: "home" | "other"): Promise<string> {
    await create(api, SECRETS, node, { data: { username: base64("admin"), password: base64("calvin") } });
    const providerOptions = { redfish: { port: bmc.port } };
    const login = { authSecretRef: { name: node, namespace: "default" }, insecureTLS: true, providerOptions };
    return create(api, MACHINES, node, {
      ...{ apiVersion: "bmc.tinkerbell.org/v1alpha1", kind: "Machine" },
      spec: { connection: { host: "127.0.0.1", port: 623, ...login } },
    });
  }

  /** What a workflow with this action ends with: its state and the action's message. */
  async function run(action: string): Promise<string> {
    const called = `${action}-${suffix}-${randomBytes(2).toString("hex")}`;
    const image = `registry.example/pbnj-worker/${action}:v1`;
    const actions = [{ name: action, image, timeout: 60, environment: { MACHINE: name } }];
    const tasks = [{ name: "bmc", worker: `pbnj-${name}`, actions }];
    const data = JSON.stringify({ version: "0.1", name: called, global_timeout: 600, tasks });
    const kind = { apiVersion: "tinkerbell.org/v1alpha1" };
    await create("home", `${TINKERBELL}/templates`, called, { ...kind, kind: "Template", spec: { data } });
    const spec = { templateRef: called, hardwareMap: {} };
    const path = await create("home", `${TINKERBELL}/workflows`, called, { ...kind, kind: "Workflow", spec });
    return vi.waitFor(async () => {
      const { status } = (await apis.home.get(path)) as unknown as {
        readonly status?: { readonly state?: string; readonly tasks?: { actions: { message?: string }[] }[] };
      };
      if (!/SUCCESS|FAILED/.test(status?.state ?? ""))
        throw new Error(`${path} is ${JSON.stringify(status)}`);
      return `${status?.state}: ${status?.tasks?.[0]?.actions[0]?.message}`;
    }, UNTIL);
  }

  test("run the workflows of this one, are left alone while paused, and move when the Secret changes", async () => {
    const there = await createMachine("other");
    const config = join(folder, "worker.yaml");
    const identityRef = { name: `identity-${suffix}` };
    const sources = [{ name: "edge", identityRef, watchNamespace: "default", prefix: "edge-" }];
    await writeFile(config, JSON.stringify({ grpcServer: server, kubernetesSources: sources }));
    await using worker = new WorkerProgram(
      ["start", "--config", config, "--kubeconfig", home ?? "", "--runtime", "in-process"],
      { PBNJ_HTTP_ADDRESS: "127.0.0.1:0" },
    );
    await worker.untilLogged("machine source connected", { source: "edge" });

    expect(await run("power-off")).toMatch(/^SUCCESS: off after .* via redfish$/);

    const annotate = (paused: string | null) =>
      apis.other.patch(there, { metadata: { annotations: { "cluster.x-k8s.io/paused": paused } } });
    await annotate("true");
    await worker.untilLogged("paused machine left alone", { machine: name });
    expect(await run("power-on")).toContain("cluster.x-k8s.io/paused is set: the object is paused");
    expect(machine.power).toBe("off");

    // The move: the object appears in the new place, the Secret follows, and the old object is deleted.
    await createMachine("home");
    await apis.home.patch(`${SECRETS}/${identityRef.name}`, { data: { kubeconfig: base64(homeText) } });
    await worker.untilLogged("machine source reconnected", { source: "edge" });
    await apis.other.delete(there);
    expect(await run("power-on")).toMatch(/^SUCCESS: on after .* via redfish$/);
    expect(worker.stderr).not.toContain("calvin");
  });
});

import { readFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { expect, it, vi } from "vitest";
import { createWorkflow, type Workflow } from "../../../simulators/tink/workflow.ts";
import { MachineConnection } from "../../../worker/features/cluster-machines/rufio-connection.ts";
import { parseTemplate } from "../../../worker/template/parse-template.ts";
import type { TemplateAction } from "../../../worker/template/template.ts";
import { openFakeCluster } from "../../support/fake-cluster.ts";
import { hostileValues } from "../../support/hostile-values.ts";
import { messageOf, openLab, templateOf } from "../../support/lab.ts";
import { WorkerProgram } from "../../support/worker-program.ts";

const API = "bmc.tinkerbell.org/v1alpha1";
const SOON = { timeout: 60_000, interval: 100 };
const SILENT_MACHINES = 400;
/** As much as etcd takes, with what is around it. */
const LARGE = 1_300_000;
/** In processor time of the worker's own thread, which a busy machine does not lengthen. */
const LONGEST_STALL_MS = 500;
const METER = join(import.meta.dirname, "../../support/measure-turns.ts");

/** Accepts connections and says nothing. */
async function silentPort(own: (closed: AsyncDisposable) => unknown): Promise<number> {
  const sockets = new Set<{ destroy(): void }>();
  const server = createServer((socket) => void sockets.add(socket.on("error", () => undefined)));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  own({
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  });
  const address = server.address();
  return typeof address === "object" && address ? address.port : 0;
}

async function tenants() {
  const lab = await openLab({
    machines: { "node-b": { power: "off" } },
    bmc: { tls: undefined },
    policy: { volumes: [{ path: "/data", access: "ro" }] },
    argv: ["--agent-id", "any", "--runtime", "in-process", "--http-address", "127.0.0.1:0"],
  });
  const { fake, kubeconfig } = await openFakeCluster({ namespace: "tink-system" }, lab);
  for (const name of ["team-a", "team-b"]) fake.create("v1", "Namespace", { metadata: { name } });
  const turns = lab.path("turns.json");
  const worker = lab.own(
    new WorkerProgram(
      lab.argv(
        "--rufio",
        "--rufio-alone",
        "--kubeconfig",
        kubeconfig,
        "--kubernetes-namespace",
        "tink-system",
      ),
      { NODE_OPTIONS: `--import=${METER}`, TURNS_FILE: turns, PBNJ_HTTP_ADDRESS: "127.0.0.1:0" },
    ),
  );
  let asked = 0;
  return {
    ...{ lab, fake, worker },
    addMachine(namespace: string, name: string, connection: object) {
      fake.create("v1", "Secret", {
        metadata: { name: `${name}-bmc`, namespace },
        stringData: { username: "admin", password: "calvin" },
      });
      const authSecretRef = { name: `${name}-bmc`, namespace };
      const usual = { host: "127.0.0.1", insecureTLS: true, authSecretRef };
      fake.create(API, "Machine", {
        metadata: { name, namespace },
        spec: { connection: { ...usual, ...connection } },
      });
    },
    /** The most processor time of one turn of the event loop since the last call. */
    async longestTurnMs(): Promise<number> {
      worker.kill("SIGWINCH");
      asked += 1;
      return await vi.waitFor(async () => {
        const { times, longest } = JSON.parse(await readFile(turns, "utf8"));
        if (times !== asked) throw new Error("not yet");
        return longest;
      }, SOON);
    },
    status: (namespace: string, name: string) =>
      fake.get(API, "Machine", name, namespace)?.["status"] as { powerState?: string } | undefined,
    [Symbol.asyncDispose]: () => lab[Symbol.asyncDispose](),
  };
}

/** Fields of actions that a server of this API does not refuse. */
const hostileActions: readonly Partial<TemplateAction>[] = [
  { volumes: Array.from({ length: 45_000 }, (_, index) => `/data/${index}:/data/${index}`) },
  { volumes: Array.from({ length: 900 }, (_, index) => `/data:/data/${"a/".repeat(index)}b`) },
  { environment: Object.fromEntries(Array.from({ length: 40_000 }, (_, index) => [`A${index}`, "x"])) },
  { command: Array.from({ length: 100_000 }, () => "--x") },
  { environment: { MACHINE: "m".repeat(LARGE) } },
];

function hostileWorkflow(fields: Partial<TemplateAction>, index: number): Workflow {
  const parsed = parseTemplate(templateOf("any", { name: "power-on" }), {});
  if (!parsed.ok) throw new Error("the template is not sound");
  const { template } = parsed;
  const tasks = template.tasks.map((task) => ({
    ...task,
    actions: task.actions.map((action) => ({ ...action, ...fields })),
  }));
  return createWorkflow(`team-a/hostile-${index}`, { ...template, tasks });
}

it("serves other tenants, and its probes, while one tenant's objects are hostile and hundreds of its machines silent", async () => {
  await using scene = await tenants();
  const { lab, worker } = scene;
  const { address } = await worker.untilLogged("serving the status page, metrics and health");
  await worker.untilLogged("Rufio lease is free, taking over");
  const silent = {
    providerOptions: { preferredOrder: ["gofish"], redfish: { port: await silentPort(lab.own) } },
  };
  await scene.longestTurnMs();

  for (let index = 0; index < SILENT_MACHINES; index += 1)
    scene.addMachine("team-a", `silent-${index}`, silent);
  const large = hostileValues(MachineConnection, LARGE, { preferredOrder: ["gofish"] });
  const shapes = large.filter(({ title }) => title.includes("many entries") || title.includes("dots"));
  for (const [index, { make }] of shapes.entries())
    scene.addMachine("team-a", `large-${index}`, make() as object);
  const hostile = hostileActions.map(hostileWorkflow);
  for (const workflow of hostile) lab.server.board.add(workflow);
  const port = lab.bmc("node-b").port;
  scene.addMachine("team-b", "node-b", {
    providerOptions: { preferredOrder: ["gofish"], redfish: { port } },
  });
  const own = lab.submitAs({ namespace: "team-b" }, "pbnj-node-b", { name: "power-on" });
  await lab.untilOver(own, ...hostile);
  await vi.waitFor(() => expect(scene.status("team-b", "node-b")?.powerState).toBe("on"), SOON);
  const probe = await fetch(`${address}/healthz`, { signal: AbortSignal.timeout(SOON.timeout) });

  expect([own.state, messageOf(own)]).toEqual(["SUCCESS", expect.stringContaining("on")]);
  expect(hostile.map(({ state }) => state)).toEqual(hostile.map(() => "FAILED"));
  expect(probe.status).toBe(200);
  expect(scene.status("team-a", `silent-${SILENT_MACHINES - 1}`)?.powerState).toBeUndefined();
  expect(await scene.longestTurnMs()).toBeLessThan(LONGEST_STALL_MS);
});

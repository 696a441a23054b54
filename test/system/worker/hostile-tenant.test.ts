import { readFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { expect, it, vi } from "vitest";
import { MachineConnection } from "../../../worker/features/cluster-machines/rufio-connection.ts";
import { TaskAction } from "../../../worker/features/rufio/rufio-task-action.ts";
import { openFakeCluster } from "../../support/fake-cluster.ts";
import { hostileValues } from "../../support/hostile-values.ts";
import { openRack } from "../../support/lab.ts";
import { WorkerProgram } from "../../support/worker-program.ts";

const API = "bmc.tinkerbell.org/v1alpha1";
const SOON = { timeout: 70_000, interval: 100 };
const SILENT_MACHINES = 400;
/** The largest text that etcd accepts together with the object around it. */
const LARGE = 1_300_000;
/** In processor time of the worker's own thread, which a busy machine does not lengthen. */
const LONGEST_STALL_MS = 500;
const METER = join(import.meta.dirname, "../../support/measure-turns.ts");

/** Accepts connections and says nothing. */
async function silentPort(own: (server: AsyncDisposable) => unknown): Promise<number> {
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

/** A worker that does Rufio's work for two tenants, and measures itself. */
async function tenants() {
  const rack = await openRack({ machines: { "node-b": { power: "off" } }, bmc: { tls: undefined } });
  const { fake, kubeconfig } = await openFakeCluster({ namespace: "tink-system" }, rack);
  for (const name of ["team-a", "team-b"]) fake.create("v1", "Namespace", { metadata: { name } });
  const turns = rack.path("turns.json");
  const argv = [
    ...[
      "start",
      "--rufio",
      "--rufio-alone",
      "--kubeconfig",
      kubeconfig,
      "--kubernetes-namespace",
      "tink-system",
    ],
    ...[
      "--runtime",
      "in-process",
      "--state-directory",
      rack.path("state"),
      "--watch-namespace",
      "*",
      "--http-address",
      "127.0.0.1:0",
    ],
  ];
  const worker = rack.own(new WorkerProgram(argv, { NODE_OPTIONS: `--import=${METER}`, TURNS_FILE: turns }));
  let asked = 0;
  return {
    ...{ rack, fake, worker },
    addMachine(namespace: string, name: string, connection: object) {
      fake.create("v1", "Secret", {
        metadata: { name: `${name}-bmc`, namespace },
        stringData: { username: "admin", password: "calvin" },
      });
      const authSecretRef = { name: `${name}-bmc`, namespace };
      const spec = { connection: { host: "127.0.0.1", insecureTLS: true, authSecretRef, ...connection } };
      fake.create(API, "Machine", { metadata: { name, namespace }, spec });
    },
    addJob(namespace: string, name: string, machine: string, task: unknown) {
      const spec = { machineRef: { name: machine, namespace }, tasks: [task] };
      fake.create(API, "Job", { metadata: { name, namespace }, spec });
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
    power: (namespace: string, name: string) =>
      (fake.get(API, "Machine", name, namespace)?.["status"] as { powerState?: string } | undefined)
        ?.powerState,
    [Symbol.asyncDispose]: () => rack[Symbol.asyncDispose](),
  };
}

const isLarge = ({ title }: { readonly title: string }) => /many entries|dots|long text/.test(title);

it("serves another tenant, and its probes, while one tenant's objects are hostile and hundreds of its machines silent", {
  timeout: 300_000,
}, async () => {
  await using scene = await tenants();
  const { rack, worker } = scene;
  const { address } = await worker.untilLogged("serving the status page, metrics and health");
  await worker.untilLogged("Rufio lease is free, taking over");
  const over = (port: number) => ({ providerOptions: { preferredOrder: ["gofish"], redfish: { port } } });
  const silent = over(await silentPort(rack.own));
  await scene.longestTurnMs();

  for (let index = 0; index < SILENT_MACHINES; index += 1)
    scene.addMachine("team-a", `silent-${index}`, silent);
  const machines = hostileValues(MachineConnection, LARGE, { preferredOrder: ["gofish"] }).filter(isLarge);
  for (const [index, { make }] of machines.slice(0, 20).entries())
    scene.addMachine("team-a", `large-${index}`, make() as object);
  const tasks = hostileValues(TaskAction, LARGE).filter(isLarge);
  for (const [index, { make }] of tasks.entries())
    scene.addJob("team-a", `large-${index}`, `silent-${index}`, make());
  scene.addMachine("team-b", "node-b", over(rack.bmc("node-b").port));
  scene.addJob("team-b", "power-on", "node-b", { powerAction: "on" });
  // Its power may have been read before the Job, and is read again only minutes later.
  await vi.waitFor(() => {
    expect(scene.power("team-b", "node-b")).toBeDefined();
    expect(rack.machine("node-b").power).toBe("on");
  }, SOON);
  const probe = await fetch(`${address}/healthz`, { signal: AbortSignal.timeout(SOON.timeout) });

  expect(probe.status).toBe(200);
  expect(rack.machine("node-b").count("on")).toBe(1);
  expect(scene.power("team-a", `silent-${SILENT_MACHINES - 1}`)).toBeUndefined();
  expect(await scene.longestTurnMs()).toBeLessThan(LONGEST_STALL_MS);
});

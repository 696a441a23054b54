import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { type Lab, startLab } from "../../cli/lab/lab.ts";
import { accessFromKubeconfig, ClusterClient } from "../../simulators/kubernetes/node/cluster-client.ts";
import { SimulatedMachine } from "../../simulators/machine.ts";
import { startRedfishBmc } from "../../simulators/redfish/bmc.ts";
import { WorkerProgram } from "../support/worker-program.ts";

/**
 * The worker against a real tink server. `TINK_SERVER` holds its address, `KUBECONFIG` the way to the API
 * server whose Workflow objects it serves. Skipped without them.
 */
const server = process.env["TINK_SERVER"];
const kubeconfig = process.env["KUBECONFIG"];
const available = server !== undefined && kubeconfig !== undefined;
if (!available) process.stderr.write("skipped: TINK_SERVER and KUBECONFIG name no real tink server\n");

/** Whether that server runs with `--tink-server-auto-enrollment-enabled`. */
const enrolls = process.env["TINK_AUTO_ENROLLMENT"] === "1";

const UNTIL_MS = 60_000;
const GROUP = "/apis/tinkerbell.org/v1alpha1/namespaces/default";

const Workflow = z.object({
  status: z
    .object({
      state: z.string().optional(),
      tasks: z
        .array(
          z.object({ actions: z.array(z.object({ state: z.string(), message: z.string().optional() })) }),
        )
        .optional(),
    })
    .optional(),
});
type Workflow = z.infer<typeof Workflow>;

describe.skipIf(!available)("a real tink server", { timeout: 2 * UNTIL_MS }, () => {
  const suffix = randomBytes(4).toString("hex");
  let lab: Lab;
  let api: ClusterClient;
  const created: string[] = [];

  beforeAll(async () => {
    lab = await startLab({ times: { powerOnMs: 300, powerOffMs: 100, softOffMs: 100 } });
    api = new ClusterClient(accessFromKubeconfig(readFileSync(kubeconfig ?? "", "utf8")));
  });
  afterAll(async () => {
    if (!available) return;
    for (const path of created.toReversed()) await api.delete(path);
    await api.close();
    await lab.close();
  });

  async function create(
    kind: "Template" | "Workflow" | "WorkflowRuleSet",
    name: string,
    spec: unknown,
  ): Promise<string> {
    const collection = `${GROUP}/${kind.toLowerCase()}s`;
    const metadata = { name, namespace: "default" };
    await api.create(collection, { apiVersion: "tinkerbell.org/v1alpha1", kind, metadata, spec });
    created.push(`${collection}/${name}`);
    return `${collection}/${name}`;
  }

  async function untilState(path: string, wanted: string): Promise<Workflow> {
    const giveUpAt = performance.now() + UNTIL_MS;
    for (;;) {
      const workflow = Workflow.parse((await api.get(path).catch(() => undefined)) ?? {});
      if (workflow.status?.state === wanted) return workflow;
      if (performance.now() > giveUpAt) throw new Error(`${path} is ${JSON.stringify(workflow.status)}`);
      await sleep(200);
    }
  }

  // The server serves an agent ID the first of its workflows, ended ones too: earlier runs must not be in the way.
  const ownTemplate = async () =>
    (await readFile("examples/network-boot.yaml", "utf8")).replace("pbnj-{{", `pbnj-${suffix}-{{`);

  const startWorker = (...more: readonly string[]) =>
    new WorkerProgram([
      ...["start", "--grpc-server", server ?? "", "--inventory", lab.inventoryFile],
      ...["--agent-id-pattern", `pbnj-${suffix}-{machine}`, ...more],
    ]);

  const messagesOf = (workflow: Workflow) =>
    workflow.status?.tasks?.flatMap(({ actions }) => actions.map(({ message }) => message ?? "")) ?? [];

  test("runs the example template on every machine, and the messages are the actions' own", async () => {
    const template = await ownTemplate();
    await create("Template", `network-boot-${suffix}`, { data: template });
    await using _worker = startWorker();

    const names = lab.machines.map(({ machine }) => machine.name);
    const paths = await Promise.all(
      names.map((machine) =>
        create("Workflow", `network-boot-${machine}-${suffix}`, {
          templateRef: `network-boot-${suffix}`,
          hardwareMap: { machine },
        }),
      ),
    );
    const workflows = await Promise.all(paths.map((path) => untilState(path, "SUCCESS")));

    for (const workflow of workflows) {
      expect(messagesOf(workflow)).toEqual([
        expect.stringMatching(/^off after .* via (redfish|ipmi)$/),
        expect.stringMatching(/^boot pxe once \(uefi\) via (redfish|ipmi)$/),
        expect.stringMatching(/^on after .* via (redfish|ipmi)$/),
      ]);
    }
    for (const { machine } of lab.machines) {
      expect(machine.lastBoot).toMatchObject({ device: "pxe", overridden: true });
      expect(machine.boots).toHaveLength(1);
    }
    for (const path of created.splice(1)) await api.delete(path);
  });

  test.skipIf(!enrolls)("starts a workflow for a machine that never booted, by its hardware", async () => {
    const worker = `pbnj-${suffix}-never-{machine}`;
    const image = "registry.example/pbnj-worker/power-on:v1";
    const task = { name: "bmc", worker: "{{.agent}}", actions: [{ name: "on", image, timeout: 60 }] };
    const template = { version: "0.1", name: `never-${suffix}`, global_timeout: 600, tasks: [task] };
    await create("Template", `never-${suffix}`, { data: JSON.stringify(template) });
    const ruleSet = (name: string, rule: object) =>
      create("WorkflowRuleSet", `${name}-${suffix}`, {
        rules: [JSON.stringify(rule)],
        workflow: {
          namespace: "default",
          addAttributes: true,
          template: { ref: `never-${suffix}`, agentValue: "agent", kvs: { from: name } },
        },
      });
    await ruleSet("other", { chassis: { serial: ["another"] } });
    await ruleSet("in-band", {
      product: { vendor: ["Contoso"] },
      memory: { usable: [{ exists: true }] },
    });
    await ruleSet("out-of-band", {
      ...{ product: { vendor: ["Contoso"] }, chassis: { serial: ["CH00000001"] } },
      ...{
        networkInterfaces: { mac: ["52:54:00:aa:bb:01"] },
        memory: { total: ["96GB"], usable: [{ exists: false }] },
      },
    });

    await using _worker = new WorkerProgram([
      ...["start", "--grpc-server", server ?? "", "--inventory", lab.inventoryFile],
      ...["--agent-id-pattern", worker, "--agent-attributes"],
    ]);

    const path = `${GROUP}/workflows/enrollment-${worker.replace("{machine}", "node-01")}`;
    created.push(path);
    await untilState(path, "SUCCESS");
    expect(lab.machines[0]?.machine.power).toBe("on");
    expect(await api.get(path)).toMatchObject({
      metadata: {
        annotations: { "tinkerbell.org/agent-attributes": expect.stringContaining("CZ00000001") },
      },
      spec: { hardwareMap: { from: "out-of-band" } },
    });
  });

  test("gets the reason of a failure", async () => {
    const template = (await ownTemplate()).replace("MODE: uefi", "MODE: bios");
    await create("Template", `broken-${suffix}`, { data: template });
    await using _worker = startWorker();

    const path = await create("Workflow", `broken-${suffix}`, {
      templateRef: `broken-${suffix}`,
      hardwareMap: { machine: "node-01" },
    });
    const workflow = await untilState(path, "FAILED");

    expect(messagesOf(workflow)[1]).toMatch(
      /^set-pxe-once failed \(usage, exit 2\): .*MODE "bios" is not one of/,
    );
  });

  test.each([
    ["stops its action where the cluster is watched, and frees the lane", true],
    ["frees the lane while the server holds the report of its action", false],
  ] as const)("has a workflow deleted, which %s", async (_, watched) => {
    const machine = new SimulatedMachine({ name: "slow", power: "off", powerOnMs: watched ? 60_000 : 500 });
    const bmc = await startRedfishBmc({ machines: [machine], tls: "http", password: "calvin" });
    const inventory = join(lab.directory, `slow-${watched}.yaml`);
    const password = join(lab.directory, "slow-password");
    await writeFile(password, "calvin");
    const credentials = { username: "admin", passwordFile: password };
    const redfish = { port: bmc.port, scheme: "http" };
    const machines = [{ name: "slow", host: "127.0.0.1", redfish, providers: ["redfish"], credentials }];
    await writeFile(inventory, JSON.stringify({ machines }));
    const agentId = `pbnj-${suffix}-slow-${watched}`;
    const workflowOf = async (name: string, action: string) => {
      const image = `registry.example/pbnj-worker/${action}:v1`;
      const actions = [{ name: action, image, timeout: 120, environment: { MACHINE: "slow" } }];
      const tasks = [{ name: "bmc", worker: agentId, actions }];
      const data = JSON.stringify({ version: "0.1", name, global_timeout: 600, tasks });
      await create("Template", `${name}-${suffix}`, { data });
      return create("Workflow", `${name}-${suffix}`, { templateRef: `${name}-${suffix}`, hardwareMap: {} });
    };
    const cluster = [
      "--kubeconfig",
      kubeconfig ?? "",
      "--kubernetes-namespace",
      "default",
      "--wake-up",
      "on",
    ];
    await using worker = new WorkerProgram([
      ...["start", "--grpc-server", server ?? "", "--inventory", inventory, "--agent-id", agentId],
      ...(watched ? cluster : []),
    ]);
    const commanded = once(machine, "command");
    const deleted = await workflowOf(`deleted-${watched}`, "power-on");
    await commanded;

    await api.delete(deleted);
    created.splice(created.indexOf(deleted), 1);
    const startMs = performance.now();
    const next = await workflowOf(`next-${watched}`, "power-status");
    await untilState(next, "SUCCESS");

    expect(performance.now() - startMs).toBeLessThan(20_000);
    await worker.untilLogged(watched ? "workflow deleted, report dropped" : "report pending, lane continues");
    await bmc.close();
  });

  test("is told each end once in effect by a worker that was killed at every power command and came back", async () => {
    const [, second] = lab.machines;
    if (!second) throw new Error("the lab has three machines");
    const { machine } = second;
    await create("Template", `killed-${suffix}`, { data: await ownTemplate() });
    const state = ["--state-directory", join(lab.directory, "state")] as const;
    const before = machine.commands.length;
    let worker = startWorker(...state);
    let kills = 0;
    let ended: Promise<unknown> = Promise.resolve();
    const onCommand = () => {
      kills += 1;
      worker.kill("SIGKILL");
      ended = worker.ended.then(() => {
        worker = startWorker(...state);
      });
    };
    machine.on("command", onCommand);

    const path = await create("Workflow", `killed-${suffix}`, {
      templateRef: `killed-${suffix}`,
      hardwareMap: { machine: machine.name },
    });
    const workflow = await untilState(path, "SUCCESS");
    machine.off("command", onCommand);
    await ended;
    worker.kill("SIGTERM");
    const { code } = await worker.ended;

    expect(kills).toBe(2);
    expect(code).toBe(0);
    expect(machine.commands.slice(before).map(({ action }) => action)).toEqual(["soft-off", "on"]);
    expect(machine.lastBoot).toMatchObject({ device: "pxe", overridden: true });
    expect(messagesOf(workflow)).toHaveLength(3);
  });
});

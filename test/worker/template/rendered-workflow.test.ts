import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { stringify } from "yaml";
import { FakeCluster } from "../../../simulators/kubernetes/cluster.ts";
import { loadTemplate } from "../../../worker/template/load-template.ts";

const folder = await mkdtemp(join(tmpdir(), "pbnj-workflow-"));
afterAll(() => rm(folder, { recursive: true, force: true }));

/** An action in the form of Tinkerbell 0.23's server. */
const off = {
  ...{ id: "0b1c", name: "off", image: "registry.example/power-off:v1", timeout: 90, state: "SUCCESS" },
  ...{ command: ["--force"], environment: { NOTE: "{{ kept }}" }, executionStart: "2026-01-01T00:00:00Z" },
};
const workflow = (tasks: unknown) => ({
  ...{ apiVersion: "tinkerbell.org/v1alpha1", kind: "Workflow" },
  metadata: { name: "reboot", namespace: "tink", managedFields: [] },
  spec: { templateRef: "reboot", hardwareRef: "node-1" },
  status: { state: "RUNNING", agentID: "bmc-1", globalTimeout: 600, tasks },
});
const tasks = [{ id: "1", name: "bmc", agentID: "bmc-1", volumes: ["/a:/b"], actions: [off] }];

async function load(text: string, flags = {}) {
  const path = join(folder, "workflow.yaml");
  await writeFile(path, text);
  return loadTemplate(path, flags, {});
}

it.each([
  ["YAML", stringify],
  ["JSON", (value: unknown) => JSON.stringify(value, undefined, 4)],
  ["JSON without spaces", (value: unknown) => JSON.stringify(value)],
])(
  "a Workflow in %s is the template that the server rendered, nothing of which is rendered again",
  async (_, format) => {
    const loaded = await load(format(workflow(tasks)));

    expect(loaded).toMatchObject({
      ok: true,
      value: {
        ...{ name: "reboot", globalTimeoutSeconds: 600 },
        tasks: [
          {
            ...{ name: "bmc", worker: "bmc-1", volumes: ["/a:/b"] },
            actions: [
              { name: "off", timeoutSeconds: 90, command: ["--force"], environment: off.environment },
            ],
          },
        ],
      },
    });
  },
);

it("a template that writes a Workflow is a template", async () => {
  const command = ["apply", "kind: Workflow\nstatus: {}\n"];
  const template = {
    ...{ version: "0.1", name: "t", global_timeout: 60 },
    tasks: [{ name: "a", worker: "w", actions: [{ name: "b", image: "c", command }] }],
  };

  expect(await load(stringify(template))).toMatchObject({ ok: true, value: { name: "t" } });
});

it.each([
  [
    "without tasks",
    workflow(undefined),
    {},
    "workflow.yaml:1: the Workflow is not rendered: its status has no tasks",
  ],
  [
    "with an image that is none",
    workflow([{ ...tasks[0], actions: [{ ...off, image: "a b" }] }]),
    {},
    "workflow.yaml:23: status.tasks.0.actions.0.image is not an image reference",
  ],
  ["with values", workflow(tasks), { map: ["a=b"] }, "--map: is not needed: the Workflow is rendered"],
])("a Workflow %s is refused", async (_, object, flags, problem) => {
  const loaded = await load(stringify(object), flags);

  expect(loaded.ok ? [] : loaded.problems.map(({ source, message }) => `${source}: ${message}`)).toEqual([
    problem,
  ]);
});

it("a Workflow is read from the cluster, and a missing one is told", async () => {
  await using cluster = await FakeCluster.start({ namespaces: ["tink"] });
  const kind = ["tinkerbell.org/v1alpha1", "Workflow"] as const;
  const { status, ...created } = workflow(tasks);
  cluster.create(...kind, created);
  cluster.patchStatus(...kind, "reboot", status, "tink");
  const kubeconfig = join(folder, "kubeconfig");
  await writeFile(kubeconfig, cluster.kubeconfig());

  const loaded = await loadTemplate(undefined, { workflow: "tink/reboot" }, { kubeconfig });
  const missing = await loadTemplate(undefined, { workflow: "tink/none" }, { kubeconfig });

  expect(loaded).toMatchObject({ ok: true, value: { name: "reboot", tasks: [{ worker: "bmc-1" }] } });
  expect(missing).toMatchObject({ ok: false, problems: [{ source: "--workflow" }] });
  expect(missing.ok ? "" : missing.problems[0]?.message).toContain("not found");
});

it.each([
  ["tink/reboot", []],
  ["reboot", [{ source: "--workflow", message: expect.stringContaining("must be namespace/name") }]],
])("with wrong settings, Workflow %s is not looked for in any cluster", async (workflow, problems) => {
  const loaded = await loadTemplate(undefined, { workflow }, undefined);

  expect(loaded).toEqual({ ok: false, problems });
});

it.each([
  ["neither", undefined, {}],
  ["both", "reboot.yaml", { workflow: "tink/reboot" }],
])("%s of a file and --workflow is refused", async (_, path, flags) => {
  const loaded = await loadTemplate(path, flags, {});

  expect(loaded).toMatchObject({ ok: false, problems: [{ source: "command line" }] });
});

import { expect, it } from "vitest";
import type { Action } from "../../../../worker/core/action/action.ts";
import { referenceRefusal } from "../../../../worker/policy/decide.ts";
import { Policy } from "../../../../worker/policy/policy.ts";
import { BMC_API, eventually, isTrue, type RufioLab, rufioLab } from "./rufio-lab.ts";

const OFF = { powerAction: "off" };
const CANARY = "canary-token";
const NAMESPACES = { namespaces: ["default", "tink-system", "team-b"] };
const OPEN = [{ from: ["default"], to: ["team-b"], kinds: ["Machine"] }];

/** A Machine of another team whose connection holds a token. */
function addOthers(lab: RufioLab) {
  const rpc = { consumerURL: "http://hook.example", request: { staticHeaders: { "X-Token": [CANARY] } } };
  lab.cluster.create(BMC_API, "Machine", {
    metadata: { name: "node-01", namespace: "team-b" },
    spec: { connection: { ...lab.connection(), providerOptions: { rpc } } },
  });
}

function addJob(lab: RufioLab, name: string, machine = "node-01") {
  lab.cluster.create(BMC_API, "Job", {
    metadata: { name, namespace: "default" },
    spec: { machineRef: { name: machine, namespace: "team-b" }, tasks: [OFF] },
  });
}

it.concurrent("copies nothing of a Machine in another namespace into a Job's, and does not tell whether it exists", async () => {
  await using lab = await rufioLab({ cluster: NAMESPACES });
  addOthers(lab);
  await lab.replica({ watchNamespace: "*", references: referenceRefusal(() => Policy.parse({})) });
  addJob(lab, "j1");
  addJob(lab, "j2", "unknown");
  await eventually(() =>
    expect(isTrue(lab.job("j1"), "Failed") && isTrue(lab.job("j2"), "Failed")).toBe(true),
  );

  for (const [job, machine] of [
    ["j1", "node-01"],
    ["j2", "unknown"],
  ] as const) {
    expect(lab.job(job).conditions?.at(-1)?.["message"]).toBe(
      `failed to create Task default/${job}-task-0: policy references: Job default/${job} may not use Machine team-b/${machine}: no entry allows it`,
    );
  }
  expect(lab.cluster.list(BMC_API, "Task")).toEqual([]);
  expect(
    lab.cluster.requests.filter(({ verb, resource }) => verb === "get" && resource === "machines"),
  ).toEqual([]);
  expect(JSON.stringify(lab.logged)).not.toContain(CANARY);
  expect(lab.machine().commands).toEqual([]);
});

it.concurrent("runs such a Job if the policy opens the reference", async () => {
  await using lab = await rufioLab({ cluster: NAMESPACES });
  addOthers(lab);
  const references = referenceRefusal(() => Policy.parse({ references: OPEN }));
  await lab.replica({ watchNamespace: "*", references });
  addJob(lab, "j1");

  await eventually(() => expect(isTrue(lab.job("j1"), "Completed")).toBe(true));

  expect(lab.machine().power).toBe("off");
});

it.concurrent("asks the policy about a Task before it creates it", async () => {
  await using lab = await rufioLab();
  lab.addMachine();
  const asked: (readonly [string, Partial<Action>])[] = [];
  await lab.replica({
    refusal(action, machine) {
      asked.push([machine, action]);
      return action.name === "power-on" ? "policy tenants: not this one" : undefined;
    },
  });
  lab.addJob("j1", [OFF, { powerAction: "on" }]);

  await eventually(() => expect(isTrue(lab.job("j1"), "Failed")).toBe(true));

  expect(lab.job("j1").conditions?.at(-1)?.["message"]).toBe(
    "failed to create Task default/j1-task-1: policy tenants: not this one",
  );
  expect(lab.cluster.list(BMC_API, "Task").map(({ metadata }) => metadata.name)).toEqual(["j1-task-0"]);
  expect(lab.machine().commands.map(({ action }) => action)).toEqual(["off"]);
  expect(asked.at(-1)).toEqual([
    "node-01",
    expect.objectContaining({
      ...{
        workflowId: "default/j1",
        agentId: "rufio",
        environment: expect.objectContaining({ MACHINE: "node-01" }),
      },
    }),
  ]);
});

it.concurrent("does not start a Task that another controller has created for a Machine of another namespace", async () => {
  await using lab = await rufioLab({ cluster: NAMESPACES });
  addOthers(lab);
  addJob(lab, "j1");
  const { uid } = lab.cluster.list(BMC_API, "Job")[0]?.metadata ?? {};
  const owner = { apiVersion: BMC_API, kind: "Job", name: "j1", uid, controller: true };
  lab.addTask("j1-task-0", OFF, { metadata: { ownerReferences: [owner] } });
  await lab.replica({ watchNamespace: "*" });

  await eventually(() => expect(isTrue(lab.task("j1-task-0"), "Failed")).toBe(true));

  expect(lab.machine().commands).toEqual([]);
});

import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { catalogue, loadAction } from "../../actions/catalogue.ts";
import { fieldNames } from "../../actions/harness/input/environment.ts";
import { parseImageReference } from "../../shared/contract/image-reference.ts";
import { readTextFile } from "../../shared/read-text-file.ts";
import { parseInventory } from "../../worker/machines/parse-inventory.ts";
import { resolveMachine } from "../../worker/machines/resolve-machine.ts";
import { decide, decideMachine } from "../../worker/policy/decide.ts";
import { parsePolicy } from "../../worker/policy/parse-policy.ts";
import { actionsOfTask } from "../../worker/template/actions.ts";
import { circumstances } from "../support/circumstances.ts";
import { bmcTasksOf, commandOf, type ExampleFile, exampleFiles, templateOf } from "./example-files.ts";
import { scenarios } from "./scenarios.ts";

const { templates, inventories, policies } = await exampleFiles();
const readme = await readFile("examples/README.md", "utf8");

function inventoryOf({ path, text }: ExampleFile) {
  const parsed = parseInventory({ path: resolve(path), text, env: {}, readFile: readTextFile });
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  return parsed;
}

describe.each(templates)("$path", (file) => {
  const template = templateOf(file);
  const command = commandOf(file);
  const actions = bmcTasksOf(template).flatMap(actionsOfTask);

  it("says what it does, which values it takes, and a command that gives them all", () => {
    const used = new Set([...file.text.matchAll(/\{\{-? *\.(\w+)/g)].map(([, key]) => key));
    const said = /^# Values: (.+(?:\n# \w.*)*)/m.exec(file.text)?.[1] ?? "";

    expect(file.text).toMatch(/^# [A-Z]/);
    expect(Object.keys(command.values).sort()).toEqual([...used].sort());
    for (const key of Object.keys(command.values)) expect(said).toMatch(new RegExp(`\\b${key}\\b`));
    expect(command.template).toBe(file.path);
  });

  it("has a BMC task whose actions are of the catalogue and know their variables", async () => {
    expect(actions.length).toBeGreaterThan(0);
    for (const { image, environment } of actions) {
      const reference = parseImageReference(image);
      const action = await loadAction(reference?.name ?? "");

      expect(catalogue, image).toContain(reference?.name);
      expect(image).toMatch(/^registry\.example\/pbnj-worker\/[a-z-]+:v\d+\.\d+\.\d+$/);
      expect(action ? fieldNames(action) : [], image).toEqual(
        expect.arrayContaining(Object.keys(environment)),
      );
    }
  });

  it("gives every action a time that fits into the workflow's", () => {
    const times = template.tasks.flatMap((task) => task.actions).map(({ timeoutSeconds }) => timeoutSeconds);

    expect(Math.min(...times)).toBeGreaterThan(0);
    expect(times.reduce((sum, seconds) => sum + seconds)).toBeLessThanOrEqual(template.globalTimeoutSeconds);
  });

  it("is for machines of the inventory that its command names, and allowed by the policy", () => {
    const named = inventories.find(({ path }) => path === command.inventory);
    if (!named) throw new Error(`${command.inventory} is no inventory of the examples`);
    const inventory = inventoryOf(named).value;
    const [{ path, text } = { path: "", text: "" }] = policies;
    const policy = parsePolicy(path, text);

    for (const action of actions) {
      expect(resolveMachine(action, inventory, "pbnj-{machine}")).toMatchObject({
        machine: action.environment["MACHINE"],
      });
      // Where `pbnj-worker run` has its workflows.
      const run = { ...action, workflowId: "local/w" };
      const { MACHINE: machine = "" } = action.environment;
      expect(policy.ok && decide(policy.value, circumstances, run)).toEqual({ allowed: true });
      expect(policy.ok && decideMachine(policy.value, run, { name: machine })).toEqual({ allowed: true });
    }
  });

  it("is in the list of examples, and is run", () => {
    expect(readme).toContain(`(${file.path.replace("examples/", "")})`);
    expect(Object.keys(scenarios)).toContain(file.path);
  });
});

it("no example is run that is not there", () => {
  expect(Object.keys(scenarios).sort()).toEqual(templates.map(({ path }) => path).sort());
});

it.each(inventories)("$path is right but for secrets that are not there, and in the list", (file) => {
  const { warnings } = inventoryOf(file);

  expect(warnings.every(({ message }) => /(does not exist|is not set)$/.test(message))).toBe(true);
  expect(readme).toContain(`(${file.path.replace("examples/", "")})`);
});

it("a task that pbnj-worker does not run is for the machine's own agent", () => {
  const reprovision = templates.find(({ path }) => path === "examples/reprovision.yaml");
  if (!reprovision) throw new Error("there is no examples/reprovision.yaml");

  const [, install] = templateOf(reprovision).tasks;

  expect(install?.worker).toBe(commandOf(reprovision).values["machine_mac"]);
  expect(install?.actions.length).toBeGreaterThan(0);
  for (const { image } of install?.actions ?? []) {
    expect(catalogue).not.toContain(parseImageReference(image)?.name);
  }
});

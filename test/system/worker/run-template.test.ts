import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it, test } from "vitest";
import { type Lab, startLab } from "../../../cli/lab/lab.ts";
import { FakeCluster } from "../../../simulators/kubernetes/cluster.ts";
import { CommandInProcess } from "../../support/command-in-process.ts";
import { fileFolder } from "../../support/test-folder.ts";
import { WorkerProgram } from "../../support/worker-program.ts";

const QUICK = { powerOnMs: 40, powerOffMs: 40, softOffMs: 40 };
const NETWORK_BOOT = "examples/network-boot.yaml";

const { folder } = await fileFolder();
function machineOf(lab: Lab, name: string) {
  const found = lab.machines.find(({ machine }) => machine.name === name);
  if (!found) throw new Error(`the lab has no ${name}`);
  return found.machine;
}

async function template(text: string): Promise<string> {
  const path = join(folder, `${Math.random().toString(36).slice(2)}.yaml`);
  await writeFile(path, text);
  return path;
}

const TWO_TASKS = `
version: "0.1"
name: two
global_timeout: 600
tasks:
  - name: look
    worker: "pbnj-{{ .machine }}"
    actions:
      - {name: status, image: registry.example/power-status:v1, timeout: 30}
  - name: break
    worker: "pbnj-{{ .machine }}"
    actions:
      - {name: reset, image: registry.example/power-reset:v1, timeout: 30, environment: {MODE: "", ON_IF_OFF: "false"}}
      - {name: never, image: registry.example/power-off:v1, timeout: 30}
`;

test.each(["node-01", "node-03"])("the example template runs through on %s and exits 0", async (name) => {
  const lab = await startLab({ times: QUICK });
  await using program = new CommandInProcess([
    ...["run", NETWORK_BOOT, "--map", `machine=${name}`, "--inventory", lab.inventoryFile],
  ]);

  const { code } = await program.ended;

  // The log has progress, and repeats nothing that stdout has.
  const lines = program.stderr.split("\n").filter((line) => !line.includes('"progress":true'));
  expect(lines).toEqual([""]);
  expect(code).toBe(0);
  expect(program.stdout.trim().split("\n")).toEqual([
    "bmc / power-off  running",
    expect.stringMatching(/^bmc \/ power-off {2}success in \d+\.\d s: off after .* via (redfish|ipmi)$/),
    "bmc / set-pxe-once  running",
    expect.stringMatching(
      /^bmc \/ set-pxe-once {2}success in .*: boot pxe once \(uefi\) via (redfish|ipmi)$/,
    ),
    "bmc / power-on  running",
    expect.stringMatching(/^bmc \/ power-on {2}success in .*: on after .* via (redfish|ipmi)$/),
  ]);
  expect(machineOf(lab, name).lastBoot).toMatchObject({ device: "pxe", overridden: true });
  await lab.close();
});

test("prints one JSON value for programs, with what was not run", async () => {
  const lab = await startLab({ times: QUICK });
  machineOf(lab, "node-01").do("off");
  await using program = new CommandInProcess([
    ...["run", await template(TWO_TASKS), "--map", "machine=node-01", "--inventory", lab.inventoryFile],
    ...["--output", "json"],
  ]);

  const { code } = await program.ended;
  await lab.close();

  expect(code).not.toBe(0);
  expect(JSON.parse(program.stdout)).toEqual({
    template: "two",
    dryRun: false,
    actions: [
      expect.objectContaining({ task: "look", action: "status", state: "success", exitCode: 0 }),
      expect.objectContaining({ task: "break", action: "reset", state: "failed", class: "state" }),
      {
        ...{ task: "break", action: "never", state: "pending" },
        ...{ agentId: "pbnj-node-01", image: "registry.example/power-off:v1" },
      },
    ],
  });
});

test.each([["run"], ["policy", "test"]])(
  "%s %s finds the Workflow in the cluster that the configuration file names",
  async (...command) => {
    await using cluster = await FakeCluster.start({ namespaces: ["tink"] });
    const kind = ["tinkerbell.org/v1alpha1", "Workflow"] as const;
    cluster.create(...kind, { metadata: { name: "look", namespace: "tink" }, spec: { disabled: true } });
    const actions = [{ name: "status", image: "registry.example/power-status:v1", timeout: 30 }];
    const tasks = [{ name: "look", agentID: "pbnj-node-01", actions }];
    cluster.patchStatus(...kind, "look", { tasks }, "tink");
    await writeFile(join(folder, "kubeconfig"), cluster.kubeconfig());
    const config = await template("kubeconfig: kubeconfig\n");
    const lab = await startLab({ times: QUICK });
    await using program = new CommandInProcess([
      ...[...command, "--workflow", "tink/look", "--inventory", lab.inventoryFile, "--config", config],
    ]);

    const { code } = await program.ended;

    expect(program.stdout).toMatch(
      command[0] === "run" ? /look \/ status {2}success/ : /1 allowed, 0 refused/,
    );
    expect(code).toBe(0);
    await lab.close();
  },
);

describe("a Workflow", () => {
  const workflow = (spec: object, state: string) =>
    template(
      JSON.stringify({
        kind: "Workflow",
        metadata: { name: "off", namespace: "team-a" },
        spec,
        status: {
          state,
          // The names of both actions would be one text if they were joined.
          tasks: [
            {
              name: "a",
              agentID: "pbnj-node-01",
              actions: [{ name: "b-c", image: "power-status", timeout: 30 }],
            },
            {
              name: "a-b",
              agentID: "pbnj-node-01",
              actions: [{ name: "c", image: "power-off", timeout: 30 }],
            },
          ],
        },
      }),
    );
  const run = async (file: string, ...more: readonly string[]) => {
    const lab = await startLab({ times: QUICK });
    await using program = new CommandInProcess(["run", file, "--inventory", lab.inventoryFile, ...more]);
    const { code } = await program.ended;
    const { power } = machineOf(lab, "node-01");
    await lab.close();
    return { code, power, text: program.stdout + program.stderr };
  };

  it.each([
    ["PENDING", "a tink server serves it"],
    ["STATE_RUNNING", "a tink server serves it"],
    ["SUCCESS", "it has been run already"],
  ])("that is %s is not run", async (state, why) => {
    const { code, power, text } = await run(await workflow({}, state));

    expect([code, power]).toEqual([2, "on"]);
    expect(text).toContain(`the Workflow team-a/off is ${state.replace("STATE_", "")}: ${why}. Fix: `);
  });

  it.each([
    ["that is disabled", { disabled: true }, []],
    ["in the state of --even-if", {}, ["--even-if", "pending"]],
  ])("%s is run, with all its actions", async (_, spec, flags) => {
    const { code, power, text } = await run(await workflow(spec, "PENDING"), ...flags);

    expect([code, power]).toEqual([0, "off"]);
    expect(text).toContain("running a Workflow without its server");
  });

  it("in another state than that of --even-if is not run", async () => {
    const { code, text } = await run(await workflow({}, "RUNNING"), "--even-if", "PENDING");

    expect(code).toBe(2);
    expect(text).toContain("is PENDING, but the Workflow team-a/off is RUNNING");
  });

  it("is judged in its own namespace", async () => {
    const policy = await template("tenants: [{namespaces: [local], machines: ['*']}]");

    const { code, power, text } = await run(
      await workflow({ disabled: true }, "PENDING"),
      "--policy",
      policy,
    );

    expect([code, power]).toEqual([2, "on"]);
    expect(text).toContain("policy tenants: namespace team-a does not belong to a tenant");
  });
});

test("the first failure ends it with the exit code of that action", async () => {
  const lab = await startLab({ times: QUICK });
  const machine = machineOf(lab, "node-01");
  machine.do("off");
  await using program = new CommandInProcess([
    ...["run", await template(TWO_TASKS), "--map", "machine=node-01", "--inventory", lab.inventoryFile],
  ]);

  const { code } = await program.ended;

  expect(code).toBe(17);
  expect(program.stdout).toMatch(/look \/ status {2}success/);
  expect(program.stdout).toMatch(
    /break \/ reset {2}failed .*\(state, exit 17\): redfish: the machine is off/,
  );
  expect(program.stdout).toMatch(/\nnot run: break \/ never\n$/);
  await lab.close();
});

test("all problems of template, values and settings are in one message, with lines and columns", async () => {
  const path = await template(`version: "0.1"
name: bad
global_timeout: 1
tasks:
  - name: one
    worker: "{{ .machine }}"
    actions:
      - {name: a, image: "NOT AN IMAGE", timeout: 1}
      - {name: a, image: b, timeout: 1, environment: {X: "{{ index .list 0 }}"}}
`);
  await using program = new CommandInProcess([
    "run",
    path,
    "--map",
    "machine",
    "--runtime",
    "dokcer",
    "--task",
    "on",
  ]);

  const { code } = await program.ended;

  expect(code).toBe(2);
  expect(program.stdout).toBe("");
  expect(program.stderr).toMatch(/nothing was started/);
  for (const problem of [
    /--runtime/,
    /--map: "machine" is not key=value/,
    /\.yaml:6:14: /,
    /\.yaml:8:26: "NOT AN IMAGE" is not an image reference/,
    /\.yaml:9:59: /,
  ]) {
    expect(program.stderr).toMatch(problem);
  }
});

test("mistakes of later actions are named before the first one runs", async () => {
  const lab = await startLab({ times: QUICK });
  const misspelt = await template(
    TWO_TASKS.replace("timeout: 30}", "timeout: 30, environment: {TIMEOTU: 5s, TIMEOUT: 10 secnds}}")
      .replace("power-reset", "power-rest")
      .replace("pbnj-{{", "pbjn-{{"),
  );
  await using program = new CommandInProcess([
    ...["run", misspelt, "--map", "machine=node-01", "--inventory", lab.inventoryFile],
  ]);

  const { code } = await program.ended;

  expect(code).toBe(2);
  expect(program.stdout).toBe("");
  expect(program.stderr).toContain("no machine has the agent ID pbjn-node-01, did you mean pbnj-node-01?");
  expect(program.stderr).toContain("TIMEOTU is not an input of power-status: did you mean TIMEOUT?");
  expect(program.stderr).toContain('look / status: TIMEOUT "10 secnds" is not a duration');
  expect(program.stderr).toMatch(
    /break \/ reset: \S+ is not an action of this release: did you mean power-reset\?/,
  );
  expect(machineOf(lab, "node-01").commands).toEqual([]);
  await lab.close();
});

test("SIGTERM cancels the running action and exits 143", async () => {
  const lab = await startLab({ times: { ...QUICK, softOffMs: 60_000 } });
  await using program = new WorkerProgram([
    ...["run", NETWORK_BOOT, "--map", "machine=node-01", "--inventory", lab.inventoryFile],
  ]);
  const machine = machineOf(lab, "node-01");
  await new Promise((resolve) => machine.once("command", resolve));

  program.kill("SIGTERM");
  const { code } = await program.ended;

  expect(code).toBe(143);
  expect(program.stdout).toMatch(/power-off {2}failed .*cancelled/);
  expect(machine.commands.map(({ action }) => action)).toEqual(["soft-off"]);
  await lab.close();
});

test("control characters of a template are escaped in reports, log and problems", async () => {
  const path = await template(`
version: "0.1"
name: hostile
global_timeout: 600
tasks:
  - name: "ta\\u202esk"
    worker: pbnj
    actions:
      - {name: "st\\x9b31mop\\u200b", image: registry.example/unknown:v1, timeout: 30}
`);
  await using program = new CommandInProcess(["run", path, "--runtime", "process", "--log-format", "json"]);
  await using wrong = new CommandInProcess([
    "run",
    path,
    "--runtime",
    "process",
    "--task",
    "no\u202e\u009bne",
  ]);

  const { code } = await program.ended;
  await wrong.ended;

  expect(code).toBe(2);
  expect(program.stderr).toContain(String.raw`ta\u202esk / st\u009b31mop\u200b`);
  expect(wrong.stderr).toContain(String.raw`no\u202e\u009bne`);
  for (const text of [program.stdout, program.stderr, wrong.stderr])
    expect(text.replaceAll("\n", "")).not.toMatch(/[\p{Cc}\p{Cf}]/u);
});

test("a value that the template does not use is refused, as is one that is missing", async () => {
  await using program = new CommandInProcess(["run", NETWORK_BOOT, "--map", "machin=node-01"]);
  await using other = new CommandInProcess([
    "run",
    await template(TWO_TASKS),
    "--map",
    "machine=a",
    "--map",
    "disk=b",
  ]);

  const ends = await Promise.all([program.ended, other.ended]);

  expect(program.stderr).toMatch(
    /network-boot\.yaml:\d+:\d+: no value for machine: add --map machine=<value>/,
  );
  expect(program.stderr).toContain(
    "--map: gives machin, which the template does not use, did you mean machine?",
  );
  expect(other.stderr).toContain("--map: gives disk, which the template does not use");
  expect(ends.map(({ code }) => code)).toEqual([2, 2]);
});

describe("a dry run", () => {
  test.each<[string, readonly string[], Record<string, string>]>([
    ["the flag", ["--dry-run"], {}],
    ["the variable", [], { DRY_RUN: "true" }],
  ])("by %s plans every action and sends nothing, also after one that fails", async (_, flags, env) => {
    const lab = await startLab({ times: QUICK });
    const file = await template(`
version: "0.1"
name: plan
global_timeout: 600
tasks:
  - name: bmc
    worker: pbnj-node-01
    actions:
      - {name: off, image: registry.example/power-off:v1, timeout: 30}
      - {name: wrong, image: registry.example/set-boot-device:v1, timeout: 30, environment: {DEVICE: nothing}}
      - {name: foreign, image: registry.example/acme/tool:v1, timeout: 30}
      - {name: on, image: registry.example/power-on:v1, timeout: 30}
`);
    await using program = new CommandInProcess(
      ["run", file, "--inventory", lab.inventoryFile, ...flags],
      env,
    );

    const { code } = await program.ended;

    expect(code).toBe(2);
    expect(machineOf(lab, "node-01").commands).toEqual([]);
    expect(program.stdout).toMatch(/^dry run: nothing is changed/);
    expect(program.stdout).toMatch(/bmc \/ off {2}success in .*would/);
    expect(program.stdout).toMatch(/bmc \/ wrong {2}failed .*DEVICE/);
    expect(program.stdout).toContain(
      "bmc / foreign  not planned: registry.example/acme/tool:v1 is not an action of this release",
    );
    expect(program.stdout).toMatch(/bmc \/ on {2}success in .*dry run: if off: would send .*"On"/);
    await lab.close();
  });
});

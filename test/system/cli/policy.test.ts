import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { runProgram } from "../../cli/program.ts";
import { CommandInProcess } from "../../support/command-in-process.ts";
import { fileFolder } from "../../support/test-folder.ts";

const IMAGES = "registry.example/acme";
const DIGEST = `sha256:${"a".repeat(64)}`;

const { folder } = await fileFolder();
beforeAll(async () => {
  await write("template.yaml", {
    version: "0.1",
    name: "t",
    global_timeout: 60,
    tasks: [
      {
        name: "lane",
        worker: "pbnj-{{ .machine }}",
        actions: [
          { name: "off", image: `${IMAGES}/power-off:v1`, timeout: 9 },
          { name: "report", image: `${IMAGES}/report:v1`, timeout: 9, volumes: ["/srv/in:/data:ro"] },
        ],
      },
      {
        name: "any",
        worker: "pbnj",
        environment: { MACHINE: "node-2" },
        actions: [{ name: "on", image: `${IMAGES}/power-on:v1`, timeout: 9, "on-failure": ["--timeout=5s"] }],
      },
    ],
  });
  await write("policy.yaml", {
    images: [`${IMAGES}/*`],
    trustedImages: [`${IMAGES}/power-*`],
    volumes: [{ path: "/srv" }],
    containers: [{ images: ["**/power-*"], pull: "never", memory: "96Mi" }],
    tenants: [
      { namespaces: ["team-a"], machines: ["node-1"] },
      { namespaces: ["local"], machines: ["*"] },
    ],
  });
  // Nothing that is named here exists: reading it fails.
  const credentials = { username: "admin", passwordFile: "/nonexistent/password" };
  await write("inventory.yaml", {
    machines: ["node-1", "node-2"].map((name, index) => ({
      ...{ name, host: `192.0.2.${index}`, credentials },
      tls: { caFile: "/nonexistent/ca.pem" },
    })),
  });
  await write("worker.yaml", {
    grpcServer: "tink.invalid",
    grpcTls: true,
    grpcClientKeyFile: "/nonexistent/key.pem",
    registryPassFile: "/nonexistent/registry",
    inventory: "inventory.yaml",
    policy: "policy.yaml",
    runtime: "docker",
    cpuLimit: 0.5,
  });
});

function write(name: string, content: object): Promise<void> {
  return writeFile(join(folder, name), JSON.stringify(content, undefined, 1));
}

interface Ended {
  readonly exitCode?: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Inside this process. */
async function run(argv: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Ended> {
  await using command = new CommandInProcess(argv, env);
  const { code } = await command.ended;
  return { exitCode: code, stdout: command.stdout.trimEnd(), stderr: command.stderr.trimEnd() };
}

/** Runs `policy test`, by default inside this process, or as a process with `runProgram`. */
async function testPolicy(
  argv: readonly string[],
  runs: (...given: Parameters<typeof run>) => PromiseLike<Ended> = run,
): Promise<Ended> {
  const template = join(folder, "template.yaml");
  return runs(["policy", "test", template, "--map", "machine=node-1", ...argv], {
    PBNJ_CONFIG: join(folder, "worker.yaml"),
  });
}

/** The lines of the table, in their columns. */
function cells(stdout: string): readonly (readonly string[])[] {
  const [head = "", rule = "", ...lines] = (stdout.split("\n\n")[0] ?? "").split("\n");
  const starts = [...rule.matchAll(/-+/g)].map(({ index }) => index);
  return [head, ...lines].map((line) => starts.map((start, at) => line.slice(start, starts[at + 1]).trim()));
}

const Finding = z.strictObject({ rule: z.string(), reason: z.string() });
const Chosen = z.strictObject({ value: z.union([z.string(), z.number()]), by: z.string() });
const Answer = z.strictObject({
  allowed: z.boolean(),
  namespace: z.string(),
  runtime: z.string(),
  policy: z.string().nullable(),
  inventory: z.string().nullable(),
  actions: z.array(
    z.strictObject({
      ...{ task: z.string(), action: z.string(), agentId: z.string(), image: z.string() },
      machine: z.string().nullable(),
      allowed: z.boolean(),
      trust: z.strictObject({ trusted: z.boolean(), rule: z.string(), reason: z.string() }),
      refusals: z.array(Finding),
      grants: z.array(Finding),
      unenforced: z.array(Finding),
      container: z
        .strictObject({
          ...{ pull: Chosen, memoryBytes: Chosen, cpus: Chosen, pids: Chosen },
          privileged: z.boolean(),
        })
        .nullable(),
    }),
  ),
});

describe("pbnj-worker policy test", () => {
  it("exits 0 when all is allowed, says by which rules, and reads none of the files that hold secrets", async () => {
    const { exitCode, stdout, stderr } = await testPolicy([], runProgram);
    const trusted = (name: string) =>
      `${IMAGES}/power-* matches ${IMAGES}/${name}: it receives its machine's BMC connection`;

    expect(stderr).toBe("");
    expect(cells(stdout)).toEqual([
      ["task", "action", "machine", "verdict", "rule", "why"],
      ["lane", "off", "node-1", "allowed", "trustedImages.0", trusted("power-off:v1")],
      ["", "", "", "", "images.0", `${IMAGES}/* matches ${IMAGES}/power-off:v1`],
      ["", "", "", "", "tenants.1", "namespace local may use machine node-1"],
      ["", "", "", "", "containers.0", "pull never, memory 96Mi"],
      ["", "", "", "", "settings", "cpus 0.5, pids 64"],
      [
        ...["lane", "report", "node-1", "allowed", "trustedImages"],
        `${IMAGES}/report:v1 is not listed: it receives no BMC connection`,
      ],
      ["", "", "", "", "images.0", `${IMAGES}/* matches ${IMAGES}/report:v1`],
      ["", "", "", "", "tenants.1", "namespace local may use machine node-1"],
      ["", "", "", "", "volumes.0", "/srv/in:/data:ro may be mounted"],
      ["", "", "", "", "settings", "pull if-missing, memory 256Mi, cpus 0.5, pids 64"],
      ["any", "on", "node-2", "allowed", "trustedImages.0", trusted("power-on:v1")],
      ["", "", "", "", "images.0", `${IMAGES}/* matches ${IMAGES}/power-on:v1`],
      ["", "", "", "", "tenants.1", "namespace local may use machine node-2"],
      ["", "", "", "", "containers.0", "pull never, memory 96Mi"],
      ["", "", "", "", "settings", "cpus 0.5, pids 64"],
    ]);
    expect(stdout).toMatch(/\n\n3 allowed, 0 refused by policy\.yaml; namespace local, runtime docker$/);
    expect(exitCode).toBe(0);
  });

  it.each([
    ["fail", "refused", "machine node-1 is paused: new disks (inventory paused.yaml)"],
    ["wait", "allowed", "it waits, because machine node-1 is paused: new disks (inventory paused.yaml)"],
  ])("says what becomes of an action for a paused machine: %s", async (pausedMachines, verdict, why) => {
    await write("paused.yaml", { machines: [{ name: "node-1", host: "192.0.2.1", paused: "new disks" }] });
    await write("pauses.yaml", { pausedMachines, trustedImages: [`${IMAGES}/*`] });
    const files = ["--inventory", join(folder, "paused.yaml"), "--policy", join(folder, "pauses.yaml")];

    const { stdout } = await testPolicy(files);

    const rows = cells(stdout);
    expect(rows[1]?.slice(0, 4)).toEqual(["lane", "off", "node-1", verdict]);
    expect(rows.map((row) => row.slice(4))).toContainEqual(["pausedMachines", why]);
  });

  it("exits 1 when something is refused, with everything that is against it", async () => {
    const { exitCode, stdout } = await testPolicy(["--namespace", "team-a"]);

    expect(cells(stdout).slice(-1)).toEqual([
      ["any", "on", "-", "refused", "tenants", "namespace team-a may not use machine node-2"],
    ]);
    expect(stdout).toContain("2 allowed, 1 refused");
    expect(exitCode).toBe(1);
  });

  it("gives programs JSON", async () => {
    const { exitCode, stdout } = await testPolicy(["--namespace=team-a", "--output", "json"]);

    const answer = Answer.parse(JSON.parse(stdout));
    expect(answer).toMatchObject({
      allowed: false,
      namespace: "team-a",
      runtime: "docker",
      policy: join(folder, "policy.yaml"),
    });
    expect(answer.actions.map(({ action, machine, allowed }) => [action, machine, allowed])).toEqual([
      ["off", "node-1", true],
      ["report", "node-1", true],
      ["on", null, false],
    ]);
    expect(answer.actions.map(({ trust }) => [trust.trusted, trust.rule])).toEqual([
      [true, "trustedImages.0"],
      [false, "trustedImages"],
      [true, "trustedImages.0"],
    ]);
    expect(answer.actions[0]?.container).toEqual({
      pull: { value: "never", by: "containers.0" },
      memoryBytes: { value: 96 * 1_024 ** 2, by: "containers.0" },
      cpus: { value: 0.5, by: "settings" },
      pids: { value: 64, by: "settings" },
      privileged: false,
    });
    expect(answer.actions[2]?.refusals).toEqual([
      { rule: "tenants", reason: "policy tenants: namespace team-a may not use machine node-2" },
    ]);
    expect(exitCode).toBe(1);
  });

  it("says what the process runtime cannot enforce, and what it has not", async () => {
    const { exitCode, stdout, stderr } = await testPolicy(["--runtime", "process"]);

    expect(stderr).toBe(
      "warning: policy containers: has no effect: the process runtime pulls no images and sets no limits",
    );
    expect(cells(stdout).filter(([, , , , rule]) => rule === "containers.0" || rule === "runtime")).toEqual([
      [
        "",
        "",
        "",
        "",
        "containers.0",
        "not enforced: the process runtime pulls no images and sets no limits",
      ],
      [
        ...["lane", "report", "node-1", "refused", "runtime"],
        "the process runtime mounts nothing: source and target of the volume /srv/in:/data:ro must be the same path",
      ],
      [
        ...["", "", "", "", "runtime"],
        "the process runtime runs this worker's own actions only, not registry.example/acme/report:v1",
      ],
      [
        "",
        "",
        "",
        "",
        "containers.0",
        "not enforced: the process runtime pulls no images and sets no limits",
      ],
    ]);
    expect(exitCode).toBe(1);
  });

  it("judges by all that the policy says, here of files, flags after a failure, retries, and privilege", async () => {
    await write("strict.yaml", {
      images: ["**"],
      trustedImages: ["**/power-*"],
      environment: [{ images: ["**/a", `${IMAGES}/report`], names: ["RESULT_FILE", "BMC_*"] }],
      privileged: [`${IMAGES}/report@${DIGEST}`],
    });
    await write("files.yaml", {
      version: "0.1",
      name: "t",
      global_timeout: 60,
      tasks: [
        {
          name: "t",
          worker: "pbnj",
          actions: [
            { name: "a", image: "a", timeout: 9, environment: { RESULT_FILE: "/nowhere/x" } },
            { name: "b", image: "power-off", timeout: 9, "on-failure": ["--mdoe=hard"] },
            { name: "d", image: "d", timeout: 9, "on-timeout": ["--bmc-host=x"] },
            { name: "e", image: "power-on", timeout: 9, environment: { MDOE: "hard", LD_PRELOAD: "" } },
            { name: "f", image: "power-on", timeout: 9, environment: { RETRIES: "2" } },
            { name: "g", image: "power-cycle", timeout: 9, command: ["--retries=1"] },
            { name: "c", image: `${IMAGES}/report@${DIGEST}`, timeout: 9, environment: { BMC_HOST: "x" } },
          ],
        },
      ],
    });
    const ask = (runtime: string) =>
      run([
        ...["policy", "test", join(folder, "files.yaml"), "--policy", join(folder, "strict.yaml")],
        ...["--runtime", runtime],
      ]);

    const [here, contained, clustered] = await Promise.all([
      ask("process"),
      ask("docker"),
      ask("kubernetes"),
    ]);

    const rules = (stdout: string) => cells(stdout).map((row) => row.slice(1).join(" | "));
    expect(rules(here.stdout).slice(1, 6)).toEqual([
      "a | - | refused | volumes | RESULT_FILE /nowhere/x is not allowed: no volume may be mounted from there",
      " |  |  | runtime | the process runtime runs this worker's own actions only, not a",
      "b | - | refused | environment | on-failure: --mdoe in the template's command is not an input of power-off: did you mean --mode?",
      "d | - | refused | runtime | the process runtime runs this worker's own actions only, not d",
      " |  |  | machine | on-timeout: is for another machine than the action",
    ]);
    for (const { stdout } of [here, contained, clustered]) {
      expect(rules(stdout)).toEqual(
        expect.arrayContaining([
          "e | - | refused | environment | LD_PRELOAD is not an input of power-on",
          " |  |  | environment | MDOE is not an input of power-on: did you mean MODE?",
          " |  |  | maxRetries | RETRIES may be 2",
          "g | - | refused | maxRetries | power-cycle is not idempotent, so it is never repeated: remove --retries or set it to 0",
        ]),
      );
    }
    expect(rules(contained.stdout)).toEqual(
      expect.arrayContaining([
        "a | - | allowed | trustedImages | a is not listed: it receives no BMC connection",
        " |  |  | images.0 | ** matches a",
        " |  |  | ownConnections | BMC_HOST may be set",
        " |  |  | privileged | runs with every right on the worker's host",
      ]),
    );
    expect(rules(clustered.stdout)).toContain(
      "c | - | refused | runtime | to run privileged, as a rule of the policy says: pods of actions have no rights on their node",
    );
    expect(here.stdout).toContain("without an inventory no machine is known");
  });

  it("exits 2 with every problem of template, policy and flags", async () => {
    await write("bad.yaml", { tenants: [], imags: [] });
    const argv = [
      "--policy",
      join(folder, "bad.yaml"),
      "--namespace",
      "A/b",
      "--output",
      "jsno",
      "--runtiem",
    ];

    const { exitCode, stdout, stderr } = await testPolicy([...argv, "docker", "--map", "x"]);

    expect(stdout).toBe("");
    for (const problem of [
      "unknown flag --runtiem, did you mean --runtime?",
      "--namespace: must be the name of a namespace, such as team-a",
      "--output: must be one of table, json, yaml, did you mean json?",
      "bad.yaml:2: tenants is empty",
      "bad.yaml:3: imags is not known, did you mean images?",
      `--map: "x" is not key=value`,
    ]) {
      expect(stderr).toContain(problem);
    }
    expect(exitCode).toBe(2);
  });

  it.each([
    [["policy"], "the command is missing: test"],
    [["policy", "tset"], `the command "tset" is not known, did you mean test?`],
    [["policy", "test"], "name either the file of a template or Workflow, or --workflow"],
    [["policy", "test", "/nonexistent.yaml"], "/nonexistent.yaml: does not exist"],
    [["policy", "test", "--nonsense", "x"], "unknown flag --nonsense"],
    [
      ["policy", "test", "--workflow", "tink/w", "--kubeconfig", "/nonexistent/kube"],
      "--workflow: the kubeconfig /nonexistent/kube does not exist",
    ],
  ])("%j is a usage error", async (argv, expected) => {
    const { exitCode, stdout, stderr } = await run(argv);

    expect(stdout).toBe("");
    expect(stderr).toContain(expected);
    expect(exitCode).toBe(2);
  });
});

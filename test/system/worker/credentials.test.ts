import { mkdir, mkdtemp, readFile, rename, rm, symlink, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startIpmiBmc } from "../../../simulators/ipmi/bmc.ts";
import { SimulatedMachine } from "../../../simulators/machine.ts";
import { type RedfishBmc, startRedfishBmc } from "../../../simulators/redfish/bmc.ts";
import { startTinkServer } from "../../../simulators/tink/server.ts";
import { isOver, type Workflow } from "../../../simulators/tink/workflow.ts";
import { eventually } from "../../actions/lab.ts";
import { CommandInProcess } from "../../support/command-in-process.ts";

const RIGHT = "the-right-one";
const WRONG = "a-wrong-one";

let root: string;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "pbnj-credentials-"));
});
afterAll(() => rm(root, { recursive: true, force: true }));

type Entry = Readonly<Record<string, unknown>>;

interface Step {
  readonly name: string;
  readonly environment?: Readonly<Record<string, string>>;
  readonly volumes?: readonly string[];
}

function template(worker: string, machine: string, steps: readonly Step[]): string {
  const actions = steps.map(({ name, environment = {}, volumes = [] }) => ({
    name,
    image: `registry.example/pbnj-worker/${name}:v1`,
    timeout: 60,
    environment: { MACHINE: machine, ...environment },
    volumes,
  }));
  const task = { name: "bmc", worker, actions };
  return JSON.stringify({ version: "0.1", name: "t", global_timeout: 600, tasks: [task] });
}

/**
 * A tink server, one BMC behind Redfish, and a worker that has more agent IDs than machines. Its actions run inside it, unless
 * the arguments choose another runtime.
 */
async function standing(options: {
  readonly credentials: (directory: string) => Entry;
  readonly machines?: readonly (Entry & { readonly name: string })[];
  readonly argv?: readonly string[];
  readonly policy?: (directory: string) => Entry;
}) {
  const directory = await mkdtemp(join(root, "lab-"));
  const server = await startTinkServer({ holdMs: 2_000 });
  const machine = new SimulatedMachine({ name: "node-01", power: "on" });
  const bmc = await startRedfishBmc({ machines: [machine], tls: "http", password: RIGHT });
  const inventory = {
    defaults: { credentials: options.credentials(directory), providers: ["redfish"] },
    machines: (options.machines ?? [{ name: "node-01" }]).map((entry) => ({
      host: "127.0.0.1",
      redfish: { port: bmc.port, scheme: "http" },
      ...entry,
    })),
  };
  const inventoryFile = join(directory, "inventory.yaml");
  await writeFile(inventoryFile, JSON.stringify(inventory));
  const policyFile = join(directory, "policy.yaml");
  await writeFile(policyFile, JSON.stringify(options.policy?.(directory) ?? {}));
  const start = () =>
    new CommandInProcess([
      ...["start", "--grpc-server", server.address, "--inventory", inventoryFile, "--policy", policyFile],
      ...["--agent-id", "one,two,three,four,five", "--backoff-max-interval", "300ms", "--stop-grace", "2s"],
      ...[
        "--log-level",
        "debug",
        "--reload-interval",
        "50ms",
        ...(options.argv ?? ["--runtime", "in-process"]),
      ],
    ]);
  let program: CommandInProcess | undefined;
  return {
    server,
    bmc,
    machine,
    directory,
    inventoryFile,
    inventory,
    get program() {
      if (!program) throw new Error("not started");
      return program;
    },
    /** Once the files are in place. */
    start() {
      program = start();
      return program;
    },
    /** Each on an agent ID of its own, as the server gives one workflow at a time to each. */
    submit(
      workers: readonly string[],
      steps: readonly Step[] = [{ name: "power-status" }],
      name = "node-01",
    ) {
      return workers.map((worker) => server.submit({ template: template(worker, name, steps) }));
    },
    untilOver: (workflows: readonly Workflow[]) => server.until(() => workflows.every(isOver)),
    async [Symbol.asyncDispose]() {
      await program?.[Symbol.asyncDispose]();
      await server.close();
      await bmc.close();
    },
  };
}

const inFile = (directory: string): Entry => ({
  username: "admin",
  passwordFile: join(directory, "password"),
});

/** What each workflow's last action that ended said. */
function messages(workflows: readonly Workflow[]): readonly string[] {
  return workflows.map(
    ({ tasks }) => tasks[0]?.actions.findLast(({ message }) => message !== "")?.message ?? "",
  );
}

/** Requests that carried credentials; the service root is asked without. */
function offered({ requests }: RedfishBmc): number {
  return requests.filter(({ headers }) => headers.authorization !== undefined).length;
}

describe.each(["process", "in-process"])("a refused password with the %s runtime", (runtime) => {
  test("is offered to the BMC once, whatever the workflows, and a corrected one without a restart", async () => {
    await using lab = await standing({ credentials: inFile, argv: ["--runtime", runtime] });
    await writeFile(join(lab.directory, "password"), WRONG);
    lab.start();

    const refused = lab.submit(["one", "two", "pbnj-node-01"], [{ name: "power-off" }]);
    await lab.untilOver(refused);
    const refusals = lab.bmc.refusedCredentials;
    await writeFile(join(lab.directory, "password"), RIGHT);
    const accepted = lab.submit(["three"]);
    await lab.untilOver(accepted);

    expect(refusals).toBe(1);
    expect(refused.map(({ state }) => state)).toEqual(["FAILED", "FAILED", "FAILED"]);
    const said = messages(refused).toSorted();
    const gated =
      /^power-off failed \(auth\): machine node-01: the BMC refused its credentials via redfish at 20\d\d-\S+Z; because accounts lock, they are not offered again before 20\d\d-\S+Z\. To retry at once, correct them where the inventory has them, change the machine's entry or touch the inventory file$/;
    expect(said).toEqual([
      expect.stringMatching(/^power-off failed \(auth\): machine node-01/),
      expect.stringMatching(gated),
      expect.stringMatching(/^power-off node-01 failed \(auth, exit 10\): redfish: .*401/),
    ]);
    expect(accepted.map(({ state }) => state)).toEqual(["SUCCESS"]);
    expect(lab.bmc.refusedCredentials).toBe(1);
    expect(lab.machine.commands).toEqual([]);
  });
});

test("a refused password is offered once more when the inventory file is touched", async () => {
  await using lab = await standing({ credentials: inFile });
  await writeFile(join(lab.directory, "password"), WRONG);
  lab.start();
  await lab.untilOver(lab.submit(["one", "two"]));
  const refusals = [lab.bmc.refusedCredentials];

  await utimes(lab.inventoryFile, new Date(), new Date());
  await lab.program.untilLogged("inventory file touched, retrying refused credentials");
  await lab.untilOver(lab.submit(["three", "four"]));

  refusals.push(lab.bmc.refusedCredentials);
  expect(refusals).toEqual([1, 2]);
});

describe("the gate of a real worker", () => {
  test("is closed for another name of the same BMC, and its own user is still accepted", async () => {
    await using lab = await standing({
      credentials: inFile,
      machines: [
        { name: "node-01" },
        { name: "alias" },
        { name: "boss", credentials: { username: "admin", passwordFile: "boss" } },
      ],
    });
    await writeFile(join(lab.directory, "password"), WRONG);
    lab.start();

    const first = lab.submit(["one"]);
    await lab.untilOver(first);
    await writeFile(join(lab.directory, "boss"), RIGHT);
    const second = lab.submit(["two"], [{ name: "power-status" }], "alias");
    const boss = lab.submit(["three"], [{ name: "power-status" }], "boss");
    await lab.untilOver([...second, ...boss]);
    const third = lab.submit(["four"]);
    await lab.untilOver(third);

    expect(messages(second)).toEqual([
      expect.stringMatching(/^power-status failed \(auth\): machine alias: the BMC/),
    ]);
    expect(boss[0]?.state).toBe("SUCCESS");
    // That another user is accepted proves nothing about this one.
    expect(messages(third)).toEqual([expect.stringMatching(/\(auth\): machine node-01: the BMC refused/)]);
    expect(lab.bmc.refusedCredentials).toBe(1);
  });

  test("counts IPMI's refusals as well: the BMC is not asked a second time", async () => {
    const machine = new SimulatedMachine({ name: "node-01" });
    const ipmi = await startIpmiBmc({
      machine,
      users: [{ name: "admin", password: RIGHT, privilege: "operator" }],
    });
    await using lab = await standing({
      credentials: inFile,
      machines: [{ name: "node-01", providers: ["ipmi"], ipmi: { port: ipmi.port } }],
    });
    await writeFile(join(lab.directory, "password"), WRONG);
    lab.start();

    const first = lab.submit(["one"]);
    await lab.untilOver(first);
    const received = ipmi.received;
    const second = lab.submit(["two"]);
    await lab.untilOver(second);
    const receivedAfter = ipmi.received;
    await writeFile(join(lab.directory, "password"), RIGHT);
    const third = lab.submit(["three"]);
    await lab.untilOver(third);

    expect(received).toBeGreaterThan(0);
    expect(messages([...first, ...second])).toEqual([
      expect.stringMatching(/\(auth, exit 10\): ipmi: wrong password/),
      expect.stringMatching(/\(auth\): machine node-01: the BMC refused its credentials via ipmi at/),
    ]);
    expect(receivedAfter).toBe(received);
    expect(third[0]?.state).toBe("SUCCESS");
    await ipmi.close();
    machine.close();
  });

  test("stays open for what the user may not do", async () => {
    await using lab = await standing({ credentials: inFile });
    await writeFile(join(lab.directory, "password"), RIGHT);
    lab.bmc.fail({ kind: "refuse", status: 403, times: 100 });
    lab.start();

    const forbidden = lab.submit(["one"]);
    await lab.untilOver(forbidden);
    lab.bmc.heal();
    const allowed = lab.submit(["two"]);
    await lab.untilOver(allowed);

    expect(messages(forbidden)).toEqual([expect.stringMatching(/\(auth, exit 10\): .*403/)]);
    expect(allowed[0]?.state).toBe("SUCCESS");
  });

  test("opens when the machine's entry is changed in the inventory", async () => {
    await using lab = await standing({ credentials: inFile });
    await writeFile(join(lab.directory, "password"), RIGHT);
    lab.bmc.fail({ kind: "refuse", status: 401, times: 1, path: /Systems/ });
    const program = lab.start();

    const refused = lab.submit(["one"]);
    await lab.untilOver(refused);
    const gated = lab.submit(["two"]);
    await lab.untilOver(gated);
    const machines = lab.inventory.machines.map((entry) => ({ ...entry, requestTimeout: "20s" }));
    await writeFile(lab.inventoryFile, JSON.stringify({ ...lab.inventory, machines }));
    await program.untilLogged("inventory reloaded");
    const tried = lab.submit(["three"]);
    await lab.untilOver(tried);

    expect([refused, gated, tried].map(([workflow]) => workflow?.state)).toEqual([
      "FAILED",
      "FAILED",
      "SUCCESS",
    ]);
    expect(messages(gated)).toEqual([expect.stringMatching(/not offered again/)]);
  });

  test("allows an action that changes its own user's password, and the next one with it", async () => {
    await using lab = await standing({
      credentials: inFile,
      // The action writes the file.
      argv: ["--runtime", "process"],
      policy: (directory) => ({ volumes: [{ path: directory, access: "rw" }] }),
    });
    await writeFile(join(lab.directory, "password"), `${RIGHT}\n`);
    lab.start();
    const file = join(lab.directory, "password");
    const environment = { USER_NAME: "admin", PASSWORD_GENERATE: "true", PASSWORD_GENERATE_FILE: file };

    // All are there at once: those that wait for their turn must not have read the old password.
    const rotated = lab.submit(
      ["one"],
      [
        { name: "update-user", environment, volumes: [`${lab.directory}:${lab.directory}`] },
        { name: "power-status" },
      ],
    );
    const beside = lab.submit(["two", "three"]);
    await lab.untilOver([...rotated, ...beside]);

    expect(messages([...rotated, ...beside])).toEqual(Array.from({ length: 3 }, () => "on via redfish"));
    expect((await readFile(file, "utf8")).trim()).not.toBe(RIGHT);
    expect(lab.bmc.refusedCredentials).toBe(0);
  });
});

describe("credentials are read at every launch", () => {
  test("from a mounted Secret that is swapped", async () => {
    await using lab = await standing({
      credentials: (directory) => ({ directory: join(directory, "{machine}") }),
    });
    const directory = join(lab.directory, "node-01");
    const swap = async (generation: string, password: string) => {
      await mkdir(join(directory, generation), { recursive: true });
      await writeFile(join(directory, generation, "username"), "admin");
      await writeFile(join(directory, generation, "password"), password);
      await symlink(generation, join(directory, "..new"));
      await rename(join(directory, "..new"), join(directory, "..data"));
    };
    await swap("..1", WRONG);
    lab.start();

    const before = lab.submit(["one"]);
    await lab.untilOver(before);
    await swap("..2", RIGHT);
    const after = lab.submit(["two"]);
    await lab.untilOver(after);

    expect([before[0]?.state, after[0]?.state]).toEqual(["FAILED", "SUCCESS"]);
    expect(offered(lab.bmc)).toBeGreaterThan(1);
  });

  test("from a command, whose failure is reported in one line and ends with its cause", async () => {
    const vault = (directory: string) => `
      const { readFileSync } = require("node:fs");
      try {
        const password = readFileSync(${JSON.stringify(join(directory, "vault"))}, "utf8");
        console.log(JSON.stringify({ username: "admin", password }));
      } catch {
        console.error("sealed");
        process.exitCode = 2;
      }
    `;
    await using lab = await standing({
      credentials: (directory) => ({ command: [process.execPath, "-e", vault(directory)], timeout: "20s" }),
    });
    lab.start();

    const sealed = lab.submit(["one"]);
    await lab.untilOver(sealed);
    await writeFile(join(lab.directory, "vault"), RIGHT);
    const open = lab.submit(["two"]);
    await lab.untilOver(open);

    expect(messages(sealed)).toEqual([
      `power-status failed (usage): machine node-01: credentials.command ${process.execPath} failed with exit code 2: sealed`,
    ]);
    expect(open[0]?.state).toBe("SUCCESS");
  });

  test("from a command that hangs, which a stopping worker ends", async () => {
    const hanging = (directory: string) =>
      `require("node:fs").writeFileSync(${JSON.stringify(join(directory, "pid"))}, String(process.pid)); setInterval(() => {}, 1000)`;
    await using lab = await standing({
      credentials: (directory) => ({ command: [process.execPath, "-e", hanging(directory)], timeout: "5m" }),
    });
    const program = lab.start();
    const workflows = lab.submit(["one"]);
    let pid = 0;
    const look = () => {
      void readFile(join(lab.directory, "pid"), "utf8").then(
        (text) => {
          pid = Number(text);
        },
        () => undefined,
      );
      return pid > 0;
    };
    await eventually(look);

    program.kill("SIGTERM");
    await program.untilLogged("stopping: draining running actions");
    program.kill("SIGTERM");
    const { code } = await program.ended;

    expect(code).toBe(143);
    expect(messages(workflows)).toEqual([expect.stringMatching(/\(cancelled\): cancelled by the worker/)]);
    expect(() => process.kill(pid, 0)).toThrow("ESRCH");
  });

  test("within the action's own time", async () => {
    await using lab = await standing({
      credentials: () => ({
        command: [process.execPath, "-e", "setInterval(() => {}, 1000)"],
        timeout: "5m",
      }),
    });
    lab.start();
    const [task] = JSON.parse(template("one", "node-01", [{ name: "power-status" }])).tasks;
    const tasks = [{ ...task, actions: [{ ...task.actions[0], timeout: 1 }] }];
    const workflow = lab.server.submit({
      template: JSON.stringify({ version: "0.1", name: "t", global_timeout: 600, tasks }),
    });
    await lab.untilOver([workflow]);

    expect(messages([workflow])).toEqual([
      "power-status failed (timeout): its credentials were not read within its 1.0 s",
    ]);
  });
});

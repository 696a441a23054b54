import { mkdir, readdir, readFile, realpath, rename, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { execa } from "execa";
import { beforeAll, describe, expect, test, vi } from "vitest";
import { actionKey } from "../../../worker/action/action-key.ts";
import { isOver, type Workflow } from "../../simulators/tink/workflow.ts";
import { buildTestBase, describeWithDocker, removeContainers, testBaseImage } from "../../support/docker.ts";
import { WorkerProgram } from "../../support/worker-program.ts";
import { type CrashLab, crashLab, eventuallyEmpty, type Step } from "./crash-lab.ts";

const RUN_MS = 90_000;
const projectRoot = join(import.meta.dirname, "../../..");
const refusal = (state: string) =>
  `pbnj-worker start: another worker uses the state directory ${state}: stop it, or give this one a directory of its own\n`;

/** Whether this user may make namespaces and mount in them, as root outside a container may. */
const mayMount = await execa("unshare", ["--mount", "mount", "-t", "tmpfs", "tmpfs", "/mnt"], {
  reject: false,
}).then(({ exitCode }) => exitCode === 0);
const testWithMounts = test.skipIf(!mayMount);
if (!mayMount)
  process.stderr.write(
    "skipped, no right to mount: tests of worker/recovery with file systems of their own\n",
  );

async function commanded({ machine }: CrashLab): Promise<void> {
  await new Promise<void>((resolve) => machine.once("command", () => resolve()));
}

const hardOff: Step = { name: "power-off", environment: { MODE: "hard" } };

function messagesOf(workflow: Workflow): readonly (string | undefined)[] {
  return workflow.tasks.flatMap(({ actions }) => actions.map(({ message }) => message));
}

describe("a second worker on one state directory", () => {
  test("refuses in one line with exit code 75 while the first runs on, and may start when that was killed", {
    timeout: RUN_MS,
  }, async () => {
    await using lab = await crashLab();
    const first = lab.start();
    await first.untilLogged("worker started");

    const second = lab.start();
    const refused = await second.ended;
    const workflow = lab.submit([{ name: "power-status" }]);
    await lab.server.until(() => isOver(workflow));
    first.kill("SIGKILL");
    await first.ended;
    const third = lab.start();
    await third.untilLogged("worker started");

    expect(refused.code).toBe(75);
    expect(second.stderr).toBe(refusal(lab.state));
    expect(workflow.state).toBe("SUCCESS");
  });

  testWithMounts("refuses from other namespaces of the same machine, too", { timeout: RUN_MS }, async () => {
    await using lab = await crashLab();
    const first = lab.start();
    await first.untilLogged("worker started");

    const second = lab.start({}, ["unshare", "--mount", "--pid", "--ipc", "--uts", "--fork"]);
    const { code } = await second.ended;

    expect(code).toBe(75);
    expect(second.stderr).toBe(refusal(lab.state));
  });
});

describeWithDocker("a second worker on one state directory", () => {
  beforeAll(buildTestBase, 300_000);

  test("refuses in a container that shares it, and one in a container keeps it from the host's", {
    timeout: RUN_MS,
  }, async () => {
    await using lab = await crashLab();
    const first = lab.start();
    await first.untilLogged("worker started");
    const modules = await realpath(join(projectRoot, "node_modules"));
    const container = (...how: readonly string[]) =>
      execa(
        "docker",
        [
          ...["run", ...how, "--network", "host", "--user", "0:0", "--volume", `${lab.folder}:${lab.folder}`],
          ...["--volume", `${projectRoot}:${projectRoot}:ro`, "--volume", `${modules}:${modules}:ro`],
          ...["--entrypoint", "node", testBaseImage, join(projectRoot, "cli/main.ts"), ...lab.argv()],
        ],
        { reject: false, timeout: 30_000 },
      );

    const second = await container("--rm");
    first.kill("SIGKILL");
    await first.ended;
    const { stdout: id } = await container("--detach");
    await vi.waitFor(
      async () => expect((await execa("docker", ["logs", id])).stderr).toContain("worker started"),
      {
        timeout: 30_000,
      },
    );
    const third = lab.start();
    const { code } = await third.ended;
    await removeContainers(id);

    expect(second.exitCode).toBe(75);
    expect(`${second.stderr}\n`).toBe(refusal(lab.state));
    expect(code).toBe(75);
    expect(third.stderr).toBe(refusal(lab.state));
  });
});

describe("workers side by side with state directories of their own", () => {
  test("do not sweep each other, nor does a run", { timeout: RUN_MS }, async () => {
    await using lab = await crashLab({ machine: { softOffMs: "never" } });
    const first = lab.start();
    const obeyed = commanded(lab);
    const workflow = lab.submit([{ name: "power-off", environment: { MODE: "soft" } }]);
    await obeyed;
    const template = join(lab.folder, "template.yaml");
    await writeFile(template, runTemplateOf([]));

    await using second = new WorkerProgram([
      ...lab.argv(join(lab.folder, "other-state")),
      ...["--agent-id-pattern", "other-{machine}"],
    ]);
    await second.untilLogged("worker started");
    await using run = new WorkerProgram(["run", template, "--inventory", join(lab.folder, "inventory.yaml")]);
    const { code } = await run.ended;
    second.kill("SIGTERM");
    await second.ended;
    const running = await lab.processes();

    expect(code).toBe(0);
    expect(running).toHaveLength(1);
    expect(workflow.state).toBe("RUNNING");
    expect(first.child.exitCode).toBeNull();
    expect(second.stderr).not.toContain("orphans of earlier workers removed");
  });
});

describe("a run that is killed", () => {
  test("leaves an action that ends by itself, bears its deadline and is found by no worker before that", {
    timeout: RUN_MS,
  }, async () => {
    await using lab = await crashLab({ machine: { powerOffMs: 2_000 } });
    const template = join(lab.folder, "template.yaml");
    await writeFile(template, runTemplateOf([hardOff]));
    const obeyed = commanded(lab);
    await using run = new WorkerProgram(["run", template, "--inventory", join(lab.folder, "inventory.yaml")]);
    await obeyed;

    run.kill("SIGKILL");
    await run.ended;
    const worker = lab.start();
    await worker.untilLogged("worker started");
    await lab.expectNothingLeft(worker);

    await expect.poll(() => lab.machine.power, { timeout: 10_000 }).toBe("off");
    expect(lab.machine.commands.map(({ action }) => action)).toEqual(["off"]);
    expect(worker.stderr).not.toContain("orphans of earlier workers removed");
  });
});

describe("a journal with what no worker can read", () => {
  test("is gone on with: one warning each, and the actions that are on record are reported", {
    timeout: RUN_MS,
  }, async () => {
    await using lab = await crashLab();
    const first = lab.startToDie("after ended");
    const workflow = lab.submit([hardOff]);
    await first.ended;
    const directory = join(lab.state, "journal");
    await writeFile(join(directory, "notes.txt"), "buy milk");
    await writeFile(join(directory, `${"0".repeat(32)}.json`), "{");

    const second = lab.start();
    await lab.server.until(() => isOver(workflow));

    const warned = second.log.filter(({ level, file }) => Number(level) === 40 && file !== undefined);
    expect(warned.map(({ file, msg }) => [file, msg])).toEqual([
      [join(directory, "notes.txt"), "foreign file moved out of the journal"],
      [join(directory, `${"0".repeat(32)}.json`), "journal entry damaged: outcome of its action unknown"],
    ]);
    expect(workflow.state).toBe("SUCCESS");
    expect(lab.machine.commands.map(({ action }) => action)).toEqual(["off"]);
    // What nobody knows stays for the server to serve.
    await rm(join(directory, `${"0".repeat(32)}.json`));
    await lab.expectNothingLeft(second);
    expect(await readdir(join(directory, "set-aside"))).toHaveLength(1);
  });
});

describe("an action whose journal entry is damaged while no worker runs", () => {
  /** A reset that the machine has obeyed, its worker killed, and the text of its entry changed. */
  async function damagedReset(lab: CrashLab, damage: (text: string) => string, keepsResult: boolean) {
    const first = lab.start();
    const obeyed = commanded(lab);
    const workflow = lab.submit([{ name: "power-reset" }]);
    await obeyed;
    first.kill("SIGKILL");
    await first.ended;
    await eventuallyEmpty(lab.processes);
    if (!keepsResult) for (const name of await lab.results()) await rm(join(lab.state, "results", name));
    const directory = join(lab.state, "journal");
    const [name = ""] = (await readdir(directory)).filter((each) => each.endsWith(".json"));
    const path = join(directory, name);
    await writeFile(path, damage(await readFile(path, "utf8")));
    return workflow;
  }

  test.each([
    ["empty", () => ""],
    ["cut off", (text: string) => text.slice(0, 100)],
    ["of a newer version", (text: string) => text.replace('"version": 2', '"version": 3')],
  ])(
    "%s: it sends no second command, and fails where it left no result",
    { timeout: RUN_MS },
    async (_, damage) => {
      await using lab = await crashLab();
      const workflow = await damagedReset(lab, damage, false);

      const second = lab.start();
      await lab.server.until(() => isOver(workflow));

      expect(lab.machine.count("reset")).toBe(1);
      expect(workflow.state).toBe("FAILED");
      expect(messagesOf(workflow)).toEqual([
        expect.stringMatching(
          /^power-reset failed \(internal\): the action's journal entry .*; the worker was restarted, and the action's process is gone without a result; it may have been carried out and is not idempotent, so it is not run again$/,
        ),
      ]);
      await lab.expectNothingLeft(second);
    },
  );

  test("sends no second command, and reports the result that it left", { timeout: RUN_MS }, async () => {
    await using lab = await crashLab();
    const workflow = await damagedReset(lab, () => "", true);

    const second = lab.start();
    await lab.server.until(() => isOver(workflow));

    expect(lab.machine.count("reset")).toBe(1);
    expect(workflow.state).toBe("SUCCESS");
    expect(messagesOf(workflow)).toEqual([expect.stringContaining("reset")]);
    await lab.expectNothingLeft(second);
  });
});

describe("a worker whose state directory another one has got", () => {
  test("exits at once, and what it launched goes on", { timeout: RUN_MS }, async () => {
    await using lab = await crashLab({ machine: { softOffMs: "never" } });
    const worker = lab.start();
    const obeyed = commanded(lab);
    lab.submit([{ name: "power-off", environment: { MODE: "soft" } }]);
    await obeyed;
    const lock = join(lab.state, "lock");

    await rm(lock);
    using database = new DatabaseSync(lock);
    database.exec("BEGIN EXCLUSIVE");
    const { code } = await worker.ended;

    expect(code).toBe(75);
    expect(worker.log.at(-1)).toMatchObject({ level: 50, msg: "state directory lost, exiting" });
    expect(await lab.processes()).toHaveLength(1);
    for (const pid of await lab.processes()) process.kill(-pid, "SIGKILL");
  });
});

describe("a state directory that cannot be written to", () => {
  test("keeps an action from being launched until it can, and nothing else", {
    timeout: RUN_MS,
  }, async () => {
    await using lab = await crashLab();
    const worker = lab.start();
    await worker.untilLogged("worker started");
    const journal = join(lab.state, "journal");
    await rename(journal, `${journal}.away`);
    await writeFile(journal, "in the way");

    const workflow = lab.submit([{ name: "power-cycle" }]);
    await worker.untilLogged("action not started: journal write failed");
    const before = { commands: [...lab.machine.commands], reports: [...lab.server.reports] };
    await rm(journal);
    await rename(`${journal}.away`, journal);
    await lab.server.until(() => isOver(workflow));

    expect(before).toEqual({ commands: [], reports: [] });
    expect(workflow.state).toBe("SUCCESS");
    expect(lab.machine.commands.map(({ action }) => action)).toEqual(["cycle"]);
    await lab.expectNothingLeft(worker);
  });

  testWithMounts(
    "because it is full: what runs is reported, nothing new runs until there is room",
    {
      timeout: RUN_MS,
    },
    async () => {
      await using lab = await crashLab({ machine: { powerOffMs: 1_000 } });
      await mkdir(lab.state);
      const mount = 'mount -t tmpfs -o size=512k tmpfs "$0" && exec "$@"';
      const worker = lab.start({}, ["unshare", "--mount", "sh", "-c", mount, lab.state]);
      await worker.untilLogged("worker started");
      // Its file system is seen by nobody else.
      const seen = `/proc/${worker.child.pid}/root${lab.state}`;
      const filler = join(seen, "filler");
      lab.machine.once("command", () => void fill(filler));

      const first = lab.submit([hardOff]);
      await lab.server.until(() => isOver(first));
      await worker.untilLogged("journal write failed: action step not recorded", { phase: "ended" });
      await expect.poll(async () => (await readdir(join(seen, "journal"))).length).toBe(1);
      const left = [await readdir(join(seen, "journal")), await readdir(join(seen, "results"))];
      lab.server.board.delete(first);
      const second = lab.submit([{ name: "power-on" }]);
      await worker.untilLogged("action not started: journal write failed");
      const before = lab.machine.commands.map(({ action }) => action);
      await rm(filler);
      await lab.server.until(() => isOver(second));

      expect([first.state, second.state]).toEqual(["SUCCESS", "SUCCESS"]);
      expect(left).toEqual([["set-aside"], []]);
      expect(before).toEqual(["off"]);
      expect(lab.machine.commands.map(({ action }) => action)).toEqual(["off", "on"]);
      worker.kill("SIGTERM");
      expect((await worker.ended).code).toBe(0);
    },
  );
});

describe("a server that was gone while an action ended", () => {
  interface Case {
    readonly title: string;
    /** What becomes of the workflow meanwhile. */
    readonly happens: (lab: CrashLab, workflow: Workflow) => void;
    readonly state: string;
    /** What the log says of the report: one of these. */
    readonly logged: readonly string[];
  }

  const cases: readonly Case[] = [
    {
      title: "and comes back with its workflow timed out",
      happens: ({ server }, workflow) => server.board.set(workflow, { state: "TIMEOUT" }),
      state: "TIMEOUT",
      logged: ["report acknowledged"],
    },
    {
      title: "and comes back with its workflow deleted",
      happens: ({ server }, workflow) => server.board.delete(workflow),
      state: "RUNNING",
      logged: ["workflow not found, report dropped"],
    },
    {
      title: "and comes back with another workflow in its place",
      happens: (lab, workflow) => {
        lab.server.board.delete(workflow);
        lab.submit([{ name: "power-status" }, { name: "get-boot-device" }], "replaced");
      },
      state: "RUNNING",
      // The report and the lane's next poll are answered in any order.
      logged: ["report rejected", "report superseded by another action of the workflow"],
    },
  ];

  describe.each([
    ["the worker lives on", false],
    ["the worker is killed and comes back before the server", true],
  ] as const)("while %s", (_, killed) => {
    test.each(cases)("$title: the report ends, the lane goes on", { timeout: RUN_MS }, async (given) => {
      await using lab = await crashLab({ machine: { powerOffMs: 500 } });
      let worker = lab.start();
      const obeyed = commanded(lab);
      const workflow = lab.submit([hardOff, { name: "power-on" }], "replaced");
      await obeyed;
      await lab.server.stop();
      if (killed) {
        worker.kill("SIGKILL");
        await worker.ended;
        worker = lab.start();
      }
      await worker.untilLogged("tink server unavailable, retrying");

      given.happens(lab, workflow);
      await lab.server.start();
      const about = { action: "power-off", state: "success" };
      await Promise.any(given.logged.map((message) => worker.untilLogged(message, about)));
      // A person deletes what is over: the server looks at an agent's first workflow only.
      if (given.state === "TIMEOUT") lab.server.board.delete(workflow);
      const next = lab.submit([{ name: "power-status" }], "next");
      await lab.server.until(() => lab.server.workflows().every(isOver));

      expect(workflow.state).toBe(given.state);
      expect(next.state).toBe("SUCCESS");
      expect(lab.server.workflows().every(({ state }) => state === "SUCCESS")).toBe(true);
      expect(lab.machine.commands.map(({ action }) => action)).toEqual(["off"]);
      await lab.expectNothingLeft(worker);
    });
  });
});

describe("a server that serves an acknowledged action again out of a stale cache", () => {
  test.each([
    ["the same worker", false],
    ["a worker that was killed and came back", true],
  ] as const)("gets it run no second time by %s", { timeout: RUN_MS }, async (_, killed) => {
    await using lab = await crashLab();
    let worker = killed ? lab.startToDie("after acknowledged") : lab.start();
    const workflow = lab.submit([{ name: "power-cycle" }]);
    await worker.untilLogged("action started");
    lab.server.faults.serveStale(2);
    await lab.server.until(() => isOver(workflow));
    const reported = lab.server.reports.length;
    if (killed) {
      await worker.ended;
      worker = lab.start();
    }
    lab.submit([{ name: "power-status" }], "next");
    await lab.server.until(() => lab.server.workflows().every(isOver));

    const again = lab.server.reports.slice(reported).filter(({ actionName }) => actionName === "power-cycle");
    expect(worker.log.filter(({ msg }) => msg === "duplicate action skipped: already ended")).toHaveLength(2);
    expect(new Set(again.map(({ state }) => state))).toEqual(new Set(["SUCCESS"]));
    expect(workflow.state).toBe("SUCCESS");
    expect(lab.machine.commands.map(({ action }) => action)).toEqual(["cycle"]);
    await lab.expectNothingLeft(worker);
  });
});

describe("a worker that comes back with another runtime", () => {
  test("fails what the other one ran, saying so, and does not run it again", {
    timeout: RUN_MS,
  }, async () => {
    await using lab = await crashLab({ machine: { powerOffMs: 300 } });
    const first = lab.start();
    const obeyed = commanded(lab);
    const workflow = lab.submit([{ name: "power-cycle" }]);
    await obeyed;
    first.kill("SIGKILL");
    await first.ended;

    await using second = new WorkerProgram([...lab.argv(), "--runtime", "in-process"]);
    await lab.server.until(() => isOver(workflow));

    expect(messagesOf(workflow)).toEqual([
      "power-cycle failed (internal): the worker was restarted with the runtime in-process, it ran with process; " +
        "it may have been carried out and is not idempotent, so it is not run again",
    ]);
    expect(lab.machine.count("cycle")).toBe(1);
    second.kill("SIGTERM");
    expect((await second.ended).code).toBe(0);
  });
});

test("the journal's entries are readable JSON, small, and the owner's alone", {
  timeout: RUN_MS,
}, async () => {
  await using lab = await crashLab();
  const worker = lab.startToDie("after ended");
  const workflow = lab.submit([hardOff]);
  await worker.ended;
  const [action] = workflow.tasks[0]?.actions ?? [];
  const key = actionKey({ workflowId: workflow.id, actionId: action?.id ?? "" });
  const path = join(lab.state, "journal", `${key}.json`);

  const entry = JSON.parse(await readFile(path, "utf8"));

  expect(entry).toMatchObject({
    version: 2,
    checksum: expect.stringMatching(/^[0-9a-f]{16}$/),
    phase: "ended",
    action: { workflowId: workflow.id, actionId: action?.id, name: "power-off" },
    machine: "node-01",
    end: { state: "success", message: expect.stringMatching(/^off after /) },
  });
  expect((await stat(path)).size).toBeLessThan(2_000);
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  expect(JSON.stringify(entry)).not.toContain("calvin");
});

function runTemplateOf(steps: readonly Step[]): string {
  const wanted = steps.length > 0 ? steps : [{ name: "power-status" }];
  const actions = wanted.map(({ name, environment }) => ({
    name,
    image: `registry.example/pbnj-worker/${name}:test`,
    timeout: 60,
    environment: { MACHINE: "node-01", ...environment },
  }));
  const tasks = [{ name: "bmc", worker: "pbnj", actions }];
  return JSON.stringify({ version: "0.1", name: "t", global_timeout: 600, tasks });
}

/** Writes until there is no room left. */
async function fill(path: string): Promise<void> {
  for (const size of [16 * 1024, 256]) {
    for (;;) {
      try {
        await writeFile(path, Buffer.alloc(size), { flag: "a" });
      } catch {
        break;
      }
    }
  }
}

import { mkdir, readdir, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { execa } from "execa";
import { beforeAll, describe, expect, test, vi } from "vitest";
import { isOver } from "../../../simulators/tink/workflow.ts";
import { processesWith } from "../../../worker/runtimes/process/process-table.ts";
import { buildTestBase, describeWithDocker, removeContainers, testBaseImage } from "../../support/docker.ts";
import { type Step, templateOf } from "../../support/lab.ts";
import { timesAsFast, WorkerProgram } from "../../support/worker-program.ts";
import { type CrashLab, crashLab, eventuallyEmpty } from "./crash-lab.ts";

const RUN_MS = 90_000;
const projectRoot = join(import.meta.dirname, "../../..");
const refusal = (state: string) =>
  `pbnj-worker start: another worker uses the state directory ${state}: stop it, or give this one a directory of its own\n`;

/** Whether this user may make namespaces and mount in them, as root outside a container may. */
const mayMount = await execa("unshare", ["--mount", "mount", "-t", "tmpfs", "tmpfs", "/mnt"], {
  reject: false,
}).then(({ exitCode }) => exitCode === 0);
const testWithMounts = test.skipIf(!mayMount);
if (!mayMount) process.stderr.write("skipped, no right to mount: the test of a full disk\n");

async function commanded({ machine }: CrashLab): Promise<void> {
  await new Promise<void>((resolve) => machine.once("command", () => resolve()));
}

const hardOff: Step = { name: "power-off", environment: { MODE: "hard" } };

test("a second worker on one state directory exits with 75 while the first continues", {
  timeout: RUN_MS,
}, async () => {
  await using lab = await crashLab();
  const first = lab.startProcess();
  await first.untilLogged("worker started");

  const others = [lab.startProcess()];
  // From other namespaces of the same machine, too.
  if (mayMount)
    others.push(lab.startProcess({}, ["unshare", "--mount", "--pid", "--ipc", "--uts", "--fork"]));
  const refused = await Promise.all(others.map(({ ended }) => ended));
  const workflow = lab.submit([{ name: "power-status" }]);
  await lab.server.until(() => isOver(workflow));
  first.kill("SIGKILL");
  await first.ended;
  await lab.startProcess().untilLogged("worker started");

  expect(refused.map(({ code }) => code)).toEqual(others.map(() => 75));
  expect(others.map(({ stderr }) => stderr)).toEqual(others.map(() => refusal(lab.state)));
  expect(workflow.state).toBe("SUCCESS");
});

describeWithDocker("a second worker on one state directory", () => {
  beforeAll(buildTestBase, 300_000);

  test("is locked between host and container, in both directions", {
    timeout: RUN_MS,
  }, async () => {
    await using lab = await crashLab();
    const first = lab.startProcess();
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
    const third = lab.startProcess();
    const { code } = await third.ended;
    await removeContainers(id);

    expect(second.exitCode).toBe(75);
    expect(`${second.stderr}\n`).toBe(refusal(lab.state));
    expect(code).toBe(75);
    expect(third.stderr).toBe(refusal(lab.state));
  });
});

describe("a run that is killed", () => {
  test("leaves an action that ends by itself, and that no worker stops before its deadline", {
    timeout: RUN_MS,
  }, async () => {
    await using lab = await crashLab({ machine: { powerOffMs: 2_000 } });
    // The timeout tells its process from those of other tests.
    const environment = { MACHINE: "node-01", TIMEOUT: "83s", ...hardOff.environment };
    const template = await lab.write("template.yaml", templateOf("pbnj", { ...hardOff, environment }));
    const obeyed = commanded(lab);
    await using run = new WorkerProgram(["run", template, "--inventory", lab.inventoryFile]);
    await obeyed;

    run.kill("SIGKILL");
    await run.ended;
    const worker = lab.start();
    await worker.untilLogged("worker started");
    await lab.expectNothingLeft(worker);

    await expect.poll(() => lab.machine.power, { timeout: 10_000 }).toBe("off");
    expect(lab.machine.commands.map(({ action }) => action)).toEqual(["off"]);
    expect(worker.stderr).not.toContain("orphans of earlier workers removed");
    await eventuallyEmpty(async () =>
      (await processesWith("TIMEOUT")).filter(({ environment }) => environment["TIMEOUT"] === "83s"),
    );
  });
});

describe("a state directory", () => {
  testWithMounts(
    "that is full: what runs is recorded and reported, nothing new runs until there is room",
    {
      timeout: RUN_MS,
    },
    async () => {
      await using lab = await crashLab({ machine: { powerOffMs: 1_000 } });
      await mkdir(lab.state);
      const mount = 'mount -t tmpfs -o size=512k tmpfs "$0" && exec "$@"';
      const worker = lab.startProcess(timesAsFast(10), ["unshare", "--mount", "sh", "-c", mount, lab.state]);
      await worker.untilLogged("worker started");
      // No other process sees its file system.
      const seen = `/proc/${worker.child.pid}/root${lab.state}`;
      const filler = join(seen, "filler");
      lab.machine.once("command", () => void fill(filler));

      const first = lab.submit([hardOff]);
      await lab.server.until(() => isOver(first));
      const journal = join(seen, "journal");
      const [entry = ""] = (await readdir(journal)).filter((name) => name.endsWith(".json"));
      await expect.poll(() => readFile(join(journal, entry), "utf8")).toContain('"phase":"acknowledged"');
      await expect.poll(() => readdir(join(seen, "results"))).toEqual([]);
      lab.server.board.delete(first);
      const second = lab.submit([{ name: "power-on" }]);
      await worker.untilLogged("action not started: journal write failed");
      const before = lab.machine.commands.map(({ action }) => action);
      await rm(filler);
      await lab.server.until(() => isOver(second));

      expect([first.state, second.state]).toEqual(["SUCCESS", "SUCCESS"]);
      expect(before).toEqual(["off"]);
      expect(lab.machine.commands.map(({ action }) => action)).toEqual(["off", "on"]);
      worker.kill("SIGTERM");
      expect((await worker.ended).code).toBe(0);
    },
  );
});

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

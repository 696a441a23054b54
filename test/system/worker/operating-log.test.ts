import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { execa } from "execa";
import { describe, expect, test } from "vitest";
import { isOver } from "../../../simulators/tink/workflow.ts";
import { crashLab } from "./crash-lab.ts";

const RUN_MS = 120_000;

async function logsIn(state: string): Promise<ReadonlyMap<string, string>> {
  const directory = join(state, "logs");
  const names = (await readdir(directory, { recursive: true })).filter((name) => name.endsWith(".log"));
  const texts = await Promise.all(names.map((name) => readFile(join(directory, name), "utf8")));
  return new Map(names.toSorted().map((name) => [name, texts[names.indexOf(name)] ?? ""]));
}

describe("the logs of actions", () => {
  test("are in the state directory, by workflow and action, for the worker's user alone", {
    timeout: RUN_MS,
  }, async () => {
    await using lab = await crashLab({ machine: { powerOffMs: 300 } });
    const worker = lab.start();
    const workflow = lab.submit(
      [{ name: "power-off", environment: { MODE: "hard" } }, { name: "power-status" }],
      "rack-7",
    );
    await lab.server.until(() => isOver(workflow));
    worker.kill("SIGTERM");
    await worker.ended;

    const logs = await logsIn(lab.state);

    expect(workflow.state, worker.stderr).toBe("SUCCESS");
    expect([...logs.keys()]).toEqual([
      expect.stringMatching(/_rack-7\/\d{8}T\d{6}\.\d{3}Z-power-off-[0-9a-f]{8}\.log$/),
      expect.stringMatching(/_rack-7\/\d{8}T\d{6}\.\d{3}Z-power-status-[0-9a-f]{8}\.log$/),
    ]);
    const [text = ""] = logs.values();
    expect(text).toMatch(
      /^# workflow=\S+\/rack-7 task=\S+ action=power-off machine=node-01 agentId=pbnj-node-01 /,
    );
    expect(text).toMatch(
      /\n# ended \S+ after \d+\.\d s: succeeded \(exit 0\): off after \d+\.\d s \(forced\) via redfish\n/,
    );
    expect(text).toMatch(/\n# \S+ report acknowledged by the server\n$/);
    const [path = ""] = logs.keys();
    expect((await stat(join(lab.state, "logs", path))).mode & 0o777).toBe(0o600);
    expect((await stat(join(lab.state, "logs"))).mode & 0o777).toBe(0o700);
  });

  test("of an action that outlives its worker continue in the same file", { timeout: RUN_MS }, async () => {
    await using lab = await crashLab({ machine: { powerOffMs: 1_500 } });
    const first = lab.startProcess();
    const commanded = new Promise<void>((resolve) => lab.machine.once("command", () => resolve()));
    const workflow = lab.submit([{ name: "power-off", environment: { MODE: "hard" } }]);
    await commanded;
    first.kill("SIGKILL");
    await first.ended;

    const second = lab.start();
    await lab.server.until(() => isOver(workflow));
    second.kill("SIGTERM");
    await second.ended;

    const logs = await logsIn(lab.state);
    expect(logs.size, second.stderr).toBe(1);
    const [text = ""] = logs.values();
    expect(text).toMatch(
      /^# workflow=[\s\S]*worker restarted, action adopted[\s\S]*# ended [\s\S]*succeeded/,
    );
    expect(text.match(/^# workflow=/gm)).toHaveLength(1);
  });
});

test("every line about an action has the same fields", { timeout: RUN_MS }, async () => {
  await using lab = await crashLab();
  lab.bmc.fail({ kind: "refuse", status: 503, times: 1 });
  const worker = lab.start();
  const workflow = lab.submit([{ name: "power-status" }]);
  await lab.server.until(() => isOver(workflow));
  await worker.untilLogged("report acknowledged", { state: "success" });

  const about = worker.log.filter((record) =>
    ["workflow", "action", "machine"].some((name) => name in record),
  );

  const task = workflow.tasks[0];
  const fields = {
    workflow: workflow.id,
    action: "power-status",
    agentId: "pbnj-node-01",
    machine: "node-01",
  };
  expect(new Set(about.map(({ msg }) => msg))).toEqual(
    new Set(["action started", "BMC call failed, retrying", "action succeeded", "report acknowledged"]),
  );
  for (const record of about) expect(record).toMatchObject({ ...fields, task: task?.id });
});

describe("a signal", () => {
  test("SIGUSR2 switches to the debug level, and back to the configured one", {
    timeout: RUN_MS,
  }, async () => {
    await using lab = await crashLab({ argv: ["--log-level", "warn"] });
    const worker = lab.startProcess();
    await lab.server.until(() => lab.server.polls.length > 0);
    const quiet = worker.log.length;

    worker.kill("SIGUSR2");
    await worker.untilLogged("log level changed", { logLevel: "debug" });
    const workflow = lab.submit([{ name: "power-status" }]);
    await lab.server.until(() => isOver(workflow));
    await worker.untilLogged("report acknowledged", { state: "success" });
    worker.kill("SIGUSR2");
    await worker.untilLogged("log level changed", { logLevel: "warn" });
    const before = worker.log.length;
    const next = lab.submit([{ name: "power-status" }]);
    lab.server.board.delete(workflow);
    await lab.server.until(() => isOver(next));
    worker.kill("SIGTERM");
    const end = await worker.ended;

    expect(quiet).toBe(0);
    expect(end.code).toBe(0);
    expect(worker.log.slice(before)).toEqual([]);
  });

  test("SIGUSR1 opens no debugger, neither of the worker nor of its action", {
    timeout: RUN_MS,
  }, async () => {
    await using lab = await crashLab({ machine: { powerOffMs: 2_000 } });
    const worker = lab.startProcess();
    const commanded = new Promise<void>((resolve) => lab.machine.once("command", () => resolve()));
    const workflow = lab.submit([{ name: "power-off", environment: { MODE: "hard" } }]);
    await commanded;
    const [action = 0] = await lab.processes();

    worker.kill("SIGUSR1");
    for (const signal of ["SIGUSR1", "SIGUSR2"] as const) process.kill(action, signal);
    await lab.server.until(() => isOver(workflow));

    expect(workflow.state, worker.stderr).toBe("SUCCESS");
    // Node would say that it listens, or that its port is taken; an action's words are in the worker's log.
    expect(worker.stderr).not.toMatch(/debugger|inspector/i);
  });
});

test("on a terminal the log is text, with the action's machine and name", { timeout: RUN_MS }, async () => {
  await using lab = await crashLab();
  const argv = lab
    .argv()
    .map((word) => `'${word}'`)
    .join(" ");
  const main = join(import.meta.dirname, "../../../cli/main.ts");
  const command = `'${process.execPath}' '${main}' ${argv} --http-address off`;
  const seen = execa("script", ["-qec", command, "/dev/null"], {
    reject: false,
    // The environment of a person's shell: a CI's own variables turn off colours.
    extendEnv: false,
    env: { PATH: process.env["PATH"] ?? "", TERM: "xterm" },
  });
  try {
    const workflow = lab.submit([{ name: "power-status" }]);
    await lab.server.until(() => isOver(workflow));
  } finally {
    seen.kill("SIGTERM");
  }

  const { stdout } = await seen;

  const text = stripVTControlCharacters(stdout);
  expect(stdout).toContain("\u001b[32mINFO ");
  expect(text).toMatch(/^\d\d:\d\d:\d\d INFO {2}worker started {2}version=/m);
  expect(text).toMatch(
    /^\d\d:\d\d:\d\d INFO {2}action succeeded {2}node-01 power-status \S+ {2}exitCode=0 durationMs=\d+/m,
  );
});

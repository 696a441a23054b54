import { once } from "node:events";
import { expect, test } from "vitest";
import { CommandInProcess } from "../../support/command-in-process.ts";
import { type LegacyLab, openLegacyLab, templateOf } from "../../support/lab.ts";
import { WorkerProgram } from "../../support/worker-program.ts";

const PASSWORD = "canary-71c0d";
const MACHINES = ["node-01", "node-02", "node-03"];

/** Power off, something that another worker does, power on, and what must not be done twice. */
function provision(machine: string): string {
  const environment = { MACHINE: machine };
  return templateOf(
    "pbnj",
    { name: "power-off", environment: { ...environment, MODE: "hard" } },
    { name: "set-pxe-once", environment },
    { name: "power-status", worker: "installer", environment },
    { name: "power-on", environment },
    { name: "power-reset", environment },
  );
}

/** The other worker, on the same server, with a state directory of its own. */
function installer(lab: LegacyLab): CommandInProcess {
  const own = ["--agent-id", "installer", "--agent-id-pattern", "installer-{machine}"];
  const argv = lab.argv("--state-directory", lab.path("installer"));
  const rest = argv.filter((word, index) => word !== "--agent-id" && argv[index - 1] !== "--agent-id");
  return new CommandInProcess([...rest, ...own]);
}

test("tasks of two workers complete on three machines, and kills repeat nothing", {
  timeout: 90_000,
}, async () => {
  const slow = { power: "on", powerOffMs: 500, powerOnMs: 500 } as const;
  await using lab = await openLegacyLab({
    machines: Object.fromEntries(MACHINES.map((name) => [name, slow])),
    password: PASSWORD,
  });
  const { server, machines } = lab;
  await using other = installer(lab);
  const logs: string[] = [];
  const workflows = MACHINES.map((name) => server.submit({ name, template: provision(name) }));

  /** Runs the worker until a machine gets that request, and kills it then. */
  async function killAt(action: "off" | "on" | "reset"): Promise<void> {
    await using worker = new WorkerProgram(lab.argv());
    const told = machines.map(async (machine) => {
      while (machine.count(action) === 0) await once(machine, "command");
    });
    await Promise.any(told);
    worker.kill("SIGKILL");
    await worker.ended;
    logs.push(worker.stderr);
  }
  await killAt("off");
  await killAt("on");
  await killAt("reset");
  await using worker = new CommandInProcess(lab.argv("--log-level", "debug"));
  await server.until(() => workflows.every(({ state }) => state === "SUCCESS"), 60_000);
  worker.kill("SIGTERM");
  const { code } = await worker.ended;
  logs.push(worker.stderr, other.stderr);

  expect(machines.map((machine) => machine.commands.map(({ action }) => action))).toEqual(
    MACHINES.map(() => ["off", "on", "reset"]),
  );
  expect(machines.map(({ boots }) => boots.map(({ overridden }) => overridden))).toEqual(
    MACHINES.map(() => [true, false]),
  );
  expect(code).toBe(0);
  const turns = server.reports.filter(({ state }) => state === "SUCCESS").map(({ workerId }) => workerId);
  expect(turns.filter((workerId) => workerId === "installer")).toHaveLength(3);
  expect([...logs, JSON.stringify(server.reports)].join("\n")).not.toContain(PASSWORD);
});

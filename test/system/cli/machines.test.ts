import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parse, stringify } from "yaml";
import { type Lab, startLab } from "../../../cli/lab/lab.ts";
import { parseResultLine } from "../../../shared/contract/result.ts";
import { runProgram } from "../../cli/program.ts";
import { WorkerProgram } from "../../support/worker-program.ts";

let lab: Lab;

beforeAll(async () => {
  const times = { powerOnMs: 40, powerOffMs: 40, softOffMs: 40 };
  lab = await startLab({ machines: 5, faults: true, times });
});
afterAll(() => lab.close());

const run = (action: string, ...argv: readonly string[]) =>
  runProgram(["action", action, "--inventory", lab.inventoryFile, ...argv]);

describe("pbnj-worker action --inventory", () => {
  it("prints a result per machine, and ends with the highest exit code", async () => {
    const { exitCode, stdout, stderr } = await run("power-status", "--all");

    const results = stdout.split("\n").map((line) => parseResultLine(line));
    expect(new Map(results.map((result) => [result?.machine, result?.class ?? result?.data]))).toEqual(
      new Map<string, unknown>([
        ...["node-01", "node-02", "node-03", "node-04"].map((name) => [name, { power: "on" }] as const),
        ["node-05", "auth"],
      ]),
    );
    expect(results.map((result) => result?.hint)).toEqual(results.map(() => undefined));
    expect(stderr).toBe("");
    expect(exitCode).toBe(10);
  });

  it("skips machines that are paused with a line, and fails only if one was named", async () => {
    const file = join(lab.directory, "one-paused.yaml");
    const inventory = parse(await readFile(lab.inventoryFile, "utf8"));
    const machines = inventory.machines.slice(0, 2);
    machines[0].paused = "fan replacement";
    await writeFile(file, stringify({ ...inventory, machines }));
    const requests = lab.machines[0]?.machine.commands.length;
    const act = (...argv: readonly string[]) => runProgram(["action", "check", "--inventory", file, ...argv]);

    const all = await act("--all", "--output", "text");
    const named = await act("--machine", "node-01", "--output", "json");
    const table = await act("--all", "--output", "table");

    const note = "paused: fan replacement (inventory one-paused.yaml)";
    expect(all.stdout.split("\n")).toContain(`node-01: ${note}`);
    expect(all.stderr.split("\n").at(-1)).toBe("2 machines: 1 succeeded, 0 failed, 1 paused");
    expect(parseResultLine(named.stdout)).toMatchObject({
      ...{ action: "check", machine: "node-01", ok: false, class: "state", message: note, roundTrips: 0 },
    });
    expect(table.stdout).toMatch(/\nnode-01 +paused .*fan replacement/);
    expect([all.exitCode, named.exitCode]).toEqual([0, 17]);
    expect(lab.machines[0]?.machine.commands.length).toBe(requests);
  });

  it("ends no other machine's action because of one without a route", async () => {
    const file = join(lab.directory, "one-dead.yaml");
    const inventory = parse(await readFile(lab.inventoryFile, "utf8"));
    // No UDP socket can be connected to a broadcast address.
    inventory.machines.push({ name: "dead", host: "127.255.255.255" });
    await writeFile(file, stringify(inventory));

    const { exitCode, stdout } = await runProgram([
      "action",
      "power-status",
      "--inventory",
      file,
      "--machine",
      "dead,node-01,node-03",
    ]);

    const results = stdout.split("\n").map((line) => parseResultLine(line));
    expect(new Map(results.map((result) => [result?.machine, result?.class ?? "ok"]))).toEqual(
      new Map([
        ["dead", "unreachable"],
        ["node-01", "ok"],
        ["node-03", "ok"],
      ]),
    );
    expect(exitCode).toBe(11);
  });

  it("runs on the machines that are named, with the action's own flags", async () => {
    const argv = ["--machine", "node-02,node-0*3", "--mode", "hard", "--output", "text"];

    const { exitCode, stdout, stderr } = await run("power-off", ...argv);

    expect(stdout.split("\n").toSorted()).toEqual([
      expect.stringMatching(/^node-02: off after \S+ s \(forced\) \(redfish, \S+ s\)$/),
      expect.stringMatching(/^node-03: off after \S+ s \(forced\) \(ipmi, \S+ s\)$/),
    ]);
    const told = stderr.split("\n");
    expect(told.at(-1)).toBe("2 machines: 2 succeeded, 0 failed");
    expect(told.filter((line) => line.startsWith("node-03"))).toEqual([
      "node-03: waiting for the BMC",
      "node-03: waiting for power off",
    ]);
    expect(lab.machines.map(({ machine }) => machine.commands.length)).toEqual([0, 1, 1, 0, 0]);
    expect(exitCode).toBe(0);
  });

  it("beside JSON, prints the progress as JSON, unless warnings alone are asked for", async () => {
    const argv = ["--machine", "node-03", "--output", "json"];

    const told = await run("power-on", ...argv);
    const quiet = await run("power-off", ...argv, "--mode", "hard", "--log-level", "warn");

    expect(told.stderr.split("\n").map((line) => JSON.parse(line))).toEqual([
      expect.objectContaining({ machine: "node-03", progress: true, msg: "waiting for power on" }),
    ]);
    expect([told.exitCode, quiet.exitCode, quiet.stderr]).toEqual([0, 0, ""]);
  });

  it("prints a table of all, in the order of their names", async () => {
    const { stdout } = await run("power-status", "--all", "--output", "table", "--concurrency", "1");

    expect(stdout.split("\n").map((line) => line.split(" ")[0])).toEqual([
      ...["machine", "-------"],
      ...["node-01", "node-02", "node-03", "node-04", "node-05"],
    ]);
    expect(stdout).toMatch(/\nnode-05 +auth +\d\.\d s +redfish: /);
  });

  it("writes a file of its own for each machine", async () => {
    const folder = await mkdtemp(join(tmpdir(), "pbnj-results-"));
    const machines = ["--machine", "node-01,node-02"];

    const one = await run("power-status", ...machines, "--result-file", join(folder, "result.json"));
    const each = await run("power-status", ...machines, "--result-file", join(folder, "{machine}.json"));
    const files = await readdir(folder);
    await rm(folder, { recursive: true });

    expect(one).toMatchObject({ exitCode: 2, stdout: "" });
    expect(one.stderr).toContain(
      "--result-file needs {machine} in it, so that each machine has its own file",
    );
    expect(each.exitCode).toBe(0);
    expect(files.toSorted()).toEqual(["node-01.json", "node-02.json"]);
  });

  it("lists every problem, and sends nothing", async () => {
    const requests = lab.machines.map(({ machine }) => machine.commands.length);
    const flags = ["--machine", "node-1", "--concurrency", "0", "--mode", "sotf", "--bmc-host", "x", "--al"];

    const { exitCode, stderr } = await run("power-off", ...flags);

    expect(stderr.split("\n").map((line) => line.replace("pbnj-worker action power-off: ", ""))).toEqual([
      "--concurrency is not a whole number from 1 to 1000",
      `--machine "node-1" matches no machine of ${lab.inventoryFile}, did you mean node-01?`,
      expect.stringContaining("unknown flag --al"),
      "--bmc-host cannot be combined with --inventory",
      expect.stringMatching(/^--mode .* did you mean soft\?/),
      "See pbnj-worker action power-off --help.",
    ]);
    expect(exitCode).toBe(2);
    expect(lab.machines.map(({ machine }) => machine.commands.length)).toEqual(requests);
  });

  it("is cancelled by a signal, and names it", async () => {
    // The one that ignores the shutdown.
    const argv = ["--inventory", lab.inventoryFile, "--machine", "node-01", "--mode", "soft"];
    await using program = new WorkerProgram(["action", "power-off", ...argv]);
    await expect.poll(() => lab.machines[0]?.machine.commands.length).toBe(1);

    program.kill("SIGTERM");
    const { code } = await program.ended;

    expect(parseResultLine(program.stdout.trimEnd())).toMatchObject({
      machine: "node-01",
      class: "cancelled",
      message: expect.stringMatching(/^cancelled by SIGTERM; a change was (being )?sent /),
    });
    expect(code).toBe(143);
  });
});

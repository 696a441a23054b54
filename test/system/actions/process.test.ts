import { execFile } from "node:child_process";
import { open } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { parseResultLine } from "../../../shared/contract/result.ts";
import { resultOf } from "../../actions/action-run.ts";
import { actionLab, eventually, REFUSING_PORT } from "../../actions/lab.ts";
import { ActionProcess, PROGRAM } from "./action-process.ts";

/** Keeps an action waiting for a shutdown that never completes. */
const waitForever = { MODE: "soft", SOFT_TIMEOUT: "5m", REDFISH_AUTH: "session" };
const stubborn = { power: "on", softOffMs: "never" } as const;

describe.concurrent("a signal", () => {
  it.each([
    ["SIGTERM", 143],
    ["SIGINT", 130],
  ] as const)("%s cancels the action, which closes its session and exits with %i", async (signal, code) => {
    await using lab = await actionLab({ machine: stubborn });
    const action = new ActionProcess("power-off", { env: { ...lab.env("redfish"), ...waitForever } });
    await eventually(() => lab.done().length === 1);

    action.child.kill(signal);
    const ended = await action.ended;

    expect(resultOf(ended)).toMatchObject({
      class: "cancelled",
      message: expect.stringMatching(new RegExp(`^cancelled by ${signal}; a change was (being )?sent `)),
    });
    expect(ended).toMatchObject({ code, signal: null });
    expect(lab.redfish.sessions.count).toBe(0);
  });

  it.each([
    ["SIGTERM", 143],
    ["SIGINT", 130],
  ] as const)("%s after SIGTERM ends the action at once, without a result", async (signal, code) => {
    await using lab = await actionLab({ machine: stubborn });
    const action = new ActionProcess("power-off", { env: { ...lab.env("redfish"), ...waitForever } });
    await eventually(() => lab.done().length === 1);
    lab.redfish.fail({ kind: "silent", method: "DELETE" });
    action.child.kill("SIGTERM");
    await eventually(() => lab.redfish.log.some((line) => line.startsWith("DELETE")));

    action.child.kill(signal);
    const ended = await action.ended;

    expect(ended).toMatchObject({ code, signal: null, stdout: "", result: undefined });
  });

  it("ends an action that reads its input from a pipe that is never closed", async () => {
    await using lab = await actionLab();
    const pipe = join(lab.folder, "connection");
    await promisify(execFile)("mkfifo", [pipe]);
    const action = new ActionProcess("power-off", { env: { BMC_CONNECTION_FILE: pipe } });
    // Opening it for writing succeeds once the action has opened it for reading.
    await using input = await open(pipe, "w");
    await input.write(JSON.stringify(lab.connection("redfish")));

    action.child.kill("SIGTERM");
    const ended = await action.ended;

    expect(resultOf(ended)).toMatchObject({ class: "cancelled" });
    expect(ended.code).toBe(143);
    expect(lab.traffic()).toBe(0);
  });
});

describe.concurrent("a reader that closes its end", () => {
  it.each([
    ["stdout", "success", {}, 0],
    ["stdout", "refused password", { BMC_PASSWORD: "wrong" }, 10],
    ["stderr", "unreachable BMC", { LOG_LEVEL: "debug", REDFISH_PORT: String(REFUSING_PORT) }, 11],
    ["stderr", "invalid input", { BMC_HOST: "a b" }, 2],
  ] as const)("of %s does not change the exit code of a %s", async (stream, _, env, code) => {
    await using lab = await actionLab();
    const action = new ActionProcess("power-status", { env: { ...lab.env("redfish"), ...env } });
    action.child[stream].destroy();

    const ended = await action.ended;

    expect(ended).toMatchObject({ code, signal: null });
    if (stream === "stderr") expect(resultOf(ended).ok).toBe(false);
  });

  it("of both does not keep an action from its work", async () => {
    await using lab = await actionLab({ machine: { power: "on" } });
    const action = new ActionProcess("power-off", { env: { ...lab.env("ipmi"), LOG_LEVEL: "debug" } });
    action.child.stdout.destroy();
    action.child.stderr.destroy();

    const ended = await action.ended;

    expect(ended.code).toBe(0);
    expect(lab.machine.power).toBe("off");
  });

  it("of the help does not make it fail", async () => {
    const action = new ActionProcess("power-off", { argv: ["--help"] });
    action.child.stdout.destroy();

    expect(await action.ended).toMatchObject({ code: 0, stderr: "" });
  });
});

it.concurrent("far more text than a pipe holds arrives whole, however late it is read", async () => {
  const count = 4_000;
  const unknown = Array.from({ length: count }, (_, index) => `BMC_WITHOUT_ANY_MEANING_${10_000 + index}`);
  const env = Object.fromEntries(unknown.map((name) => [name, "1"]));
  const action = new ActionProcess("power-status", { env });
  action.child.stderr.pause();
  setTimeout(() => action.child.stderr.resume(), 500);

  const ended = await action.ended;

  expect(ended.stderr.match(/is not known/g)).toHaveLength(count);
  expect(ended.stderr).toMatch(/See --help for every option.\n$/);
  expect(ended.code).toBe(2);
  expect(resultOf(ended).message).toHaveLength(1_000);
});

it.concurrent("a password from a shell's process substitution is read", async () => {
  await using lab = await actionLab();
  const { BMC_PASSWORD, ...env } = lab.env("redfish");
  const script = `"$1" "$2" "$3" power-status --bmc-password-file <(sleep 0.2; echo "$4")`;

  const { stdout } = await promisify(execFile)(
    "bash",
    ["-c", script, "bash", process.execPath, ...PROGRAM, BMC_PASSWORD],
    { env: { PATH: process.env["PATH"] ?? "", ...env } },
  );

  expect(parseResultLine(stdout.trim())).toMatchObject({ ok: true });
});

it.concurrent("neither the command line nor the environment has a secret of a connection on stdin", async () => {
  const password = "canary-f4c91e";
  const kg = "canary-kg-0b77d2";
  const users = [{ name: "admin", password }];
  await using lab = await actionLab({ machine: stubborn, ipmi: { users, kg } });
  const connection = lab.connection("ipmi");
  const action = new ActionProcess("power-off", {
    env: { BMC_CONNECTION_FILE: "-", MODE: "soft", LOG_LEVEL: "debug" },
    stdin: JSON.stringify({ ...connection, password, ipmi: { ...connection.ipmi, kg } }),
  });
  await eventually(() => lab.done().length === 1);

  const visible = [action.proc("cmdline"), action.proc("environ")];
  action.child.kill("SIGTERM");
  const { stdout, stderr } = await action.ended;

  expect(visible[0]).toContain("power-off");
  expect(visible[1]).toContain("BMC_CONNECTION_FILE=-");
  for (const secret of [password, kg].flatMap((text) => [text, Buffer.from(text).toString("base64")])) {
    expect([...visible, stdout, stderr].join("\n")).not.toContain(secret);
  }
});

it.concurrent("on a terminal the result is a table and a sentence", async () => {
  await using lab = await actionLab();
  lab.redfish.sel.add("Critical", "Fan 1 failed", "2026-01-15T18:53:41Z");
  const env = { PATH: process.env["PATH"] ?? "", NODE: process.execPath, FILE: PROGRAM[0] };

  // `script` of util-linux runs a command on a terminal.
  const { stdout } = await promisify(execFile)(
    "script",
    ["-qec", `"$NODE" "$FILE" action list-sel`, "/dev/null"],
    { env: { ...env, ...lab.env("redfish") } },
  );

  expect(stdout).toMatch(/^time \(UTC\) +severity +id +message\r\n/);
  expect(stdout).toContain("127.0.0.1: 1 entry in the event log, 1 critical (redfish, ");
  expect(stdout).not.toContain('{"action"');
});

it.concurrent("a name close to an action's is suggested", async () => {
  const ended = await new ActionProcess("power-of").ended;

  expect(ended.stderr).toContain('there is no action "power-of", did you mean power-off?');
  expect(ended.code).toBe(2);
});

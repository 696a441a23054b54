import { describe, expect, it } from "vitest";
import { ActionProcess, resultOf, runAction } from "./action-process.ts";
import { actionLab, REFUSING_PORT } from "./lab.ts";

describe.concurrent("a reader that has gone away", () => {
  it.each([
    ["stdout", "success", {}, 0],
    ["stdout", "refused password", { BMC_PASSWORD: "wrong" }, 10],
    ["stdout", "refused input", { BMC_HOST: "a b" }, 2],
    ["stderr", "success", { LOG_LEVEL: "debug" }, 0],
    ["stderr", "refused password", { LOG_LEVEL: "debug", BMC_PASSWORD: "wrong" }, 10],
    ["stderr", "unreachable BMC that is tried again", { REDFISH_PORT: String(REFUSING_PORT) }, 11],
    ["stderr", "refused input", { BMC_HOST: "a b" }, 2],
    ["stderr", "result file that cannot be written", { RESULT_FILE: "/nonexistent/r" }, 0],
  ] as const)("of %s does not change the exit code of a %s", async (stream, _, env, code) => {
    await using lab = await actionLab();
    const action = new ActionProcess("power-status", { env: { ...lab.env("redfish"), ...env } });
    action.child[stream].destroy();

    const ended = await action.ended;

    expect(ended).toMatchObject({ code, signal: null });
    if (stream === "stderr") expect(resultOf(ended).ok).toBe(code === 0);
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
  const strange = Array.from({ length: count }, (_, index) => `BMC_WITHOUT_ANY_MEANING_${10_000 + index}`);
  const action = new ActionProcess("power-status", {
    env: Object.fromEntries(strange.map((name) => [name, "1"])),
  });
  action.child.stderr.pause();
  setTimeout(() => action.child.stderr.resume(), 1_500);

  const ended = await action.ended;

  expect(ended.stderr.length).toBeGreaterThan(128 * 1_024);
  expect(ended.stderr.match(/is not known/g)).toHaveLength(count);
  expect(ended.stderr).toMatch(/See --help for every option.\n$/);
  expect(ended.code).toBe(2);
  expect(resultOf(ended).message).toHaveLength(1_000);
});

it.concurrent("nothing but the result is written when nothing is wrong", async () => {
  await using lab = await actionLab();

  const ended = await runAction("power-status", { env: lab.env("redfish") });

  expect(ended.stdout.trimEnd().split("\n")).toHaveLength(1);
  expect(ended.stderr).toBe("");
});

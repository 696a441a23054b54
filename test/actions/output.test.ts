import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { resultLine, terminationLine } from "../../actions/harness/result/write-result.ts";
import { type ActionResult, parseResultLine } from "../../shared/contract/result.ts";
import { resultOf, runAction } from "./action-run.ts";
import { actionLab } from "./lab.ts";

type Lab = Awaited<ReturnType<typeof actionLab>>;

/** A machine whose log contains what a terminal must not receive. */
async function hostileLab(): Promise<Lab> {
  const lab = await actionLab();
  const { sel } = lab.redfish;
  sel.add("OK", "Fan 1 runs.\nok\tcritical  forged", "2026-01-15T18:53:25Z");
  sel.add("Critical", "\u001b]0;owned\u0007\u001b[2J\u009b31mred\u202eder", "2026-01-15T18:53:41Z");
  return lab;
}

const HOSTILE_TABLE = `\
time (UTC)           severity  id  message
-------------------  --------  --  ------------------------------
2026-01-15 18:53:25  ok        1   Fan 1 runs. ok critical forged
2026-01-15 18:53:41  critical  2   \\u009b31mred\\u202eder
`;

describe.concurrent("OUTPUT", () => {
  it.each([
    ["auto", undefined],
    ["auto", "auto"],
    ["json", "json"],
  ])("%s, given %s, is the result alone where stdout is no terminal", async (_, output) => {
    await using lab = await hostileLab();

    const ended = await runAction("list-sel", {
      env: { ...lab.env("redfish"), ...(output === undefined ? {} : { OUTPUT: output }) },
    });

    expect(ended.stdout.trimEnd().split("\n")).toHaveLength(1);
    expect(resultOf(ended).ok).toBe(true);
  });

  it("table is the table, an empty line and the result where stdout is no terminal", async () => {
    await using lab = await hostileLab();

    const ended = await runAction("list-sel", { env: { ...lab.env("redfish"), OUTPUT: "table" } });

    expect(ended.stdout.startsWith(`${HOSTILE_TABLE}\n{"action":"list-sel"`)).toBe(true);
    expect(resultOf(ended)).toMatchObject({ ok: true, data: { total: 2 } });
    expect(ended.stderr).toBe("");
  });

  it.each(["auto", "table"])("%s is the table and a sentence on a terminal", async (output) => {
    await using lab = await hostileLab();

    const ended = await runAction("list-sel", {
      env: { ...lab.env("redfish"), OUTPUT: output },
      stdoutIsTty: true,
      stderrIsTty: true,
    });

    expect(
      ended.stdout.startsWith(`${HOSTILE_TABLE}\n127.0.0.1: 2 entries in the event log, 1 critical (`),
    ).toBe(true);
    expect(ended.stderr).toBe("");
  });

  it.each([
    ["on a terminal", { stdoutIsTty: true }],
    ["with a flag", { argv: ["--output", "text"] }],
  ])("is one sentence %s, for an action without a table", async (_, options) => {
    await using lab = await actionLab();

    const ended = await runAction("power-status", { env: lab.env("redfish"), ...options });

    expect(ended.stdout).toMatch(/^127\.0\.0\.1: on \(redfish, \d\.\d s\)\n$/);
    expect(ended.stderr).toBe("");
  });

  it("text comes before the result where a template asks for it", async () => {
    await using lab = await actionLab();

    const ended = await runAction("power-status", {
      env: { ...lab.env("redfish"), OUTPUT: "text", MACHINE: "m1" },
    });

    expect(ended.stdout).toMatch(/^m1: on \(redfish, \d\.\d s\)\n\n\{"action"/);
  });

  it("yaml is the result", async () => {
    await using lab = await actionLab();

    const { stdout } = await runAction("power-status", { env: lab.env("redfish"), argv: ["--output=yaml"] });

    expect(parse(stdout)).toMatchObject({ action: "power-status", ok: true, data: { power: "on" } });
  });

  it("of a failure is a sentence on stderr, for people", async () => {
    await using lab = await actionLab();
    const env = { ...lab.env("redfish"), BMC_PASSWORD: "wrong" };

    const ended = await runAction("power-status", { env, stdoutIsTty: true });

    expect(ended.stdout).toBe("");
    expect(ended.stderr).toMatch(/^127\.0\.0\.1: power-status failed \(auth\): .+\n$/);
    expect(ended.code).toBe(10);
  });

  it("is the list of problems alone for invalid input on a terminal", async () => {
    await using lab = await actionLab();

    const ended = await runAction("power-status", {
      env: lab.env("redfish"),
      argv: ["--timeot", "3s"],
      stdoutIsTty: true,
    });

    expect(ended.stdout).toBe("");
    expect(ended.stderr.match(/--timeot/g)).toHaveLength(1);
    expect(ended.code).toBe(2);
  });

  it("json is the result on a terminal, too, with nothing in it that a terminal obeys", async () => {
    await using lab = await hostileLab();

    const { stdout: shown } = await runAction("list-sel", {
      env: { ...lab.env("redfish"), OUTPUT: "json" },
      stdoutIsTty: true,
    });

    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there.
    expect(shown).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/);
    const { data } = parseResultLine(shown.trimEnd()) ?? {};
    expect(data).toMatchObject({ entries: [{}, { message: expect.stringContaining("\u009b31mred") }] });
  });

  it("is also a sentence on stderr, where only that is a terminal", async () => {
    await using lab = await hostileLab();

    const ended = await runAction("list-sel", { env: lab.env("redfish"), stderrIsTty: true });

    expect(ended.stderr).toContain("127.0.0.1: 2 entries in the event log, 1 critical (");
    expect(resultOf(ended).ok).toBe(true);
  });

  it("shows the result of a failure that has no data, whatever was asked for", async () => {
    await using lab = await actionLab();
    const env = { ...lab.env("redfish"), BMC_PASSWORD: "wrong", OUTPUT: "table" };

    const ended = await runAction("list-sel", { env });
    const lines = ended.stdout.trimEnd().split("\n");

    expect(lines).toHaveLength(1);
    expect(resultOf(ended)).toMatchObject({ ok: false, class: "auth" });
  });

  it("leaves the result file to programs, table or not", async () => {
    await using lab = await hostileLab();
    const file = join(lab.folder, "result");

    const ended = await runAction("list-sel", {
      env: { ...lab.env("redfish"), OUTPUT: "table", RESULT_FILE: file },
    });

    const line = await readFile(file, "utf8");
    expect(line.trimEnd().split("\n")).toHaveLength(1);
    expect(parseResultLine(line)).toEqual(resultOf(ended));
  });

  it("is refused with a value that it does not have", async () => {
    await using lab = await actionLab();

    const ended = await runAction("inventory", { env: { ...lab.env("redfish"), OUTPUT: "xml" } });

    expect(resultOf(ended).message).toContain("is not one of auto, text, table, json, yaml");
    expect(ended.code).toBe(2);
    expect(lab.traffic()).toBe(0);
  });
});

describe("a result's line", () => {
  const result: ActionResult = { action: "list-sel", ok: true, message: "", durationMs: 1, roundTrips: 1 };

  it("holds no character that ends a line or drives a terminal, and means the same", () => {
    const said = { ...result, message: "a\u001b[2J\u007f\u0085\u009b1m\u2028b\u2029\nc" };

    const line = resultLine(said);

    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there.
    expect(line.slice(0, -1)).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/);
    expect(parseResultLine(line.trimEnd())).toEqual(said);
  });

  it("for a kubelet leaves out data and hint where they make it too long, and only there", () => {
    const short = { ...result, data: { entries: [1] }, hint: { provider: "redfish" } };
    const long = { ...short, data: { entries: Array.from({ length: 2_000 }, () => "x") } };

    expect(terminationLine(short)).toBe(resultLine(short));
    expect(terminationLine(long)).toBe(resultLine(result));
  });
});

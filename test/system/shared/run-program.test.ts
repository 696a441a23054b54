import { describe, expect, it } from "vitest";
import { StartError } from "../../../shared/child-process/child-process.ts";
import {
  OUTPUT_LIMIT_BYTES,
  type RunProgramOptions,
  runProgram,
} from "../../../shared/child-process/run-program.ts";
import { eventually } from "../../actions/lab.ts";

const never = new AbortController().signal;

function shell(script: string, more: Partial<RunProgramOptions> = {}): RunProgramOptions {
  const environment = { PATH: process.env["PATH"] };
  return { program: "/bin/sh", argv: ["-c", script], environment, timeoutMs: 60_000, ...more };
}

function isAlive(groupId: number): boolean {
  try {
    return process.kill(-groupId, 0);
  } catch {
    return false;
  }
}

describe("a program", () => {
  it("gets its input, and its output and exit code are returned", async () => {
    const options = shell("cat; echo oops >&2; exit 3", { input: Buffer.from("hello") });

    const end = await runProgram(options, never);

    expect(end).toMatchObject({ kind: "exited", exit: { exitCode: 3 } });
    expect([end.stdout.toString(), end.stderr.toString()]).toEqual(["hello", "oops\n"]);
  });

  it("has only the given environment", async () => {
    const { stdout } = await runProgram(shell("env", { environment: { ONLY: "this" } }), never);

    expect(stdout.toString()).toContain("ONLY=this");
    expect(stdout.toString()).not.toContain("HOME=");
  });

  it("is stopped after its timeout, with everything that it started", async () => {
    let group = 0;
    const onStarted = (groupId: number) => {
      group = groupId;
      return () => undefined;
    };

    const end = await runProgram(shell("sleep 300 & sleep 300", { timeoutMs: 200, onStarted }), never);

    expect(end).toMatchObject({ kind: "timeout" });
    await eventually(() => !isAlive(group));
  });

  it("is stopped when it prints too much", async () => {
    const end = await runProgram(shell("exec yes"), never);

    expect(end.kind).toBe("too-much-output");
    expect(end.stdout.length).toBeLessThanOrEqual(OUTPUT_LIMIT_BYTES);
  });

  it("is stopped when the signal aborts", async () => {
    const abort = new AbortController();
    const onStarted = () => {
      abort.abort(new Error("enough"));
      return () => undefined;
    };

    await expect(runProgram(shell("sleep 300", { onStarted }), abort.signal)).rejects.toThrow("enough");
  });

  it("that does not exist is a StartError", async () => {
    const missing = runProgram({ ...shell(""), program: "/no/such/program" }, never);

    await expect(missing).rejects.toMatchObject({ name: StartError.name, code: "ENOENT" });
  });
});

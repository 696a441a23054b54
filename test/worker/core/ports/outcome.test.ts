import { describe, expect, it } from "vitest";
import type { ActionResult } from "../../../../shared/contract/result.ts";
import { concludeOutcome, type Ending } from "../../../../worker/core/ports/outcome.ts";

const ok: ActionResult = { action: "power-off", ok: true, message: "off", durationMs: 1, roundTrips: 1 };
const failed: ActionResult = { ...ok, ok: false, class: "busy", message: "the BMC is in POST" };

function conclude(ending: Partial<Ending>) {
  return concludeOutcome({
    lastLines: [],
    timeoutMs: 30_000,
    startedAt: new Date(0),
    stoppedAt: new Date(1_000),
    ...ending,
  });
}

describe("concluding an outcome", () => {
  it.each<[string, Partial<Ending>, object]>([
    ["a result and exit 0", { exitCode: 0, result: ok }, { ok: true, message: "off" }],
    ["exit 0 without a result", { exitCode: 0 }, { ok: true, message: "exited 0" }],
    [
      "a failure with its class",
      { exitCode: 14, result: failed },
      { ok: false, class: "busy", message: "the BMC is in POST" },
    ],
    ["a failure that exits 0", { exitCode: 0, result: failed }, { ok: false, class: "busy" }],
    [
      "a failure without a class",
      { exitCode: 11, result: { ...failed, class: undefined } },
      { ok: false, class: "internal" },
    ],
    [
      "ok that exits otherwise",
      { exitCode: 12, result: ok },
      { ok: false, class: "tls", message: "exited 12 although it said: off" },
    ],
    ["an exit code of ours", { exitCode: 10 }, { ok: false, class: "auth", message: "exited 10" }],
    ["an exit code without a class", { exitCode: 1 }, { ok: false, class: "internal", message: "exited 1" }],
    ["no exit code at all", {}, { ok: false, class: "internal", message: "exited without a code" }],
    [
      "a signal from elsewhere",
      { signal: "SIGSEGV", lastLines: ["a", "b"] },
      { ok: false, class: "internal", killed: true, message: "killed by SIGSEGV: a | b" },
    ],
    [
      "ok that was killed",
      { signal: "SIGKILL", result: ok },
      { ok: false, message: "killed by SIGKILL although it said: off" },
    ],
    [
      "a kill whose reason the engine does not know",
      { exitCode: 137, lastLines: ["a"] },
      { ok: false, killed: true, message: "exited 137 (killed, perhaps out of memory): a" },
    ],
    [
      "memory that ran out",
      { exitCode: 137, outOfMemory: true },
      { ok: false, class: "internal", killed: true, message: "killed, out of memory" },
    ],
    [
      "memory that ran out below a wrapper that exits 0",
      { exitCode: 0, outOfMemory: true, result: ok },
      {
        ok: false,
        class: "internal",
        message: "a process of the action was killed, out of memory, although the action exited 0: off",
      },
    ],
  ])("%s", (_title, ending, expected) => {
    expect(conclude(ending)).toMatchObject({ timedOut: false, ...expected });
  });

  it("reports a stop at the timeout with the action's own reason", () => {
    const result: ActionResult = { ...failed, class: "cancelled", message: "cancelled by SIGTERM" };

    const outcome = conclude({ stopReason: "timeout", exitCode: 143, result });

    expect(outcome).toMatchObject({ ok: false, class: "timeout", timedOut: true, killed: true });
    expect(outcome.message).toBe("timed out after 30.0 s: cancelled by SIGTERM");
  });

  it("reports a stop by the worker as cancelled", () => {
    expect(conclude({ stopReason: "cancelled", exitCode: 143 })).toMatchObject({
      ok: false,
      class: "cancelled",
      timedOut: false,
    });
  });

  it("accepts the success of an action that ended while it was being stopped", () => {
    expect(conclude({ stopReason: "timeout", exitCode: 0, result: ok })).toMatchObject({
      ok: true,
      timedOut: false,
      message: "off",
    });
  });

  it("does not count a program that exits 0 when stopped as successful", () => {
    expect(conclude({ stopReason: "timeout", exitCode: 0 })).toMatchObject({
      ok: false,
      class: "timeout",
      timedOut: true,
    });
  });

  it("folds the message into one line and cuts nothing, because redaction cannot find part of a secret", () => {
    const { message } = conclude({ exitCode: 1, lastLines: ["x\ny".repeat(1_000)] });

    expect(message).toBe(`exited 1: ${"x y".repeat(1_000)}`);
  });
});

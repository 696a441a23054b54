import { describe, expect, it } from "vitest";
import type { Action, Outcome } from "../../../../worker/core/action/action.ts";
import { hookFor, hookReport, hooksOf } from "../../../../worker/core/action/hooks.ts";

const action: Action = {
  workflowId: "default/reboot",
  taskId: "bmc",
  agentId: "pbnj",
  actionId: "0/bmc/off",
  name: "off",
  image: "power-off:v1",
  timeoutMs: 1_000,
  command: ["--mode", "soft"],
  volumes: ["/a:/a"],
  environment: { MACHINE: "node-01" },
  onTimeout: ["--mode", "hard"],
  onFailure: ["--check"],
};
const { onTimeout: _onTimeout, ...withoutOnTimeout } = action;

function outcomeOf(fields: Partial<Outcome>): Outcome {
  const at = new Date(0);
  return { ok: false, message: "m", startedAt: at, stoppedAt: at, timedOut: false, killed: false, ...fields };
}

describe("the hook of an action", () => {
  it("is the same action with other arguments and another ID", () => {
    expect(hooksOf(action)).toEqual([
      {
        name: "on-timeout",
        action: { ...action, actionId: "0/bmc/off/on-timeout", command: ["--mode", "hard"] },
      },
      { name: "on-failure", action: { ...action, actionId: "0/bmc/off/on-failure", command: ["--check"] } },
    ]);
  });

  it.each([
    ["on-failure", "a failure", action, outcomeOf({ exitCode: 15, class: "verify" })],
    ["on-failure", "an end by a signal", action, outcomeOf({ killed: true, class: "internal" })],
    ["on-timeout", "a time-out", action, outcomeOf({ timedOut: true, killed: true, class: "timeout" })],
    ["on-timeout", "a time-out of which no exit code is known", action, outcomeOf({ timedOut: true })],
    ["on-failure", "a time-out without an on-timeout", withoutOnTimeout, outcomeOf({ timedOut: true })],
  ])("is %s after %s", (name, _, ended, outcome) => {
    expect(hookFor(ended, outcome)?.name).toBe(name);
  });

  it.each([
    ["a success", outcomeOf({ ok: true, exitCode: 0 })],
    ["an action that was cancelled", outcomeOf({ exitCode: 143, killed: true, class: "cancelled" })],
    ["an action that never started", outcomeOf({ class: "usage" })],
    ["a refused password", outcomeOf({ exitCode: 10, class: "auth" })],
  ])("is not run after %s", (_, outcome) => {
    expect(hookFor(action, outcome)).toBeUndefined();
  });

  it("is absent when the template has none", () => {
    const { onFailure: _onFailure, ...plain } = withoutOnTimeout;

    expect(hookFor({ ...plain, onFailure: [] }, outcomeOf({ exitCode: 1 }))).toBeUndefined();
  });

  it("appears in the status message with its outcome", () => {
    const [hook] = hooksOf(action);
    if (!hook) throw new Error("the action has hooks");

    expect(hookReport(hook, outcomeOf({ ok: true, message: "off after 1 s" }))).toBe(
      "on-timeout succeeded: off after 1 s",
    );
    expect(hookReport(hook, outcomeOf({ message: "no answer" }))).toBe("on-timeout failed: no answer");
  });
});

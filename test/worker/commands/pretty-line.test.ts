import { describe, expect, it } from "vitest";
import { prettyLine } from "../../../worker/commands/pretty-line.ts";

/** Without the time of day, which depends on the time zone. */
function pretty(record: object): string {
  const line = prettyLine({ level: 30, time: "2026-11-21T16:13:08.123Z", ...record });
  expect(line).toMatch(/^\d\d:\d\d:08 /);
  return line.slice("16:13:08 ".length);
}

const about = {
  workflow: "tink/reprovision",
  task: "bmc",
  action: "power-off",
  agentId: "pbnj-node-01",
  machine: "node-01",
};

describe("prettyLine", () => {
  it("has level and message, then machine, action and workflow, then the other fields", () => {
    const record = { ...about, msg: "action failed", level: 40, exitCode: 10, result: "no such user" };

    expect(pretty(record)).toBe(
      'WARN  action failed  node-01 power-off tink/reprovision  exitCode=10 result="no such user"',
    );
  });

  it("has the agent ID without a machine", () => {
    expect(pretty({ msg: "poll failed", agentId: "pbnj-node-01", code: "Unavailable" })).toBe(
      "INFO  poll failed  pbnj-node-01  code=Unavailable",
    );
  });

  it("has only the message without fields", () => {
    expect(pretty({ msg: "worker stopped", level: 20 })).toBe("DEBUG worker stopped");
  });

  it("writes lists and objects as JSON", () => {
    expect(pretty({ msg: "reloaded", level: 50, lanesAdded: ["a", "b"], none: null })).toBe(
      'ERROR reloaded  lanesAdded=["a","b"] none=null',
    );
  });

  it("escapes control characters of actions and BMCs", () => {
    const line = pretty({
      msg: "\u001b]0;title\u0007",
      machine: "a\nb",
      "k\u001b": "\u009b31m",
      reason: "\u001b[2J",
      word: "a\u202eb\u200b\u{e0041}",
    });

    expect(line).not.toMatch(/[\p{Cc}\p{Cf}]/u);
    expect(line).toContain("\\u001b]0;title\\u0007");
  });
});

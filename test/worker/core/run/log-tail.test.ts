import { describe, expect, it } from "vitest";
import type { Outcome } from "../../../../worker/core/action/action.ts";
import { LogTail } from "../../../../worker/core/run/log-tail.ts";

const REASON = "the BMC is in POST";

const failed: Outcome = {
  ok: false,
  class: "busy",
  message: REASON,
  exitCode: 14,
  startedAt: new Date(0),
  stoppedAt: new Date(1_000),
  timedOut: false,
  killed: false,
  result: { action: "power-off", ok: false, class: "busy", message: REASON, durationMs: 1, roundTrips: 1 },
};

const info = (msg: string, fields: object = {}) => JSON.stringify({ level: 30, msg, ...fields });
const warn = (msg: string, fields: object = {}) => JSON.stringify({ level: 40, msg, ...fields });
const error = (msg: string, fields: object = {}) =>
  JSON.stringify({ level: "error", message: msg, ...fields });

/** The message of `outcome`, after these lines on stderr. */
function messageAfter(lines: readonly string[], outcome: Outcome = failed): string {
  const last = new LogTail();
  for (const line of lines) last.take({ stream: "stderr", line });
  return last.addTo(outcome).message;
}

describe("the message of a failure", () => {
  it.each<[string, readonly string[], string]>([
    ["is the reason alone where the log is empty", [], REASON],
    [
      "has the last warnings and errors after the reason, whatever came after them",
      [warn("w1"), warn("w2"), error("e3"), warn("w4"), info("i5"), info("i6"), info("i7"), info("i8")],
      `${REASON}; its log: w2 | e3 | w4`,
    ],
    [
      "has the last other lines where there is no warning",
      [info("one"), "two", "three", JSON.stringify({ level: 20, msg: "debug" })],
      `${REASON}; its log: two | three`,
    ],
    [
      "says why, where the line does",
      [
        info("BMC call failed, retrying", { reason: "HTTP 503" }),
        error("stopped", { err: { message: "no route" } }),
      ],
      `${REASON}; its log: stopped: no route`,
    ],
    [
      "does not say again what the reason says",
      [
        warn("giving up: The BMC is in POST!"),
        info("x"),
        warn("BMC call failed", { reason: REASON }),
        warn("POST"),
      ],
      REASON,
    ],
    [
      "says the same once",
      [warn("no answer"), warn("no answer"), warn("No answer.")],
      `${REASON}; its log: No answer.`,
    ],
    ["stays one line", [warn("one\ntwo\u001b[31m")], `${REASON}; its log: one two [31m`],
    ["passes over empty lines", ["", "   ", "said"], `${REASON}; its log: said`],
  ])("%s", (_title, lines, expected) => {
    expect(messageAfter(lines)).toBe(expected);
  });

  it("prefers stderr to stdout", () => {
    const last = new LogTail();
    last.take({ stream: "stderr", line: "trouble" });
    last.take({ stream: "stdout", line: "output" });

    expect(last.addTo(failed).message).toBe(`${REASON}; its log: trouble`);
  });

  it("stays within the limit, with the whole reason", () => {
    const long = { ...failed, message: "r".repeat(990) };

    expect(messageAfter([warn("w".repeat(5_000))])).toHaveLength(REASON.length + "; its log: ".length + 200);
    expect(messageAfter([warn("something else")], long)).toBe(long.message);
    expect(messageAfter([1, 2, 3].map((n) => warn(`${n}${"w".repeat(300)}`))).length).toBeLessThan(450);
  });

  it("has no log lines for success, or for an image whose last lines are its reason already", () => {
    const { result: _result, ...without } = failed;

    expect(messageAfter([warn("w")], { ...failed, ok: true, message: "off" })).toBe("off");
    expect(messageAfter([warn("w")], { ...without, message: "exited 1: w" })).toBe("exited 1: w");
  });

  it("of an action that timed out has its last lines", () => {
    const message = "timed out after 30.0 s: cancelled by SIGTERM";

    expect(messageAfter([info("waiting for off")], { ...failed, message })).toBe(
      `${message}; its log: waiting for off`,
    );
  });
});

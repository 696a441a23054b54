import { expect, test } from "vitest";
import { ErrorClass } from "../../../shared/contract/error-class.ts";
import { errorClassOf, exitCodeOf } from "../../../shared/contract/exit-code.ts";
import { MESSAGE_LIMIT, oneLine, parseResultLine } from "../../../shared/contract/result.ts";

test("a result line is read back, and nothing else is taken for one", () => {
  const result = { action: "power-on", ok: true, message: "already on", durationMs: 3, roundTrips: 1 };

  expect(parseResultLine(JSON.stringify(result))).toEqual(result);
  for (const line of ["", "done", "{", "[]", "{}", '{"ok":true}', '{"action":"a","ok":"yes"}']) {
    expect(parseResultLine(line)).toBeUndefined();
  }
});

test("a message is one printable line of bounded length", () => {
  expect(oneLine("a\nb\tc\u0007 \u001b[31md")).toBe("a b c [31md");
  expect(oneLine("x".repeat(5_000))).toHaveLength(MESSAGE_LIMIT);
});

test("exit codes and classes say the same both ways", () => {
  for (const errorClass of ErrorClass.options) expect(errorClassOf(exitCodeOf(errorClass))).toBe(errorClass);
  expect(exitCodeOf("cancelled", "SIGINT")).toBe(130);
  expect(exitCodeOf("cancelled", "SIGTERM")).toBe(143);
  expect(errorClassOf(1)).toBeUndefined();
});

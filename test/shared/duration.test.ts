import { describe, expect, test } from "vitest";
import { elapsedText, formatGoDuration, formatSeconds, parseDurationMs } from "../../shared/duration.ts";

test.each([
  ["90", 90_000],
  ["0", 0],
  ["1.5", 1_500],
  ["500ms", 500],
  ["45s", 45_000],
  ["1m30s", 90_000],
  ["2h", 7_200_000],
  [" 10s ", 10_000],
])("%j is %d milliseconds", (text, expected) => {
  expect(parseDurationMs(text)).toBe(expected);
});

test.each(["", "s", "-1", "1d", "1m30", "ten", "1e3", "8d", "200h", "NaN"])("%j is no duration", (text) => {
  expect(parseDurationMs(text)).toBeUndefined();
});

test("seconds are written for people, minutes once there are any", () => {
  expect(formatSeconds(340)).toBe("0.3 s");
  expect(formatSeconds(6_210)).toBe("6.2 s");
  expect(formatSeconds(64_000)).toBe("1m 4s");
});

test.each([
  [0, "0s"],
  [1_500, "1.5s"],
  [62_000, "1m2s"],
  [3_723_500, "1h2m3.5s"],
])("%d milliseconds are %s in Go's notation", (ms, expected) => {
  expect(formatGoDuration(ms)).toBe(expected);
});

describe("elapsed time", () => {
  test.each([
    [-5_000, "0 s"],
    [999, "0 s"],
    [59_999, "59 s"],
    [61_000, "1m 01s"],
    [3_600_000 * 3 + 60_000 * 2, "3h 02m"],
    [86_400_000 * 2 + 3_600_000 * 5, "2d 5h"],
  ])("%d ms is %s", (ms, text) => {
    expect(elapsedText(ms)).toBe(text);
  });
});

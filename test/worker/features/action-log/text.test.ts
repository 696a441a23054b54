import { describe, expect, it } from "vitest";
import { lineText } from "../../../../worker/features/action-log/text.ts";

const at = new Date("2026-11-21T16:13:08.123Z");
const line = (text: string) => lineText({ stream: "stderr", line: text }, at);

describe("a line of an action's log", () => {
  it("has its time and stream, and stays as it is when it is text", () => {
    expect(line("connecting to 10.0.0.1")).toBe("2026-11-21T16:13:08.123Z stderr connecting to 10.0.0.1\n");
  });

  it("is written as text when it is structured, without what the header says already", () => {
    const json = {
      level: 40,
      time: at.toISOString(),
      action: "power-off",
      machine: "n",
      status: 503,
      msg: "busy",
    };

    expect(line(JSON.stringify(json))).toBe('2026-11-21T16:13:08.123Z stderr warn  busy {"status":503}\n');
  });

  it("keeps its own time where it is told late", () => {
    const told = line(JSON.stringify({ level: 30, time: "2026-11-21T16:00:00.000Z", msg: "on" }));

    expect(told).toContain('info  on {"time":"2026-11-21T16:00:00.000Z"}');
  });

  it("commands no terminal and stays one line", () => {
    expect(line("\u001b[31mred\u001b[0m\tand\rback\u2028")).toBe(
      "2026-11-21T16:13:08.123Z stderr \\u001b[31mred\\u001b[0m\tand\\u000dback\\u2028\n",
    );
  });

  it("is bounded", () => {
    expect(line("\u0001".repeat(16_384)).length).toBeLessThan(21_000);
  });
});

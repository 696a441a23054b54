import { describe, expect, test } from "vitest";
import { RecentLines } from "../../../../worker/features/status/board/recent-lines.ts";

const at = new Date(0);
const written = (logs: RecentLines, key: string, line: string) =>
  logs.add(key, { stream: "stderr", line }, at);

describe("recent log lines", () => {
  test("of actions that run are within one bound, and what is missing is counted", () => {
    const logs = new RecentLines({ lines: 20, lineCharacters: 100, characters: 10_000 });
    const keys = Array.from({ length: 50 }, (_, index) => `action-${index}`);
    let most = 0;

    for (let line = 0; line < 30; line += 1) {
      for (const key of keys) written(logs, key, `${line} ${"x".repeat(200)}`);
      most = Math.max(most, logs.characters);
    }

    const kept = keys.map((key) => logs.of(key));
    expect(most).toBeLessThanOrEqual(10_000);
    expect(logs.characters).toBe(kept.flatMap(({ lines }) => lines).length * 100);
    expect(kept.map(({ lines, dropped }) => lines.length + dropped)).toEqual(keys.map(() => 30));
    expect(Math.max(...kept.map(({ lines }) => lines.length))).toBeLessThanOrEqual(20);
  });

  test("of an ended action are dropped before those of one that runs", () => {
    const logs = new RecentLines({ lines: 20, lineCharacters: 100, characters: 300 });
    for (const key of ["running", "ended"]) written(logs, key, "x".repeat(100));
    logs.end("ended");

    for (const letter of ["y", "z"]) written(logs, "running", letter.repeat(100));

    expect(logs.of("running")).toMatchObject({ lines: [{}, {}, {}], dropped: 0 });
    expect(logs.of("ended")).toEqual({ lines: [], dropped: 1 });
  });
});

import { PassThrough } from "node:stream";
import type { WriteStream } from "node:tty";
import { expect, test, vi } from "vitest";
import { progressFields } from "../../shared/contract/progress.ts";
import { LiveLine } from "../../shared/live-line.ts";
import { silentLogger } from "../../shared/logger.ts";

test("a terminal's last line shows progress in place of the log, and is cleared before other lines", () => {
  vi.useFakeTimers();
  try {
    const terminal = Object.assign(new PassThrough({ encoding: "utf8" }), { columns: 50 });
    const live = new LiveLine(terminal as unknown as WriteStream);
    const written = (_: object, message: string) => void terminal.write(`${message}\n`);
    const log = live.inPlaceOf({ ...silentLogger, info: written }, ({ machine }) => machine);

    log.info({ machine: "node-01", ...progressFields(60_000) }, "shutdown requested");
    vi.advanceTimersByTime(23_000);
    log.info({}, "another line");
    log.info({ machine: "node-01", ...progressFields() }, `\u001b[31m${"long ".repeat(20)}`);
    live.clear();
    vi.advanceTimersByTime(10_000);

    const [first, ...shown] = String(terminal.read()).split("\r\u001b[K").slice(1);
    expect(first).toBe("node-01: shutdown requested, 0 s of 1m 00s");
    expect(shown.slice(22)).toEqual([
      "node-01: shutdown requested, 23 s of 1m 00s",
      "another line\n",
      "node-01: \\u001b[31mlong long long long long long ".slice(0, 49),
      "",
    ]);
  } finally {
    vi.useRealTimers();
  }
});

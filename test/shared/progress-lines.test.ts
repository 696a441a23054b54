import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { progressFields } from "../../shared/contract/progress.ts";
import { silentLogger } from "../../shared/logger.ts";
import { openProgressLines, withProgress } from "../../shared/progress-lines.ts";
import { Screen } from "../support/screen.ts";

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubEnv("TERM", "xterm");
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllEnvs();
});

it("a terminal shows a line per machine with the time that it has taken, below what else is written", async () => {
  const screen = new Screen(50, 24);
  const lines = openProgressLines(screen);

  lines.note("node-02", "waiting for its turn");
  lines.show("node-01", { text: "shutdown requested", limitMs: 60_000 });
  vi.advanceTimersByTime(23_000);
  await lines.above(async () => screen.write("a result\n"));
  lines.above(() => screen.write("a warning\n"));

  expect(screen.text.split("\n")).toEqual([
    ...["a result", "a warning", "node-02: waiting for its turn"],
    "node-01: shutdown requested, 23 s of 1m 00s",
  ]);
  lines.end("node-02");
  vi.advanceTimersByTime(1_000);
  expect(screen.text.split("\n").slice(2)).toEqual(["node-01: shutdown requested, 24 s of 1m 00s"]);
  lines.clear();
  vi.advanceTimersByTime(10_000);
  expect(screen.text).toBe("a result\na warning\n");
});

it("never draws more than the terminal has room for, and shows what runs before what is queued", () => {
  const screen = new Screen(20, 5);
  screen.write("before\n");
  const lines = openProgressLines(screen);

  for (let node = 1; node <= 9; node += 1) lines.note(`node-${node}`, "waiting for its turn");
  lines.show("node-8", { text: "\u001b[31m電源オフ電源オフ電源オフ" });
  lines.show("node-9", { text: "reading" });
  vi.advanceTimersByTime(200);

  expect(screen.text.split("\n")).toEqual([
    "before",
    ...["node-1: waiting for", "node-8: 電源オフ電", "node-9: reading, 0 ", "… and 6 more"],
  ]);
  lines.clear();
  expect(screen.text).toBe("before\n");
});

it("erases the lines that a narrower terminal has wrapped", () => {
  const screen = new Screen(80, 24);
  screen.write("before\n");
  const lines = openProgressLines(screen);

  lines.note("node-1", "waiting for its turn");
  lines.note("node-2", "waiting for its turn");
  screen.narrow(12);
  lines.show("node-2", { text: "reading" });
  vi.advanceTimersByTime(200);

  expect(screen.text.split("\n")).toEqual(["before", "node-1: wai", "node-2: rea"]);
});

it("elsewhere there is one line per change", () => {
  const written: string[] = [];
  const lines = openProgressLines({ write: (text: string) => written.push(text) });

  lines.note("node-01", "waiting for its turn");
  lines.show("node-01", { text: "reading" });
  lines.show("node-01", { text: "reading", limitMs: 1_000 });
  lines.show("node-01", { text: "waiting\nfor power off" });
  lines.end("node-01");
  vi.advanceTimersByTime(10_000);
  lines.clear();

  expect(written).toEqual(["node-01: reading\n", "node-01: waiting for power off\n"]);
});

it("a log's progress is shown in the lines, in place of the log", () => {
  const written: string[] = [];
  const lines = openProgressLines({ write: (text: string) => written.push(text) });
  const logged = { ...silentLogger, info: (_: object, message: string) => void written.push(message) };
  const log = withProgress(lines, logged, ({ machine }) => machine);

  log.info({ machine: "node-01", ...progressFields(60_000) }, "shutdown requested");
  log.info({}, "another line");

  expect(written).toEqual(["node-01: shutdown requested\n", "another line"]);
});

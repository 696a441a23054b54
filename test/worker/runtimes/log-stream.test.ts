import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { foldLine } from "../../../shared/contract/result.ts";
import { cutMark, LineSplitter } from "../../../shared/line-splitter.ts";
import { printable, printableLine } from "../../../shared/printable.ts";
import { Secret } from "../../../shared/secret.ts";
import { redactor } from "../../../shared/secret-forms.ts";
import type { LogLine } from "../../../worker/core/action/action.ts";
import { readLogLine } from "../../../worker/core/action/log-line.ts";
import type { DroppedOutput } from "../../../worker/core/ports/runtime.ts";
import { LogStream } from "../../../worker/runtimes/log-stream.ts";
import { OutputBudget } from "../../../worker/runtimes/output-budget.ts";

const result = JSON.stringify({ action: "a", ok: true, message: "done", durationMs: 1, roundTrips: 1 });

function split(longest: number, ...chunks: readonly Uint8Array[]): string[] {
  const lines: string[] = [];
  const splitter = new LineSplitter(longest, (line, lost) => lines.push(line + cutMark(lost)));
  for (const chunk of chunks) splitter.push(chunk);
  splitter.end();
  return lines;
}

function stream() {
  const lines: LogLine[] = [];
  const log = new LogStream({ onLog: (line) => lines.push(line) });
  return {
    lines,
    log,
    out: (text: string) => log.write("stdout", Buffer.from(text)),
    err: (text: string) => log.write("stderr", Buffer.from(text)),
  };
}

describe("splitting a stream into lines", () => {
  it("produces the same lines with any chunk boundaries, also within a character", () => {
    const text = fc.array(fc.string({ unit: "grapheme" }).filter((line) => !/[\r\n]/.test(line)));
    const cuts = fc.array(fc.nat(400));

    fc.assert(
      fc.property(text, cuts, (lines, at) => {
        const bytes = Buffer.from(lines.map((line) => `${line}\n`).join(""));
        const borders = [0, ...at.filter((cut) => cut < bytes.length).sort((a, b) => a - b), bytes.length];
        const chunks = borders.slice(1).map((end, index) => bytes.subarray(borders[index], end));

        expect(split(10_000, ...chunks)).toEqual(lines);
      }),
    );
  });

  it("includes a last line without a line end, and treats CR LF as one line end", () => {
    expect(split(100, Buffer.from("one\r\n\r\ntwo"))).toEqual(["one", "", "two"]);
  });

  it("cuts a long line without losing the next, and notes how much it cut", () => {
    expect(split(4, Buffer.from("abcdefgh"), Buffer.from("ij\nnext\n"))).toEqual([
      "abcd… [6 characters cut]",
      "next",
    ]);
  });
});

describe("the log of an action", () => {
  it("withholds the result from the log", () => {
    const { log, lines, out } = stream();

    out(`working\n${result}\n`);

    expect(log.end().result?.message).toBe("done");
    expect(lines).toEqual([{ stream: "stdout", line: "working" }]);
  });

  it("accepts only the last line as the result; an earlier one is a log line", () => {
    const { log, lines, out } = stream();

    out(`${result}\nafterwards\n`);

    expect(log.end().result).toBeUndefined();
    expect(lines.map(({ line }) => line)).toEqual([result, "afterwards"]);
  });

  it("ignores empty lines after the result", () => {
    const { log, out } = stream();

    out(`${result}\n\n  \n`);

    expect(log.end().result?.ok).toBe(true);
  });

  it("reads a result of megabytes whole, and cuts a log line of that size", () => {
    const data = "x".repeat(2_000_000);
    const { log, lines, out, err } = stream();

    err(`${data}\n`);
    out(JSON.stringify({ ...JSON.parse(result), data }));

    expect(log.end().result?.data).toHaveLength(2_000_000);
    expect(lines[0]?.line.length).toBeLessThan(20_000);
  });

  it("keeps the last five lines of stderr, without the empty ones", () => {
    const { log, err, out } = stream();

    out("not these\n");
    err("1\n2\n3\n\n4\n5\n6\n\n");

    expect(log.end().lastLines).toEqual(["2", "3", "4", "5", "6"]);
  });

  it("keeps the last lines of stdout if stderr is empty", () => {
    const { log, out } = stream();

    out("a\nb\n");

    expect(log.end().lastLines).toEqual(["a", "b"]);
  });
});

describe("output over its budget", () => {
  const flood = "a line without a purpose\n".repeat(20_000);

  function flooded(...after: readonly string[]) {
    const lines: LogLine[] = [];
    const dropped: DroppedOutput[] = [];
    const log = new LogStream({
      onLog: (line) => lines.push(line),
      onDropping: (counts) => dropped.push(counts),
    });
    for (const text of [flood, ...after]) log.write("stdout", Buffer.from(text));
    return { lines, dropped, written: log.end() };
  }

  it("is counted and dropped, which is reported once", () => {
    const { lines, dropped } = flooded();

    const taken = lines.filter(({ line }) => line === "a line without a purpose").length;
    expect(taken).toBeLessThan(3_000);
    expect(dropped).toEqual([{ lines: 20_000 - taken, bytes: (20_000 - taken) * 25 }]);
  });

  it("leaves room for the last lines and the result", () => {
    const { lines, written } = flooded("the\n\nlast\n", `${result}\n`);

    expect(written.result?.message).toBe("done");
    expect(written.lastLines.slice(-2)).toEqual(["the", "last"]);
    expect(lines.slice(-2).map(({ line }) => line)).toEqual(["the", "last"]);
    expect(lines.at(-6)?.line).toMatch(/^\[\d+ lines dropped: /);
  });

  it("does not hide a result that something follows", () => {
    const { written } = flooded(`${result}\nafterwards\n`);

    expect(written.result).toBeUndefined();
    expect(written.lastLines.at(-1)).toBe("afterwards");
  });

  it("includes an endless line, which is not kept", () => {
    const { lines } = flooded(...Array.from({ length: 200 }, () => "x".repeat(64 * 1024)));

    expect(lines.at(-1)?.line).toMatch(/^x{16384}… \[13090816 characters cut\]$/);
  });

  it("floods also while a single line does not end", () => {
    const { log, err } = stream();
    err("x".repeat(1_000_000));
    const isFlooding = [log.isFlooding];
    err("\n");
    isFlooding.push(log.isFlooding);

    expect(isFlooding).toEqual([true, false]);
  });

  it("floods for ten seconds after the last drop, although lines are taken again", () => {
    let nowMs = 0;
    const budget = new OutputBudget(() => nowMs);
    const take = (lines: number) => Array.from({ length: lines }, () => budget.take("a line")).at(-1);
    const seen: unknown[] = [];
    for (const passMs of [0, 3_000, 9_000, 1_000]) {
      nowMs += passMs;
      seen.push(budget.isFlooding, passMs < 5_000 && take(passMs === 0 ? 20_000 : 64));
    }

    expect(seen).toEqual([false, false, true, true, true, false, false, true]);
  });

  it("includes what lines have lost", () => {
    let nowMs = 0;
    const budget = new OutputBudget(() => nowMs);
    const taken = Array.from({ length: 5 }, () => {
      nowMs += 600;
      return budget.take("x".repeat(16_384), 600_000);
    });

    expect(taken).toEqual([true, true, false, false, false]);
  });

  it("includes spans, too", () => {
    const spans = `{"resourceSpans":[${" ".repeat(300_000)}]}\n`;
    const { lines } = flooded(spans, spans, spans);

    expect(lines.filter(({ line }) => line.startsWith('{"resourceSpans"'))).toEqual([]);
  });

  it("does not block other work while it is read", async () => {
    const { log } = stream();
    let turns = 0;
    let isOver = false;
    const count = (): void => {
      turns += 1;
      if (!isOver) setImmediate(count);
    };
    setImmediate(count);

    await log.throttle.read(Buffer.from(flood), (part) => log.write("stdout", part));
    isOver = true;

    expect(turns).toBeGreaterThanOrEqual(Math.floor(flood.length / 512));
  });

  it("waits before it reads on, unless the action is ending", async () => {
    const { log } = stream();
    const chunk = Buffer.alloc(8 * 1024 * 1024, "x");
    const pauseMs = async () => {
      let lastPartMs = 0;
      await log.throttle.read(chunk, () => {
        lastPartMs = performance.now();
      });
      return performance.now() - lastPartMs;
    };

    const paused = await pauseMs();
    log.throttle.skipPauses();
    const skipped = [await pauseMs(), await pauseMs(), await pauseMs()];

    expect(paused).toBeGreaterThan(90);
    // A busy machine adds to each, but not to all of them.
    expect(Math.min(...skipped)).toBeLessThan(90);
  });
});

describe("the cost of a text", () => {
  const repeated = (unit: string, length: number) =>
    unit.repeat(Math.ceil(length / unit.length)).slice(0, length);
  const redact = redactor({ username: "root", password: new Secret("S3cr&t pass/word%1") });

  it.each([
    ["escape sequences", "\u001b["],
    ["parameters without an end", "\u001b[1;"],
    ["commands without an end", "\u001b]8;;"],
    ["white space", " \t"],
    ["the beginnings of a secret", "S3cr&t pass/word%"],
    ["entities without an end", "&#"],
    ["percent signs", "%25"],
    ["backslashes", "\\"],
    ["base64", "UzNjciZ0IHBhc3Mvd29yZC"],
  ])("grows no faster than its length: %s", (_, unit) => {
    const text = repeated(unit, 256 * 1024);
    for (const treat of [redact, printable, printableLine, foldLine]) {
      const before = process.threadCpuUsage();
      treat(text);

      // A linear one takes up to 100 ms, a quadratic one a minute or longer.
      expect(process.threadCpuUsage(before).user / 1_000).toBeLessThan(2_000);
    }
  });
});

describe("reading a log line", () => {
  it.each([
    ['{"level":20,"msg":"m"}', "debug"],
    ['{"level":30,"msg":"m"}', "info"],
    ['{"level":40,"msg":"m"}', "warn"],
    ['{"level":50,"msg":"m"}', "error"],
    ['{"level":60,"msg":"m"}', "error"],
    ['{"level":"WARNING","message":"m"}', "warn"],
    ['{"message":"m"}', "info"],
  ])("knows the severity of %s", (line, severity) => {
    expect(readLogLine(line)).toMatchObject({ severity, message: "m" });
  });

  it("keeps the other fields of a line, without the logger's own", () => {
    const line = '{"level":30,"time":1,"pid":2,"hostname":"h","machine":"m1","msg":"hello"}';

    expect(readLogLine(line)).toEqual({
      severity: "info",
      message: "hello",
      fields: { machine: "m1" },
      structured: true,
      time: new Date(1),
    });
  });

  it.each([
    ['"2026-11-21T16:13:08.123Z"', new Date("2026-11-21T16:13:08.123Z")],
    ["1795277588123", new Date(1_795_277_588_123)],
    ['"yesterday"', undefined],
    ["1e300", undefined],
    ["{}", undefined],
  ])("reads %s as a time", (time, expected) => {
    expect(readLogLine(`{"time":${time},"msg":"m"}`).time).toEqual(expected);
  });

  it.each(["plain text", '{"broken', '{"level":50}', "[1]", "{}"])("takes %s as it is", (line) => {
    expect(readLogLine(line).message).toBe(line);
  });
});

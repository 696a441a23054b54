import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type ConsolePort, planConsole, watchConsole } from "../../../../shared/bmc/operations/console.ts";
import { ConsoleLines } from "../../../../shared/bmc/operations/console-lines.ts";
import type { ConsoleSink } from "../../../../shared/bmc/operations/console-port.ts";
import { BmcError } from "../../../../shared/contract/bmc-error.ts";
import { recordingLogger } from "../providers/ipmi/bench.ts";

/** The lines of a console that got this, in pieces of so many bytes. */
function linesOf(text: string | Buffer, pieceBytes = 1_000_000) {
  const lines: string[] = [];
  const console = new ConsoleLines((line) => lines.push(line));
  const bytes = Buffer.from(text as string);
  for (let at = 0; at < bytes.length; at += pieceBytes) console.push(bytes.subarray(at, at + pieceBytes));
  console.finishLine();
  return lines;
}

describe("the lines of a console", () => {
  it.each([
    ["line ends of each kind", "one\r\ntwo\rthree\n\n\nfour", ["one", "two", "three", "four"]],
    ["colours", "\u001b[1;31mred\u001b[0m and \u009b32mgreen", ["red and green"]],
    ["a menu", "\u001b[2J\u001b[1;1HSetup\u001b[5;10HBoot order\u001b[K", ["Setup", "Boot order"]],
    ["gaps that the cursor makes", "one\u001b[5Ctwo", ["one two"]],
    ["titles and links", "\u001b]0;title\u0007text \u001b]8;;http://192.0.2.1\u001b\\link", ["text link"]],
    ["character sets and keypads", "\u001b(0lqk\u001b(B\u001b=ok\u001b>", ["lqkok"]],
    ["spinners", "loading -\b\\\b|\b/\bdone", ["loading done"]],
    ["control characters", "a\u0000b\u0007c\u001fd\u007fe\u0085f", ["abcdef"]],
    ["what hides or turns text", "a\u202eb", ["a\\u202eb"]],
    ["a title without an end", `\u001b]0;${"x".repeat(300)}\nlogin:`, ["x".repeat(45), "login:"]],
    ["bytes that are no text", Buffer.from([0x6f, 0x6b, 0xff, 0x21]), ["ok\ufffd!"]],
  ])("are text, with %s", (_, text, lines) => {
    expect(linesOf(text)).toEqual(lines);
    expect(linesOf(text, 1)).toEqual(lines);
  });

  it("are 1,000 characters at most, and nothing is lost", () => {
    expect(linesOf("x".repeat(2_500)).map(({ length }) => length)).toEqual([1_000, 1_000, 500]);
  });

  it("hold no control character, whatever comes", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), fc.integer({ min: 1, max: 9 }), (bytes, pieceBytes) => {
        const lines = linesOf(Buffer.from(bytes), pieceBytes);
        expect(lines.join("")).not.toMatch(/\p{Cc}/u);
        expect(lines).toEqual(linesOf(Buffer.from(bytes)));
      }),
    );
  });
});

type Watch = (sink: ConsoleSink, until: AbortSignal) => Promise<unknown>;

const ended = (until: AbortSignal) =>
  until.aborted
    ? Promise.resolve()
    : new Promise<void>((resolve) => until.addEventListener("abort", () => resolve()));

/** Opens and prints. */
const printing =
  (...texts: readonly string[]): Watch =>
  async (sink, until) => {
    sink.opened();
    for (const text of texts) sink.output(Buffer.from(text));
    await ended(until);
  };
/** Opens, prints and is lost. */
const losing =
  (text: string): Watch =>
  async (sink) => {
    sink.opened();
    sink.output(Buffer.from(text));
    throw new BmcError("timeout", "the BMC has dropped the session");
  };
const failing =
  (errorClass: "busy" | "auth" | "unreachable"): Watch =>
  async () => {
    throw new BmcError(errorClass, errorClass);
  };

/** A BMC whose console does these in turn, and repeats the last one. Its clock only advances in the operation's own waits. */
function bmc(watches: readonly Watch[], holder?: string) {
  const left = [...watches];
  const log = recordingLogger();
  const done: string[] = [];
  let nowMs = 0;
  const port: ConsolePort = {
    clock: {
      now: () => nowMs,
      monotonicMs: () => nowMs,
      // The deadline comes when nothing else happens.
      sleep: (ms, signal) =>
        new Promise((resolve, reject) => {
          const timer = setTimeout(() => {
            nowMs += ms;
            resolve();
          }, ms / 100);
          signal?.addEventListener("abort", () => {
            clearTimeout(timer);
            reject(signal.reason);
          });
        }),
    },
    log,
    isStopped: () => false,
    holder: async () => holder,
    plan: async (takesOver) => [`plan ${takesOver}`],
    takeOver: async () => void done.push("taken over"),
    watch: async (sink, until) => {
      done.push("watched");
      await (left.length > 1 ? left.shift() : left[0])?.(sink, until);
    },
    sleep: async (ms) => {
      nowMs += ms;
    },
    progress: (text) => done.push(text),
  };
  return { port, log, done, said: () => log.lines.map(({ message }) => message) };
}

const REQUEST = { until: /iPXE/, failOn: /No bootable/, timeoutMs: 5_000, takeOver: false };

describe("watching a console", () => {
  it("ends with the first line that matches, and logs each line", async () => {
    const there = bmc([printing("POST\r\niP", "XE 1.21\r\nNo bootable device\r\n")]);

    const report = await watchConsole(there.port, REQUEST);

    expect(report).toMatchObject({ pattern: "iPXE", line: "iPXE 1.21", lines: 2, changed: false });
    expect(report.summary).toMatch(/^console matched "iPXE" after 0.0 s: iPXE 1.21$/);
    expect(there.done).toEqual(['waiting for "iPXE" on the console', "watched"]);
    expect(there.said()).toEqual(["console: POST", "console: iPXE 1.21"]);
  });

  it("compares a prompt, which has no end of line", async () => {
    const there = bmc([printing("Booting\r\nnode-1 login: ")]);

    expect(await watchConsole(there.port, { ...REQUEST, until: /login:$/ })).toMatchObject({
      line: "node-1 login:",
    });
  });

  it("fails at a line of FAIL_ON, with the last lines", async () => {
    const there = bmc([printing("POST\r\nNo bootable device\r\n")]);

    await expect(watchConsole(there.port, REQUEST)).rejects.toMatchObject({
      class: "verify",
      message: 'the console matched "No bootable" after 0.0 s: its last lines were POST | No bootable device',
    });
  });

  it.each([
    ["silent", [], "the console was silent"],
    ["busy with other things", ["a\nb\nc\nd\ne\nf\n"], "its last lines were b | c | d | e | f"],
  ])("times out if the console is %s", async (_, texts, last) => {
    const there = bmc([printing(...texts)]);

    await expect(watchConsole(there.port, REQUEST)).rejects.toMatchObject({
      class: "timeout",
      message: `no line of the console matched "iPXE" within 5.0 s: ${last}`,
    });
  });

  it("opens the console again when it is lost, also if the BMC still counts the old one", async () => {
    const there = bmc([losing("POST\r\nhalf"), failing("busy"), failing("unreachable"), printing("iPXE\n")]);

    const report = await watchConsole(there.port, { ...REQUEST, timeoutMs: 60_000 });

    expect(report).toMatchObject({ line: "iPXE", lines: 3 });
    expect(there.done.filter((step) => step === "watched")).toHaveLength(4);
    expect(there.said()).toContain("console lost, reconnecting");
    expect(there.said()).toContain("console: half");
  });

  it.each(["auth", "busy"] as const)("does not try again what fails at first with %s", async (errorClass) => {
    const there = bmc([failing(errorClass)]);

    await expect(watchConsole(there.port, REQUEST)).rejects.toMatchObject({ class: errorClass });
    expect(there.done.filter((step) => step === "watched")).toHaveLength(1);
  });

  it("gives up a console that another session has kept since", async () => {
    const there = bmc([losing(""), failing("busy")]);

    await expect(watchConsole(there.port, { ...REQUEST, timeoutMs: 600_000 })).rejects.toMatchObject({
      class: "busy",
    });
  });

  it("takes a console over only if told", async () => {
    const there = bmc([printing("iPXE\n")], "user 3 from 192.0.2.77");

    await expect(watchConsole(there.port, REQUEST)).rejects.toMatchObject({
      class: "busy",
      message: expect.stringContaining("in use by user 3 from 192.0.2.77"),
    });
    await expect(planConsole(there.port, false)).rejects.toMatchObject({ class: "busy" });
    expect(await planConsole(there.port, true)).toEqual({
      before: "user 3 from 192.0.2.77",
      steps: ["plan true"],
    });
    expect(there.done).toEqual([]);
    expect(await watchConsole(there.port, { ...REQUEST, takeOver: true })).toMatchObject({ changed: true });
    expect(there.done).toContain("taken over");
  });

  it("logs at most 200 lines a second, says so, and still compares all", async () => {
    const there = bmc([printing(`${"x\n".repeat(1_000)}iPXE\n`)]);

    expect(await watchConsole(there.port, REQUEST)).toMatchObject({ lines: 1_001 });
    expect(there.said().filter((message) => message.startsWith("console: "))).toHaveLength(200);
    expect(there.log.lines.at(-1)).toEqual({
      fields: { lines: 801 },
      message: "console lines not logged: too many",
    });
  });

  it("redacts lines before anything else sees them", async () => {
    const there = bmc([printing("password=hunter2\r\niPXE hunter2\r\n")]);
    const redact = (line: string) => line.replaceAll("hunter2", "[redacted]");

    const report = await watchConsole(there.port, { ...REQUEST, redact });

    expect(JSON.stringify([report, there.log.lines])).not.toContain("hunter2");
  });
});

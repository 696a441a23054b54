import { parseResultLine } from "../../../shared/contract/result.ts";
import { LineSplitter } from "../../../shared/line-splitter.ts";
import { printable, printableLine, printableLines } from "../../../shared/printable.ts";
import { Secret } from "../../../shared/secret.ts";
import { formsOf, redactor } from "../../../shared/secret-forms.ts";
import { parseTraceParent } from "../../../shared/tracing/trace-parent.ts";
import { parseKeyValues } from "../../../shared/tracing/variables.ts";
import { readLogLine } from "../../../worker/core/action/log-line.ts";
import { LogTail } from "../../../worker/core/run/log-tail.ts";
import { lineText, noteText } from "../../../worker/features/action-log/text.ts";
import { RecentLines } from "../../../worker/features/status/board/recent-lines.ts";
import { escapeHtml } from "../../../worker/features/status/views/html.ts";
import { readSpans } from "../../../worker/features/tracing/read-spans.ts";
import { MultiplexedStreamReader } from "../../../worker/runtimes/docker/multiplexed-stream.ts";
import { PodOutput } from "../../../worker/runtimes/kubernetes/pod-output.ts";
import { LogStream } from "../../../worker/runtimes/log-stream.ts";
import { bytesOf, latin, type Target } from "../target.ts";
import { JSON_TOKENS } from "./json.ts";

const RESULT =
  '{"action":"power-off","ok":true,"message":"off","durationMs":1,"roundTrips":2,"data":{"a":[1]}}';
const PINO = '{"level":40,"time":1700000000000,"msg":"no answer","reason":"timeout"}';
const SPANS = JSON.stringify({
  resourceSpans: [
    {
      scopeSpans: [
        {
          spans: [
            {
              traceId: "1".repeat(32),
              spanId: "2".repeat(16),
              name: "GET",
              startTimeUnixNano: "1700000000000000000",
              endTimeUnixNano: "1700000000000000001",
              attributes: [{ key: "a", value: { stringValue: "b" } }],
            },
          ],
        },
      ],
    },
  ],
});
const ESCAPES = ["\u001b[31m", "\u001b]8;;", "\u009b", "\u202e", "\r", "\u001b"];
/** The longest line of an action's log that is kept. */
const LOG_LINE = 16 * 1_024;
const SECRET = "Pa55word!";
const holder = { username: "admin", password: new Secret(SECRET) };

/** Pushes the bytes in pieces of sizes that the bytes themselves choose. */
function inPieces(bytes: Buffer, push: (piece: Buffer) => void): void {
  for (let at = 0; at < bytes.length; ) {
    const end = at + 13 + ((bytes[at] ?? 0) % 64) * 8;
    push(bytes.subarray(at, end));
    at = end;
  }
}

/** What an action's image writes, and what becomes of it. */
export const outputTargets: readonly Target[] = [
  {
    name: "line-splitter",
    seeds: ["one\ntwo\r\nthree", "\xc3\xa9\n\xf0\x9f\x98\x80"],
    tokens: ["\n", "\r\n", "\xf0\x9f"],
    call: (input) => {
      const lines: string[] = [];
      const splitter = new LineSplitter(1_000, (line) => lines.push(line));
      inPieces(bytesOf(input), (piece) => splitter.push(piece));
      splitter.end();
      return lines;
    },
    holds: (result) => {
      if ((result as string[]).some((line) => line.length > 1_100 || line.includes("\n")))
        throw new Error("a long line");
    },
  },
  {
    name: "log-stream",
    seeds: [`one\n${PINO}\n${RESULT}\n`, `${SPANS}\n`],
    tokens: ["\n", RESULT, `${RESULT}\n`, "a\n", SPANS],
    call: (input) => {
      const stream = new LogStream({ onLog: () => undefined });
      inPieces(bytesOf(input), (piece) => stream.write("stdout", piece));
      inPieces(bytesOf(input), (piece) => stream.write("stderr", piece));
      return stream.end();
    },
    holds: (result) => void JSON.stringify(result),
  },
  {
    name: "result-line",
    seeds: [RESULT],
    tokens: [...JSON_TOKENS, '"hint":[', '"data":{"a":'],
    around: [
      ['{"action":"a","ok":true,"message":"m","durationMs":1,"roundTrips":1,"hint":', "}"],
      ['{"action":"a","ok":true,"durationMs":1,"roundTrips":1,"message":"', '"}'],
    ],
    call: parseResultLine,
    holds: (result) => void JSON.stringify(result),
  },
  {
    name: "log-line",
    seeds: [PINO, '{"level":"warn","message":"a","time":"2026-01-02T03:04:05Z"}', "plain text"],
    tokens: [...JSON_TOKENS, '"msg":"a",', ...ESCAPES],
    around: [['{"level":30,"msg":"a","x":', "}"]],
    longest: LOG_LINE,
    call: (input) => {
      const at = new Date(0);
      const last = new LogTail();
      last.take({ stream: "stderr", line: input });
      return [readLogLine(input), lineText({ stream: "stdout", line: input }, at), noteText(input), last];
    },
    holds: (result) => {
      const [, text] = result as readonly [unknown, string];
      if (/[\p{Cc}\u2028]/u.test(text.slice(0, -1).replaceAll("\t", "")))
        throw new Error("a control character");
    },
  },
  {
    name: "status-page-text",
    seeds: [PINO, "<b>\u001b[31mred</b>", "a\u202eb"],
    tokens: [...ESCAPES, "<", "&"],
    longest: LOG_LINE,
    call: (input) => {
      const logs = new RecentLines();
      logs.add("key", { stream: "stdout", line: input }, new Date(0));
      return [
        printable(input),
        escapeHtml(input),
        printableLine(input),
        printableLines(input),
        logs.of("key"),
      ];
    },
    holds: (result) => {
      const [, html] = result as readonly [string, string];
      if (/[<>"'\u202e]/.test(html)) throw new Error("markup or a change of direction");
    },
  },
  {
    name: "redaction",
    seeds: [`a ${SECRET} b`, formsOf(SECRET).join(" "), "Basic YWRtaW46UGE1NXdvcmQh"],
    tokens: [SECRET, ...formsOf(SECRET), SECRET.slice(0, 4)],
    call: (input) => redactor(holder)(input),
    holds: (result) => {
      if (formsOf(SECRET).some((form) => form.length >= 8 && String(result).includes(form)))
        throw new Error("a secret is left");
    },
  },
  {
    name: "spans-line",
    seeds: [SPANS],
    tokens: [...JSON_TOKENS, '"spans":[', '{"key":"a","value":{"stringValue":"b"}},', '{"spans":[]},'],
    around: [
      ['{"resourceSpans":[{"scopeSpans":[', "]}]}"],
      [`${SPANS.slice(0, SPANS.indexOf('[{"key"'))}[`, "]}]}]}]}"],
    ],
    call: readSpans,
  },
  {
    name: "trace-parent",
    seeds: [`00-${"1".repeat(32)}-${"2".repeat(16)}-01`, "service.name=a,b=%20c"],
    tokens: ["00-", "a=b,", " = ", "%", "%zz"],
    call: (input) => [parseTraceParent(input), parseKeyValues(input)],
  },
  {
    name: "docker-stream",
    seeds: [latin([1, 0, 0, 0, 0, 0, 0, 2, 0x61, 0x0a]), latin([2, 0, 0, 0, 0, 0, 0, 0])],
    tokens: [
      latin([1, 0, 0, 0, 0, 0, 0, 0]),
      latin([2, 0, 0, 0, 0, 0, 0, 1, 0x61]),
      latin([1, 0, 0, 0, 0xff, 0xff, 0xff, 0xff]),
    ],
    call: (input) => {
      let size = 0;
      const reader = new MultiplexedStreamReader((_, payload) => {
        size += payload.length;
      });
      inPieces(bytesOf(input), (piece) => reader.push(piece));
      return size;
    },
    throws: (thrown) => thrown instanceof Error && thrown.message.startsWith("malformed frame header"),
    holds: (result, input) => {
      if (Number(result) > input.length) throw new Error("more payload than bytes");
    },
  },
  {
    name: "pod-log",
    seeds: [`2026-01-02T03:04:05.000000001Z one\n2026-01-02T03:04:05.5Z ${RESULT}\n`],
    tokens: ["2026-01-02T03:04:05Z a\n", "2026-01-02T03:04:05.1Z ", "2026-01-02T"],
    call: (input) => {
      const output = new PodOutput({ onLog: () => undefined });
      for (let readings = 0; readings < 2; readings += 1) {
        const reading = output.read();
        inPieces(bytesOf(input), (piece) => reading.push(piece));
        reading.end();
      }
      return output.end(undefined);
    },
  },
];

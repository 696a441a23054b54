import { setImmediate as turn } from "node:timers/promises";
import { expect, test } from "vitest";
import { BmcError } from "../../../shared/contract/bmc-error.ts";
import { SpanRecorder } from "../../../shared/tracing/span-recorder.ts";

const TRACE = "1".repeat(32);
const ROOT = "2".repeat(16);
const internal = (name: string) => ({ name, kind: "internal" }) as const;

test("concurrent spans are below those that called them", async () => {
  const recorder = new SpanRecorder(TRACE, ROOT);
  const pair = (name: string) =>
    recorder.span(internal(name), async () => {
      await turn();
      await recorder.span(internal(`in ${name}`), () => turn());
    });

  await Promise.all([pair("a"), pair("b")]);

  const { spans } = recorder.finish();
  const idOf = (name: string) => spans.find((span) => span.name === name)?.spanId;
  const parents = Object.fromEntries(spans.map(({ name, parentSpanId }) => [name, parentSpanId]));
  expect(parents).toEqual({ a: ROOT, b: ROOT, "in a": idOf("a"), "in b": idOf("b") });
  expect(spans.every(({ traceId, startMs, endMs }) => traceId === TRACE && startMs <= endMs)).toBe(true);
});

test("a failed span shows its class and not the message", async () => {
  const recorder = new SpanRecorder(TRACE, ROOT);
  const failure = new BmcError("auth", "401 to admin:secret");

  const work = recorder.span(internal("x"), () => Promise.reject(failure));

  await expect(work).rejects.toBe(failure);
  const [span] = recorder.finish().spans;
  expect(span).toMatchObject({ failure: "", attributes: { "error.type": "auth" } });
  expect(JSON.stringify(span)).not.toContain("secret");
});

test("a span that is open at the end ends there, and nothing follows", async () => {
  const recorder = new SpanRecorder(TRACE, ROOT);
  const { promise, resolve } = Promise.withResolvers<void>();
  const work = recorder.span(internal("x"), () => promise);

  const { spans } = recorder.finish();
  resolve();
  await work;

  expect(spans).toHaveLength(1);
  expect(spans[0]?.attributes).toEqual({ "pbnj.unfinished": true });
  expect(recorder.finish().spans).toHaveLength(1);
});

test("an action that never stops asking keeps a thousand spans and counts the others", async () => {
  const recorder = new SpanRecorder(TRACE, ROOT);

  for (let asked = 0; asked < 1_005; asked += 1) await recorder.span(internal("x"), async () => asked);

  const { spans, left } = recorder.finish();
  expect([spans.length, left]).toEqual([1_000, 5]);
});

import { expect, test } from "vitest";
import { formatTraceParent, parseTraceParent } from "../../../shared/tracing/trace-parent.ts";
import { parseKeyValues, tracesEndpoint } from "../../../shared/tracing/variables.ts";

const TRACE = "0af7651916cd43dd8448eb211c80319c";
const SPAN = "b7ad6b7169203331";

test.each([
  [`00-${TRACE}-${SPAN}-01`, { traceId: TRACE, spanId: SPAN, sampled: true }],
  [`00-${TRACE}-${SPAN}-00`, { traceId: TRACE, spanId: SPAN, sampled: false }],
  [` 00-${TRACE}-${SPAN}-03 `, { traceId: TRACE, spanId: SPAN, sampled: true }],
  [`cc-${TRACE}-${SPAN}-01-what-the-future-will-be-like`, { traceId: TRACE, spanId: SPAN, sampled: true }],
])("the traceparent %j is understood", (text, parent) => {
  expect(parseTraceParent(text)).toEqual(parent);
});

test.each([
  undefined,
  "",
  `ff-${TRACE}-${SPAN}-01`,
  `00-${"0".repeat(32)}-${SPAN}-01`,
  `00-${TRACE}-${"0".repeat(16)}-01`,
  `00-${TRACE.toUpperCase()}-${SPAN}-01`,
  `00-${TRACE}-${SPAN}`,
  `00-${TRACE}-${SPAN}-01\n00`,
])("what is no traceparent is ignored: %j", (text) => {
  expect(parseTraceParent(text)).toBeUndefined();
});

test("what is written is what is read", () => {
  const parent = { traceId: TRACE, spanId: SPAN, sampled: true };

  expect(parseTraceParent(formatTraceParent(parent))).toEqual(parent);
});

test.each([
  [{}, undefined],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: "" }, undefined],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: "http://c:4318" }, "http://c:4318/v1/traces"],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: "http://c:4318/a/" }, "http://c:4318/a/v1/traces"],
  [
    { OTEL_EXPORTER_OTLP_ENDPOINT: "http://c:4318", OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "http://t/x" },
    "http://t/x",
  ],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: "http://c:4318", OTEL_SDK_DISABLED: "true" }, undefined],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: "http://c:4318", OTEL_TRACES_EXPORTER: "none" }, undefined],
])("the variables %j send traces to %s", (env, endpoint) => {
  expect(tracesEndpoint(env)).toBe(endpoint);
});

test("headers and attributes are pairs, percent-encoded, and what is none is left out", () => {
  expect(parseKeyValues("a=1, b = x%20y%3D ,c,=d,e=%zz,f=")).toEqual({ a: "1", b: "x y=", e: "%zz", f: "" });
});

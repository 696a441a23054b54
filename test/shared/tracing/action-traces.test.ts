import { describe, expect, test } from "vitest";
import { ACTION_TRACES } from "../../../shared/tracing/variables.ts";
import { type Collector, startCollector } from "../../../simulators/otlp/collector.ts";
import { spansOfJson } from "../../../simulators/otlp/read-json.ts";
import { resultOf, runAction } from "../../actions/action-run.ts";
import { actionLab, REFUSING_PORT } from "../../actions/lab.ts";

const PARENT = { traceId: "0af7651916cd43dd8448eb211c80319c", spanId: "b7ad6b7169203331" };
const TRACEPARENT = `00-${PARENT.traceId}-${PARENT.spanId}-01`;

async function byHand() {
  const collector = await startCollector();
  const lab = await actionLab();
  return {
    collector,
    lab,
    env: { ...lab.env("redfish"), OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint },
    async [Symbol.asyncDispose]() {
      await collector[Symbol.asyncDispose]();
      await lab[Symbol.asyncDispose]();
    },
  };
}

const namesOf = ({ spans }: Pick<Collector, "spans">) => spans.map(({ name }) => name);

describe("an action started by hand", () => {
  test("traces to the collector, below what TRACEPARENT names", async () => {
    await using hand = await byHand();

    const ended = await runAction("power-status", { env: { ...hand.env, TRACEPARENT } });

    expect(ended.code, ended.stderr).toBe(0);
    expect(hand.collector.spans.every(({ traceId }) => traceId === PARENT.traceId)).toBe(true);
    const [action] = hand.collector.named("power-status");
    expect(action).toMatchObject({
      ...{ parentSpanId: PARENT.spanId, service: "pbnj-worker-action", failed: false },
      attributes: { "pbnj.provider": "redfish", "pbnj.round_trips": 2 },
    });
    expect(namesOf(hand.collector)).toEqual([
      "power-status",
      "GET /redfish/v1/Systems",
      "GET /redfish/v1/Systems/1",
      "open redfish",
      "describePower",
    ]);
    expect(ended.stdout.trim().split("\n")).toHaveLength(1);
  });

  test("begins a trace of its own without one, with the name, headers and path that were asked for", async () => {
    await using hand = await byHand();

    const ended = await runAction("power-status", {
      env: {
        ...hand.env,
        OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${hand.collector.endpoint}/custom`,
        OTEL_EXPORTER_OTLP_HEADERS: "x-tenant=a%20b,authorization=Bearer%20t",
        OTEL_RESOURCE_ATTRIBUTES: "service.name=bmc,rack=7",
      },
    });

    expect(ended.code).toBe(0);
    const [sent] = hand.collector.exports;
    expect(sent).toMatchObject({
      path: "/custom",
      headers: { "x-tenant": "a b", authorization: "Bearer t" },
    });
    const [action] = hand.collector.named("power-status");
    expect(action).toMatchObject({ parentSpanId: "", service: "bmc", resource: { rack: "7" } });
    expect(JSON.stringify(resultOf(ended))).not.toContain("traceId");
  });

  test.each([
    ["its parent is not recorded", { TRACEPARENT: TRACEPARENT.replace(/01$/, "00") }],
    ["the sampler says never", { OTEL_TRACES_SAMPLER: "always_off" }],
    ["the SDK is disabled", { OTEL_SDK_DISABLED: "TRUE" }],
    ["there is no exporter", { OTEL_TRACES_EXPORTER: "none" }],
  ])("traces nothing where %s", async (_, env) => {
    await using hand = await byHand();

    const ended = await runAction("power-status", { env: { ...hand.env, ...env } });

    expect(resultOf(ended).ok).toBe(true);
    expect(ended.stderr).toBe("");
    expect(hand.collector.exports).toEqual([]);
  });

  test.each([
    [
      "is not there",
      { OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${REFUSING_PORT}` },
      /^spans not sent: ECONNREFUSED$/,
    ],
    [
      "speaks gRPC alone",
      { OTEL_EXPORTER_OTLP_PROTOCOL: "grpc" },
      /^spans not sent: .* grpc is not supported, use http/,
    ],
    [
      "has no URL",
      { OTEL_EXPORTER_OTLP_ENDPOINT: "collector:4317" },
      /^spans not sent: .* is not an http or https URL$/,
    ],
  ])("ends as without traces where the collector %s, and says so in one line", async (_, env, said) => {
    await using hand = await byHand();

    const ended = await runAction("power-status", { env: { ...hand.env, ...env } });

    expect(resultOf(ended)).toMatchObject({ ok: true, message: "on via redfish" });
    expect(ended.stderr.trim()).toMatch(said);
  });

  test.each([
    ["never answers", "hang", "spans not sent: no answer in time"],
    ["refuses", 503, "spans not sent: the collector answered 503"],
  ] as const)("ends where the collector %s", async (_, mood, said) => {
    await using hand = await byHand();
    hand.collector.mood = mood;

    const ended = await runAction("power-off", { env: { ...hand.env, MODE: "hard", LOG_LEVEL: "warn" } });

    expect(resultOf(ended).ok).toBe(true);
    expect(ended.code).toBe(0);
    expect(ended.stderr.trim()).toBe(said);
  });

  test("has a span of its own for input that is wrong", async () => {
    await using hand = await byHand();

    const ended = await runAction("power-off", { env: { ...hand.env, MODE: "sideways" } });

    expect(ended.code).toBe(2);
    expect(hand.collector.spans).toEqual([
      expect.objectContaining({ name: "power-off", failed: true, message: resultOf(ended).message }),
    ]);
  });
});

describe("spans of a BMC's requests", () => {
  test("name IPMI commands and their completion codes, and providers that lost the race", async () => {
    await using hand = await byHand();
    const env = { ...hand.lab.env("redfish", "ipmi"), REDFISH_PORT: String(REFUSING_PORT) };

    await runAction("power-off", {
      env: { ...env, MODE: "hard", OTEL_EXPORTER_OTLP_ENDPOINT: hand.collector.endpoint },
    });

    const [control] = hand.collector.spans.filter(({ name }) => name.startsWith("Chassis Control"));
    const lost = hand.collector.named("open redfish");
    expect(control).toMatchObject({ kind: 3, attributes: { "pbnj.ipmi.completion_code": "0x00" } });
    expect(lost.length).toBeGreaterThan(0);
    expect(lost.every(({ failed }) => failed)).toBe(true);
    expect(namesOf(hand.collector)).toEqual(expect.arrayContaining(["Open Session", "RAKP1", "RAKP3"]));
  });

  test("go to stdout as lines before the result where a worker asks for them", async () => {
    await using lab = await actionLab();

    const { stdout, code } = await runAction("power-status", {
      env: { ...lab.env("redfish"), TRACEPARENT, [ACTION_TRACES]: "stdout" },
    });

    expect(code).toBe(0);
    const [line = "", ...rest] = stdout.trim().split("\n");
    expect(rest).toHaveLength(1);
    expect(spansOfJson(Buffer.from(line))[0]).toMatchObject({ parentSpanId: PARENT.spanId });
  });
});

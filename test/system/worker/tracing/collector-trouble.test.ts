import { describe, expect, test } from "vitest";
import { REFUSING_PORT } from "../../../actions/lab.ts";
import { type TracingLabOptions, tracingLab } from "./tracing-lab.ts";

const TIMEOUT = 90_000;
const NOT_TAKEN = "trace export failed";
const TAKEN_AGAIN = "trace export recovered";

/** Its actions run inside the worker: who exports their spans is the same. */
const insideLab = (options: TracingLabOptions = {}) =>
  tracingLab({ ...options, argv: ["--runtime", "in-process"] });

const logged = (worker: { readonly log: readonly Readonly<Record<string, unknown>>[] }, message: string) =>
  worker.log.filter(({ msg }) => msg === message);

describe("a collector", () => {
  test("that is missing causes one warning, and fails no action", { timeout: TIMEOUT }, async () => {
    const env = { OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${REFUSING_PORT}` };
    await using lab = await insideLab({ env: { ...env, OTEL_EXPORTER_OTLP_TIMEOUT: "100" } });
    const worker = lab.start();

    const workflow = lab.submit([{ name: "power-status" }, { name: "power-on" }]);
    await lab.untilOver(workflow);
    await worker.untilLogged(NOT_TAKEN);
    worker.kill("SIGTERM");
    const { code } = await worker.ended;

    expect(workflow.state).toBe("SUCCESS");
    expect(code).toBe(0);
    expect(logged(worker, NOT_TAKEN)).toEqual([
      expect.objectContaining({ level: 40, error: expect.stringContaining("ECONNREFUSED") }),
    ]);
  });

  test("that never answers delays neither work nor stop", {
    timeout: TIMEOUT,
  }, async () => {
    await using lab = await insideLab();
    lab.collector.mood = "hang";
    const worker = lab.start();

    const workflow = lab.submit([{ name: "power-status" }]);
    await lab.untilOver(workflow);
    await lab.collector.until(() => lab.collector.exports.length > 0, lab.said);
    worker.kill("SIGTERM");
    const { code } = await worker.ended;

    expect(workflow.state).toBe("SUCCESS");
    expect(code).toBe(0);
  });

  test("that rejects spans is logged once, and again only after it accepted some", {
    timeout: TIMEOUT,
  }, async () => {
    await using lab = await insideLab({ env: { OTEL_EXPORTER_OTLP_TIMEOUT: "500" } });
    const worker = lab.start();
    const traced = () => lab.untilOver(lab.submit([{ name: "power-status" }]));

    lab.collector.mood = 500;
    await traced();
    await worker.untilLogged(NOT_TAKEN);
    await traced();
    lab.collector.mood = "well";
    await traced();
    await worker.untilLogged(TAKEN_AGAIN);
    const before = logged(worker, NOT_TAKEN).length;
    lab.collector.mood = 403;
    await traced();
    await lab.collector.until(() => logged(worker, NOT_TAKEN).length > before, lab.said);

    expect(before).toBe(1);
    expect(logged(worker, NOT_TAKEN)).toHaveLength(2);
    expect(logged(worker, TAKEN_AGAIN)).toHaveLength(1);
  });
});

describe("variables with unsupported values", () => {
  test.each([
    [
      { OTEL_EXPORTER_OTLP_PROTOCOL: "grpc" },
      /PROTOCOL grpc is not offered: use http\/protobuf or http\/json/,
    ],
    [{ OTEL_TRACES_EXPORTER: "zipkin" }, /OTEL_TRACES_EXPORTER zipkin is not offered: use otlp or none/],
    [
      { OTEL_EXPORTER_OTLP_ENDPOINT: "collector:4317" },
      /OTEL_EXPORTER_OTLP_ENDPOINT is not an http or https URL/,
    ],
  ])("get one line, and the worker works: %j", { timeout: TIMEOUT }, async (env, said) => {
    await using lab = await insideLab({ env });
    const worker = lab.start();

    const workflow = lab.submit([{ name: "power-status" }]);
    await lab.untilOver(workflow);

    expect(workflow.state).toBe("SUCCESS");
    expect(worker.log.filter(({ reason }) => said.test(String(reason)))).toHaveLength(1);
    expect(lab.collector.exports).toEqual([]);
  });

  test.each([{ OTEL_SDK_DISABLED: "true" }, { OTEL_TRACES_EXPORTER: "none" }])(
    "or for nothing, get nothing: %j",
    { timeout: TIMEOUT },
    async (env) => {
      await using lab = await insideLab({ env });
      const worker = lab.start();

      await lab.untilOver(lab.submit([{ name: "power-status" }]));
      worker.kill("SIGTERM");
      await worker.ended;

      expect(worker.stderr).not.toContain("OTEL_");
      expect(lab.collector.exports).toEqual([]);
    },
  );
});

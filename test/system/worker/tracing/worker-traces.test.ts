import { beforeAll, describe, expect, test } from "vitest";
import { TRACE_PARENT } from "../../../../shared/tracing/trace-parent.ts";
import { ACTION_TRACES } from "../../../../shared/tracing/variables.ts";
import type { CollectedSpan } from "../../../../simulators/otlp/read-json.ts";
import { LABEL } from "../../../../worker/runtimes/docker/container-spec.ts";
import { LABEL_VARIABLE } from "../../../../worker/runtimes/process/process-spec.ts";
import { processesWith } from "../../../../worker/runtimes/process/process-table.ts";
import { buildActionImages } from "../../../support/action-images.ts";
import { describeWithDocker, dockerCli, dockerSocketPath } from "../../../support/docker.ts";
import { tracingLab } from "./tracing-lab.ts";

const TIMEOUT = 90_000;
const REGISTRY = "localhost/pbnj-worker-tracing-test";

const TOKEN = "authorization=Bearer%20canary-token";
const WAITS_FOR_OFF = {
  name: "wait-for-power-state",
  environment: { STATE: "off", STATE_TIMEOUT: "40s" },
};

type Lab = Awaited<ReturnType<typeof tracingLab>>;

function only(spans: readonly CollectedSpan[], name: string): CollectedSpan {
  const [first, ...others] = spans.filter((span) => span.name === name);
  if (!first || others.length > 0) {
    throw new Error(`not one ${name} among ${spans.map((span) => span.name).join(", ")}`);
  }
  return first;
}

/** The spans below one, with theirs, as their names one within the other. */
function tree(lab: Lab, span: CollectedSpan): string[] {
  return lab.collector
    .below(span)
    .toSorted((a, b) => a.startMs - b.startMs)
    .flatMap((child) => [child.name, ...tree(lab, child).map((name) => `  ${name}`)]);
}

async function oneTraceEach(lab: Lab): Promise<void> {
  lab.start();
  const workflows = [
    lab.submit([{ name: "power-status" }], "pbnj"),
    lab.submit([{ name: "power-status", machine: "node-02" }], "other"),
  ];
  await lab.untilOver(...workflows);
  await lab.untilTraced(2);

  const byMachine = lab.roots().toSorted((a, b) => machineOf(a).localeCompare(machineOf(b)));
  expect(byMachine.map(machineOf)).toEqual(["node-01", "node-02"]);
  expect(new Set(lab.collector.spans.map(({ traceId }) => traceId)).size).toBe(2);
  const trees = byMachine.map((root) => tree(lab, root));
  // On a busy machine, a message over IPMI may be sent twice.
  expect(trees.map((names) => [...new Set(names)])).toEqual([
    [
      "wait for turn",
      "report running",
      "run",
      "  power-status",
      "    describePower",
      "      open redfish",
      "        GET /redfish/v1/Systems",
      "        GET /redfish/v1/Systems/1",
      "report success",
    ],
    [
      "wait for turn",
      "report running",
      "run",
      "  power-status",
      "    describePower",
      "      open ipmi",
      "        Open Session",
      "        RAKP1",
      "        RAKP3",
      "      Get Chassis Status",
      "report success",
    ],
  ]);
  expect(trees.flat().length + 2).toBe(lab.collector.spans.length);
}

function machineOf({ attributes }: CollectedSpan): string {
  return String(attributes["pbnj.machine"]);
}

describe("each action is one trace, from its poll to its report and down to the requests to its BMC", () => {
  test.each([
    ["process", "http/protobuf"],
    ["process", "http/json"],
    ["in-process", "http/protobuf"],
  ])("with the runtime %s over %s", { timeout: TIMEOUT }, async (runtime, protocol) => {
    const env = { OTEL_EXPORTER_OTLP_PROTOCOL: protocol };
    await using lab = await tracingLab({ argv: ["--runtime", runtime], env });

    await oneTraceEach(lab);

    expect(lab.collector.exports[0]?.path).toBe("/v1/traces");
    expect(lab.said()).not.toContain("resourceSpans");
  });
});

describeWithDocker("each action is one trace with containers, too", () => {
  const docker = ["--runtime", "docker", "--docker-socket", dockerSocketPath, "--pull-policy", "never"];
  const argv = [...docker, "--docker-network", "host", "--unsafe-any-image"];
  beforeAll(() => buildActionImages(REGISTRY, ["power-status", "wait-for-power-state"]), 300_000);

  test("whose actions have no access to the collector", { timeout: TIMEOUT }, async () => {
    await using lab = await tracingLab({ argv, registry: REGISTRY });

    await oneTraceEach(lab);
  });

  test("whose own spans outlive the worker that launched them", { timeout: TIMEOUT }, async () => {
    await using lab = await tracingLab({
      argv,
      registry: REGISTRY,
      env: { OTEL_EXPORTER_OTLP_HEADERS: TOKEN },
    });
    const killed = lab.startProcess();
    const workflow = lab.submit([WAITS_FOR_OFF]);
    await killed.untilLogged("action started");
    await lab.collector.until(() => lab.redfish.requests.length > 2, lab.said);
    const containers = await dockerCli("ps", "--quiet", "--filter", `label=${LABEL.workflow}=${workflow.id}`);
    const inspected = await dockerCli("inspect", ...containers.split("\n"));
    killed.kill("SIGKILL");
    await killed.ended;

    lab.start();
    lab.redfish.machines[0]?.do("off");
    await lab.untilOver(workflow);
    await lab.untilTraced(1);

    const [root] = lab.roots();
    const action = only(
      lab.collector.spans.filter(({ kind }) => kind === 1),
      "wait-for-power-state",
    );
    expect(action).toMatchObject({ traceId: root?.traceId, service: "pbnj-worker-action" });
    expect(action.parentSpanId).toBe(only(lab.collector.spans, "run").spanId);
    expect(tree(lab, action)).toContain("    GET /redfish/v1/Systems/1");
    expect(inspected).toContain(`TRACEPARENT=00-${root?.traceId}-`);
    expect(inspected).not.toMatch(/OTEL_|canary-token/);
  });
});

describe("a trace", () => {
  test("names its action and its end", { timeout: TIMEOUT }, async () => {
    const env = { OTEL_SERVICE_NAME: "rack-7", OTEL_RESOURCE_ATTRIBUTES: "deployment.environment.name=lab" };
    await using lab = await tracingLab({ argv: ["--runtime", "in-process"], env });
    lab.start();

    const workflow = lab.submit([{ name: "power-off", environment: { MODE: "hard" } }]);
    await lab.untilOver(workflow);
    await lab.untilTraced(1);

    const [root] = lab.roots();
    const run = only(lab.collector.spans, "run");
    const action = only(
      lab.collector.spans.filter(({ service }) => service === "rack-7-action"),
      "power-off",
    );
    expect(root).toMatchObject({
      ...{ name: "power-off", kind: 5, service: "rack-7", failed: false },
      attributes: {
        "pbnj.workflow": workflow.id,
        "pbnj.task": expect.any(String),
        "pbnj.action": "power-off",
        "pbnj.action.id": expect.any(String),
        "pbnj.agent.id": "pbnj",
        "pbnj.machine": "node-01",
        "pbnj.runtime": "in-process",
        "pbnj.provider": "redfish",
        "pbnj.round_trips": expect.any(Number),
        "pbnj.state": "success",
        "pbnj.delivery": "acknowledged",
        "container.image.name": "registry.example/pbnj-worker/power-off:v1",
      },
      resource: { "deployment.environment.name": "lab", "service.version": expect.any(String) },
    });
    expect(run.attributes).toMatchObject({ "process.exit.code": 0, "pbnj.timed_out": false });
    expect(action.attributes).toMatchObject({ "pbnj.changed": true });
    const requests = lab.collector.spans.filter(({ attributes }) => "http.request.method" in attributes);
    expect(requests).toHaveLength(Number(action.attributes["pbnj.round_trips"]));
    expect(requests.filter(({ attributes }) => attributes["http.request.method"] === "POST")).toHaveLength(1);
    expect(root && action.startMs >= root.startMs && action.endMs <= root.endMs).toBe(true);
  });

  test("of a failure carries the reason that the workflow shows, and the request that failed", {
    timeout: TIMEOUT,
  }, async () => {
    await using lab = await tracingLab({ givenPassword: "not this one" });
    lab.start();

    const workflow = lab.submit([{ name: "power-status" }]);
    await lab.untilOver(workflow);
    await lab.untilTraced(1);

    const [root] = lab.roots();
    const refused = lab.collector.spans.find(
      ({ attributes }) => attributes["http.response.status_code"] === 401,
    );
    expect(root).toMatchObject({ failed: true, message: workflow.tasks[0]?.actions[0]?.message });
    expect(root?.attributes).toMatchObject({ "error.type": "auth", "pbnj.state": "failed" });
    expect(only(lab.collector.spans, "run")).toMatchObject({ failed: true });
    expect(refused).toMatchObject({ failed: true, message: "" });
    expect(only(lab.collector.spans, "open redfish").attributes).toMatchObject({ "error.type": "auth" });
  });

  test("continues under a worker that adopts the actions of a killed one", { timeout: TIMEOUT }, async () => {
    await using lab = await tracingLab();
    const killed = lab.startProcess();
    const workflow = lab.submit([WAITS_FOR_OFF]);
    await killed.untilLogged("action started");
    await lab.collector.until(() => lab.redfish.requests.length > 2, lab.said);
    await lab.collector.until(() => lab.collector.named("report running").length > 0, lab.said);
    killed.kill("SIGKILL");
    await killed.ended;
    const before = new Set(lab.collector.spans.map(({ traceId }) => traceId));

    lab.start();
    lab.redfish.machines[0]?.do("off");
    await lab.untilOver(workflow);
    await lab.untilTraced(1);

    const [root] = lab.roots();
    expect(root?.attributes).toMatchObject({ "pbnj.adopted": true, "pbnj.state": "success" });
    expect([...before]).toEqual([root?.traceId]);
    expect(only(lab.collector.spans, "run")).toMatchObject({
      parentSpanId: root?.spanId,
      traceId: root?.traceId,
    });
  });
});

describe("what an action gets of a trace", () => {
  test("is its place in the trace, and no address or header", {
    timeout: TIMEOUT,
  }, async () => {
    await using lab = await tracingLab({ env: { OTEL_EXPORTER_OTLP_HEADERS: TOKEN } });
    const worker = lab.start();

    const workflow = lab.submit([WAITS_FOR_OFF]);
    await worker.untilLogged("action started");
    await lab.collector.until(() => lab.redfish.requests.length > 2, lab.said);
    const children = await processesWith(LABEL_VARIABLE.key);
    lab.redfish.machines[0]?.do("off");
    await lab.untilOver(workflow);
    await lab.untilTraced(1);

    const run = only(lab.collector.spans, "run");
    const parent = `00-${run.traceId}-${run.spanId}-01`;
    const child = children.find(({ environment: given }) => given[TRACE_PARENT] === parent);
    expect(Object.keys(child?.environment ?? {})).toContain(ACTION_TRACES);
    expect(JSON.stringify(child)).not.toMatch(/OTEL_|canary-token/);
    expect(lab.collector.below(run)).toHaveLength(1);
    const tokens = lab.collector.exports.map(({ headers }) => headers.authorization);
    expect(new Set(tokens)).toEqual(new Set(["Bearer canary-token"]));
  });
});

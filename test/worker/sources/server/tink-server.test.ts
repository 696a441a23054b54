import { createServer } from "node:http2";
import type { AddressInfo } from "node:net";
import { Code, ConnectError } from "@connectrpc/connect";
import { afterEach, describe, expect, it } from "vitest";
import { systemClock } from "../../../../shared/clock.ts";
import type { Logger } from "../../../../shared/logger.ts";
import { silentLogger } from "../../../../shared/logger.ts";
import { exampleTemplate } from "../../../../simulators/tink/example-template.ts";
import { startTinkServer } from "../../../../simulators/tink/server.ts";
import { startLegacyTinkServer } from "../../../../simulators/tink-legacy/server.ts";
import type { Action, ActionStatus } from "../../../../worker/core/action/action.ts";
import type { Poll } from "../../../../worker/core/ports/source.ts";
import { legacyServerApi } from "../../../../worker/features/legacy/legacy-transport.ts";
import { connectTinkServer, type TinkServer } from "../../../../worker/sources/server/tink-server.ts";

const never = new AbortController().signal;
const cleanups: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

function connect(
  server: string,
  api: "auto" | "current" | "legacy" = "auto",
  log: Logger = silentLogger,
): TinkServer {
  const transport = connectTinkServer({
    legacy: legacyServerApi(),
    server,
    tls: false,
    api,
    pollTimeoutMs: 30_000,
    clock: systemClock,
    log,
    maxBackoffMs: 1_000,
  });
  cleanups.push(() => transport.close());
  return transport;
}

async function currentServer(port = 0) {
  const server = await startTinkServer({ holdMs: 20, port });
  cleanups.push(() => server.close());
  return server;
}

async function legacyServer(port = 0) {
  const server = await startLegacyTinkServer({ port });
  cleanups.push(() => server.close());
  return server;
}

function actionIn(poll: Poll): Action {
  if (poll.kind !== "action") throw new Error(`expected an action, got ${JSON.stringify(poll)}`);
  return poll.action;
}

function running(action: Action): ActionStatus {
  return { action, state: "running", startedAt: new Date(), message: "running" };
}

function succeeded(action: Action): ActionStatus {
  return { action, state: "success", startedAt: new Date(), stoppedAt: new Date(), message: "done" };
}

const TEMPLATE = exampleTemplate([{ worker: "pbnj", actions: ["power-off"] }]);

describe("asked for its API", () => {
  it("a server of the current one is polled with it", async () => {
    const server = await currentServer();
    server.submit({ template: TEMPLATE });
    const transport = connect(server.address);

    expect(actionIn(await transport.next("pbnj", never)).name).toBe("power-off");
    expect(transport.servesSeveral()).toBe(false);
  });

  it("a server of the deprecated one is asked for contexts, and takes reports", async () => {
    const server = await legacyServer();
    const workflow = server.submit({ template: TEMPLATE });
    const transport = connect(server.address);

    const action = actionIn(await transport.next("pbnj", never));
    await transport.report(running(action), never);
    await transport.report(succeeded(action), never);

    expect(transport.servesSeveral()).toBe(true);
    await server.until(() => workflow.state === "SUCCESS");
  });

  it("a report before any poll asks for the API first", async () => {
    const server = await legacyServer();
    server.submit({ template: TEMPLATE });
    const action = actionIn(await connect(server.address, "legacy").next("pbnj", never));

    const answer = await connect(server.address).report(running(action), never);

    expect(answer).toEqual({ kind: "acknowledged" });
    expect(server.reports.map(({ taskName, state }) => `${taskName} ${state}`)).toEqual(["task-1 RUNNING"]);
  });

  it("a thousand lanes at once cost one question and one connection", async () => {
    const server = await currentServer();
    const said: string[] = [];
    const info: Logger["info"] = (_, message) => said.push(message);
    const transport = connect(server.address, "auto", { ...silentLogger, info });

    const agentIds = Array.from({ length: 1_000 }, (_, index) => `pbnj-${index}`);
    const polls = await Promise.all(agentIds.map((agentId) => transport.next(agentId, never)));

    expect(polls.every(({ kind }) => kind === "idle")).toBe(true);
    expect(said).toEqual(["tink server API detected"]);
    expect(server.polls).toHaveLength(1_000);
    expect(server.connections.accepted).toBe(1);
  });

  it("a thousand lanes at a deprecated server cost one question more than their polls", async () => {
    const server = await legacyServer();
    const transport = connect(server.address);

    const agentIds = Array.from({ length: 1_000 }, (_, index) => `pbnj-${index}`);
    await Promise.all(agentIds.map((agentId) => transport.next(agentId, never)));

    expect(server.calls).toHaveLength(1_001);
  });
});

describe("without an answer", () => {
  it("an unreachable server fails the poll, and is asked again once it is reachable", async () => {
    const gone = await legacyServer();
    const { port, address } = gone;
    await gone.close();
    const transport = connect(address);

    const failed = await transport.next("pbnj", never);
    if (failed.kind !== "failed") throw new Error("the server is gone");
    expect(failed).toMatchObject({ code: "Unavailable" });
    const server = await legacyServer(port);
    server.submit({ template: TEMPLATE });
    await failed.outage?.over(10_000, never);

    expect(actionIn(await transport.next("pbnj", never)).name).toBe("power-off");
  });

  it("a report is not sent, and is to be retried", async () => {
    const legacy = await legacyServer();
    legacy.submit({ template: TEMPLATE });
    const action = actionIn(await connect(legacy.address).next("pbnj", never));
    legacy.faults.fail("GetWorkflowContexts", new ConnectError("cache not started", Code.Unknown));

    const answer = await connect(legacy.address).report(running(action), never);

    expect(answer).toEqual({ kind: "retry", code: "Unknown", reason: "cache not started" });
    expect(legacy.reports).toEqual([]);
  });

  it("a question does not delay a lane that stops", async () => {
    const server = await legacyServer();
    server.faults.delay("GetWorkflowContexts", 60_000);
    const stop = new AbortController();

    const polling = connect(server.address).next("pbnj", stop.signal);
    await server.until(() => server.calls.length === 1);
    stop.abort(new Error("stopping"));

    await expect(polling).rejects.toThrow("stopping");
  });

  it("a proxy's 404 page decides nothing", async () => {
    const proxy = createServer((_, response) => response.writeHead(404).end("no such backend"));
    await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
    cleanups.push(async () => {
      proxy.close();
    });
    const { port } = proxy.address() as AddressInfo;

    const poll = await connect(`127.0.0.1:${port}`).next("pbnj", never);

    expect(poll).toEqual({ kind: "failed", code: "Unimplemented", reason: "HTTP 404" });
  });
});

describe("replaced while the worker runs", () => {
  it("by one of the deprecated API, a server is asked again before anything else is sent", async () => {
    const before = await currentServer();
    const transport = connect(before.address);
    await transport.next("pbnj", never);

    await before.close();
    const after = await legacyServer(before.port);
    after.submit({ template: TEMPLATE });

    // The worker may not have noticed yet that its connection is lost.
    await expect.poll(async () => (await transport.next("pbnj", never)).kind).toBe("action");
    expect(transport.servesSeveral()).toBe(true);
  });

  it("by one of the current API, an earlier report is not accepted, even if its names fit", async () => {
    const before = await legacyServer();
    before.submit({ template: TEMPLATE });
    const transport = connect(before.address);
    const action = actionIn(await transport.next("pbnj", never));

    await before.close();
    const after = await currentServer(before.port);
    const workflow = after.submit({ template: TEMPLATE });

    await expect.poll(async () => (await transport.report(succeeded(action), never)).kind).toBe("gone");
    expect(after.reports.every(({ actionId }) => actionId === "0/task-1/power-off")).toBe(true);
    expect(workflow.state).toBe("PENDING");
    expect(transport.servesSeveral()).toBe(false);
  });

  it("behind a proxy that keeps the connection, the API is asked for again before a refusal counts", async () => {
    const server = await legacyServer();
    server.submit({ template: TEMPLATE });
    const transport = connect(server.address);
    const action = actionIn(await transport.next("pbnj", never));
    server.faults.fail("ReportActionStatus", new ConnectError("invalid action name", Code.InvalidArgument));
    const unimplemented = new ConnectError("unknown method GetWorkflowContexts", Code.Unimplemented);
    server.faults.fail("GetWorkflowContexts", unimplemented);

    const answer = await transport.report(running(action), never);

    expect(answer).toEqual({
      kind: "retry",
      code: "InvalidArgument",
      reason: "the server speaks the other API by now",
    });
  });
});

describe("with a configured API", () => {
  it("the worker asks nothing", async () => {
    const server = await legacyServer();

    await connect(server.address, "legacy").next("pbnj", never);

    expect(server.calls).toEqual([{ method: "GetWorkflowContexts", about: "pbnj" }]);
  });

  it("a server of the other one fails the poll", async () => {
    const server = await legacyServer();

    expect(await connect(server.address, "current").next("pbnj", never)).toEqual({
      kind: "failed",
      code: "Unimplemented",
      reason: "unknown method GetAction for service proto.WorkflowService",
    });
  });
});

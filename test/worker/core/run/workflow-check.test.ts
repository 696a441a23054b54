import { createServer } from "node:http2";
import type { AddressInfo } from "node:net";
import { Code, ConnectError } from "@connectrpc/connect";
import { afterEach, describe, expect, it, vi } from "vitest";
import { silentLogger } from "../../../../shared/logger.ts";
import { exampleTemplate } from "../../../../simulators/tink/example-template.ts";
import { startTinkServer } from "../../../../simulators/tink/server.ts";
import { startLegacyTinkServer } from "../../../../simulators/tink-legacy/server.ts";
import type { ActionId, RunningStatus } from "../../../../worker/core/action/action.ts";
import { isWorkflowDeleted } from "../../../../worker/core/action/action.ts";
import { MemoryJournal } from "../../../../worker/core/action/action-journal.ts";
import { noObserver } from "../../../../worker/core/action/observer.ts";
import { checkWorkflow } from "../../../../worker/core/run/workflow-check.ts";
import { legacyServerApi } from "../../../../worker/features/legacy/legacy-transport.ts";
import { connectTinkServer, type TinkServer } from "../../../../worker/sources/server/tink-server.ts";
import { scaledClock } from "../../../support/scaled-clock.ts";
import { briefRuntime, executorLab, labSource } from "./executor-lab.ts";

const WITHIN = { timeout: 15_000, interval: 10 };
const SPEED = 1_000;
const template = exampleTemplate([{ worker: "agent", actions: ["power-off"] }]);
const cleanups: (() => Promise<unknown> | undefined)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

function connect(server: string, api: "auto" | "current" = "auto"): TinkServer {
  const transport = connectTinkServer({
    legacy: legacyServerApi(),
    ...{ server, tls: false, api, clock: scaledClock(SPEED), log: silentLogger },
    maxBackoffMs: 1_000,
  });
  cleanups.push(() => transport.close());
  return transport;
}

/** Polls for the action and reports its start. */
async function begun(transport: TinkServer): Promise<RunningStatus> {
  const signal = AbortSignal.timeout(WITHIN.timeout);
  const poll = await transport.next("agent", signal);
  if (poll.kind !== "action") throw new Error(`expected an action, got ${JSON.stringify(poll)}`);
  const status = running(poll.action);
  expect(await transport.report(status, signal)).toEqual({ kind: "acknowledged" });
  return status;
}

function running(action: ActionId): RunningStatus {
  return { action, state: "running", startedAt: new Date(), message: "running" };
}

/** The check of an action, at a server. */
function check(transport: TinkServer, status: RunningStatus) {
  const isGone = vi.fn((...call: Parameters<NonNullable<TinkServer["isGone"]>>) =>
    transport.isGone?.(...call),
  );
  const source = labSource({ isGone: async (...call) => (await isGone(...call)) ?? false });
  const options = { source, clock: scaledClock(SPEED), log: silentLogger };
  const checking = checkWorkflow(options, status, new AbortController().signal);
  cleanups.push(async () => checking.end());
  return { ...checking, asked: () => isGone.mock.calls.length };
}

/** A proxy that answers every call with a status of HTTP. */
async function proxy(status: number): Promise<string> {
  const server = createServer((request, response) => {
    request.resume();
    response.writeHead(status, { "content-type": "text/plain" }).end("404 page not found");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  cleanups.push(() => new Promise((resolve) => server.close(resolve)));
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe.each([
  ["current", () => startTinkServer({ holdMs: 100 })],
  ["legacy", () => startLegacyTinkServer()],
] as const)("the workflow of a running action (API %s)", (_, start) => {
  it("is gone only once the server says so", async () => {
    const server = await start();
    cleanups.push(() => server.close());
    const workflow = server.submit({ template });
    const transport = connect(server.address);
    const { cancel, asked } = check(transport, await begun(transport));

    await vi.waitFor(() => expect(asked()).toBeGreaterThan(2), WITHIN);
    expect(cancel.aborted).toBe(false);
    expect(workflow.tasks[0]?.actions[0]?.state).toBe("RUNNING");

    server.board.delete(workflow);
    await vi.waitFor(() => expect(isWorkflowDeleted(cancel)).toBe(true), WITHIN);
  });

  it("is not gone when the server cannot say so", async () => {
    const server = await start();
    cleanups.push(() => server.close());
    server.submit({ template });
    const transport = connect(server.address);
    const { cancel, asked } = check(transport, await begun(transport));
    const store = new ConnectError("error getting workflow: the store does not answer", Code.Internal);
    for (const method of ["ReportActionStatus", "GetWorkflowContexts"] as const) {
      server.faults.fail(method, store, 3);
      server.faults.fail(method, new ConnectError("invalid workflow id", Code.InvalidArgument), 3);
    }

    await vi.waitFor(() => expect(asked()).toBeGreaterThan(7), WITHIN);
    expect(cancel.aborted).toBe(false);
  });
});

it("a recreated workflow of the same name is another one", async () => {
  const server = await startTinkServer({ holdMs: 100 });
  cleanups.push(() => server.close());
  server.submit({ name: "reboot", template });
  const transport = connect(server.address);
  const { cancel } = check(transport, await begun(transport));

  server.submit({ name: "reboot", template });

  await vi.waitFor(() => expect(isWorkflowDeleted(cancel)).toBe(true), WITHIN);
});

it.each([404, 403, 401, 502])("a proxy's bare %i stops no action", async (status) => {
  const server = await startTinkServer();
  cleanups.push(() => server.close());
  server.submit({ template });
  const begunThere = await begun(connect(server.address));
  const { cancel, asked } = check(connect(await proxy(status), "current"), begunThere);

  await vi.waitFor(() => expect(asked()).toBeGreaterThan(5), WITHIN);
  expect(cancel.aborted).toBe(false);
});

it("an action whose workflow is gone is stopped, its end is not reported, and its agent ID is free", async () => {
  const asked: string[] = [];
  const isGone = async ({ state }: RunningStatus) => asked.push(state) > 2;
  const clock = scaledClock(SPEED);
  const runtime = briefRuntime({ untilCancelled: true });
  const lab = executorLab(runtime, new MemoryJournal(), noObserver, { clock, source: { isGone } });
  const action = { ...ACTION, image: "power-off", timeoutMs: 0, command: [], volumes: [], environment: {} };

  const outcome = await lab.executor.execute(action, lab.signals);

  expect(outcome?.ok).toBe(false);
  await lab.executor.reported();
  expect(lab.reports.map(({ state }) => state)).toEqual(["running"]);
  const before = asked.length;
  await clock.sleep(200_000);
  expect(asked).toHaveLength(before);
});

it("is not asked for while the cluster shows what is deleted", async () => {
  const isGone = vi.fn(async () => true);
  const clock = scaledClock(SPEED);
  const deletions = { cancelOf: () => undefined, seesDeletion: () => true };
  const options = { source: labSource({ isGone, deletions }), clock, log: silentLogger };
  const checking = checkWorkflow(options, running(ACTION), new AbortController().signal);

  await clock.sleep(300_000);
  checking.end();

  expect(isGone).not.toHaveBeenCalled();
});

const ACTION = { workflowId: "default/w", taskId: "t", agentId: "agent", actionId: "a", name: "power-off" };

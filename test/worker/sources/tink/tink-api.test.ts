import { afterEach, describe, expect, it } from "vitest";
import { Secret } from "../../../../shared/secret.ts";
import { createCertificate } from "../../../../simulators/certificate.ts";
import { exampleTemplate } from "../../../../simulators/tink/example-template.ts";
import {
  startTinkServer,
  type TinkServer,
  type TinkServerOptions,
} from "../../../../simulators/tink/server.ts";
import type { Action, ActionStatus } from "../../../../worker/core/action/action.ts";
import type { Poll } from "../../../../worker/core/ports/source.ts";
import { connectTinkApi, type TinkApiOptions } from "../../../../worker/sources/tink/tink-api.ts";

const never = new AbortController().signal;
const cleanups: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function simulate(options: TinkServerOptions = {}): Promise<TinkServer> {
  const server = await startTinkServer({ holdMs: 100, ...options });
  cleanups.push(() => server.close());
  return server;
}

function connect(
  server: TinkServer,
  options: Partial<TinkApiOptions> = {},
): ReturnType<typeof connectTinkApi> {
  const transport = connectTinkApi({ server: server.address, tls: false, ...options });
  cleanups.push(() => transport.close());
  return transport;
}

function actionIn(poll: Poll): Action {
  if (poll.kind !== "action") throw new Error(`expected an action, got ${JSON.stringify(poll)}`);
  return poll.action;
}

function running(action: Action): ActionStatus {
  return { action, state: "running", startedAt: new Date(), message: "running" };
}

function ended(action: Action, state: "success" | "failed" | "timeout"): ActionStatus {
  return {
    action,
    state,
    startedAt: new Date(Date.now() - 1_500),
    stoppedAt: new Date(),
    message: `it is ${state}`,
  };
}

const ONE_ACTION = exampleTemplate([{ worker: "agent", actions: ["power-off"] }]);

describe("polling and reporting", () => {
  it("returns an action as in the template", async () => {
    const server = await simulate();
    const workflow = server.submit({
      name: "reboot",
      template: `version: "0.1"
name: reboot
tasks:
  - name: reboot
    worker: agent
    volumes: [/a:/a]
    environment: { MACHINE: "{{ .machine }}" }
    actions:
      - name: power-off
        image: power:v1
        timeout: 90
        command: ["off"]
        volumes: [/b:/b:ro]
        environment: { MODE: soft }
        namespaces: { network: host, pid: host }
`,
      values: { machine: "rack1" },
    });

    const action = actionIn(await connect(server).next("agent", never));

    expect(action).toEqual({
      workflowId: "default/reboot",
      taskId: workflow.tasks[0]?.id,
      agentId: "agent",
      actionId: workflow.tasks[0]?.actions[0]?.id,
      name: "power-off",
      image: "power:v1",
      timeoutMs: 90_000,
      command: ["off"],
      volumes: ["/a:/a", "/b:/b:ro"],
      environment: { MACHINE: "rack1", MODE: "soft" },
      networkNamespace: "host",
      pidNamespace: "host",
    });
  });

  it("returns idle with the server's message", async () => {
    const server = await simulate();

    expect(await connect(server).next("agent", never)).toEqual({
      kind: "idle",
      reason: "no Workflows found",
    });
  });

  it("returns idle when its own deadline passes before the server's hold", async () => {
    const server = await simulate({ holdMs: 60_000 });

    expect(await connect(server, { pollTimeoutMs: 100 }).next("agent", never)).toMatchObject({
      kind: "idle",
    });
  });

  it("returns an action that becomes ready while the server holds the poll", async () => {
    const server = await simulate({ holdMs: 20_000 });
    const poll = connect(server).next("agent", never);
    await server.until(() => server.polls.length === 1);

    server.submit({ template: ONE_ACTION });

    expect(actionIn(await poll).name).toBe("power-off");
  });

  it("rejects with the signal's reason when it is cancelled during a poll", async () => {
    const server = await simulate({ holdMs: 20_000 });
    const cancelling = new AbortController();
    const poll = connect(server).next("agent", cancelling.signal);
    await server.until(() => server.polls.length === 1);

    cancelling.abort(new Error("the worker stops"));

    await expect(poll).rejects.toThrow("the worker stops");
  });

  it("sends nothing when it is cancelled before it starts", async () => {
    const server = await simulate();
    const transport = connect(server);
    const action = { workflowId: "w", taskId: "t", agentId: "a", actionId: "x", name: "n" };
    const status: ActionStatus = { action, state: "running", startedAt: new Date(), message: "" };

    await expect(transport.next("agent", AbortSignal.abort(new Error("no")))).rejects.toThrow("no");
    await expect(transport.report(status, AbortSignal.abort(new Error("no")))).rejects.toThrow("no");

    expect(server.connections.accepted).toBe(0);
  });

  it("leaves no listener on a long-lived signal", async () => {
    const server = await simulate({ holdMs: 1 });
    const transport = connect(server);
    const listeners = { count: 0 };
    const signal = new AbortController().signal;
    const add = signal.addEventListener.bind(signal);
    const remove = signal.removeEventListener.bind(signal);
    signal.addEventListener = (...args: Parameters<typeof add>) => {
      listeners.count += 1;
      add(...args);
    };
    signal.removeEventListener = (...args: Parameters<typeof remove>) => {
      listeners.count -= 1;
      remove(...args);
    };
    server.submit({ template: ONE_ACTION });

    await transport.next("agent", signal);
    await transport.next("unserved", signal);

    expect(listeners.count).toBe(0);
  });

  it("fails calls after it was closed without connecting again", async () => {
    const server = await simulate();
    const transport = connect(server);
    await transport.next("agent", never);

    await transport.close();

    expect(await transport.next("agent", never)).toMatchObject({ kind: "failed", code: "Canceled" });
    expect(server.connections.accepted).toBe(1);
    await server.until(() => server.connections.open === 0);
  });

  it("ends the polls in progress when it is closed", async () => {
    const server = await simulate({ holdMs: 20_000 });
    const transport = connect(server);
    const poll = transport.next("agent", never);
    await server.until(() => server.polls.length === 1);

    await transport.close();

    expect(await poll).toMatchObject({ kind: "failed" });
  });

  it("reports an unknown workflow as missing", async () => {
    const server = await simulate();
    const transport = connect(server);
    const workflow = server.submit({ template: ONE_ACTION });
    const action = actionIn(await transport.next("agent", never));

    server.board.delete(workflow);

    expect(await transport.report(running(action), never)).toMatchObject({
      kind: "gone",
      code: "Internal",
      perhapsStale: true,
    });
  });

  it("reports an unknown action as gone", async () => {
    const server = await simulate();
    const transport = connect(server);
    server.submit({ template: ONE_ACTION });
    const action = actionIn(await transport.next("agent", never));

    expect(await transport.report(running({ ...action, actionId: "other" }), never)).toEqual({
      kind: "gone",
      code: "NotFound",
      reason: "action not found",
      perhapsStale: true,
    });
  });

  it("is to be retried when an acknowledgement is lost, and the retry does no harm", async () => {
    const server = await simulate();
    const transport = connect(server);
    const workflow = server.submit({ template: ONE_ACTION });
    const action = actionIn(await transport.next("agent", never));
    server.faults.loseAcknowledgement();

    const first = await transport.report(ended(action, "success"), never);
    const second = await transport.report(ended(action, "success"), never);

    expect(first).toMatchObject({ kind: "retry", code: "Unavailable" });
    expect(second).toEqual({ kind: "acknowledged" });
    await server.until(() => workflow.state === "SUCCESS");
  });
});

describe("the connection", () => {
  it("is one for a thousand agent IDs", async () => {
    const server = await simulate({ holdMs: 60_000 });
    const transport = connect(server);
    const agentIds = Array.from({ length: 1_000 }, (_, index) => `agent-${index}`);
    const polls = agentIds.map((agentId) => transport.next(agentId, never));
    await server.until(() => server.polls.length === agentIds.length);

    for (const worker of agentIds)
      server.submit({ template: exampleTemplate([{ worker, actions: ["power-off"] }]) });
    const actions = (await Promise.all(polls)).map(actionIn);

    expect(actions.map(({ agentId }) => agentId)).toEqual(agentIds);
    expect(server.connections).toEqual({ accepted: 1, open: 1 });
  }, 60_000);

  it("is joined by others if the server limits the calls per connection, so that reports are not delayed", async () => {
    const server = await simulate({ holdMs: 20_000, maxConcurrentStreams: 10 });
    const transport = connect(server);
    server.submit({ template: ONE_ACTION });
    const action = actionIn(await transport.next("agent", never));
    const polls = Array.from({ length: 20 }, (_, index) => transport.next(`idle-${index}`, never));
    await server.until(() => server.polls.length === 21);

    const report = await transport.report(running(action), never);

    expect(report).toEqual({ kind: "acknowledged" });
    expect(server.connections.accepted).toBe(3);
    await transport.close();
    expect((await Promise.all(polls)).every(({ kind }) => kind === "failed")).toBe(true);
  });

  it("is opened again after a restart of the server on the same port", async () => {
    const server = await simulate();
    const transport = connect(server);
    const workflow = server.submit({ template: ONE_ACTION });
    const before = actionIn(await transport.next("agent", never));
    await transport.report(running(before), never);

    await server.stop();
    const during = await transport.next("agent", never);
    const report = await transport.report(ended(before, "success"), never);
    await server.start();
    const after = actionIn(await transport.next("agent", never));

    expect(during).toMatchObject({ kind: "failed" });
    expect(report).toMatchObject({
      kind: "retry",
      code: "Unavailable",
      reason: expect.stringContaining("ECONNREFUSED"),
    });
    expect(after).toEqual(before);
    expect(await transport.report(ended(after, "success"), never)).toEqual({ kind: "acknowledged" });
    await server.until(() => workflow.state === "SUCCESS");
  });

  it("distinguishes a server that shuts down from one without work", async () => {
    const server = await simulate({ holdMs: 20_000 });
    const poll = connect(server).next("agent", never);
    await server.until(() => server.polls.length === 1);

    await server.stop("orderly");

    expect(await poll).toEqual({ kind: "failed", code: "Unavailable", reason: "server shutting down" });
  });

  it("lets a poll end on the old connection after a GOAWAY and opens a new one for the next", async () => {
    const server = await simulate({ holdMs: 20_000 });
    const transport = connect(server);
    const held = transport.next("agent", never);
    await server.until(() => server.polls.length === 1);
    server.submit({ template: exampleTemplate([{ worker: "other", actions: ["power-on"] }]) });

    server.dropConnections("goaway");
    // Calls fail until the client has read the GOAWAY.
    let next = await transport.next("other", never);
    while (next.kind === "failed") next = await transport.next("other", never);
    server.submit({ template: ONE_ACTION });

    expect(actionIn(next).name).toBe("power-on");
    expect(actionIn(await held).name).toBe("power-off");
    expect(server.connections.accepted).toBe(2);
  });

  it.each(["", "host:0", "host:99999", "http://host:1", "a b:1", "::1", "[::1"])(
    "refuses %j as a server",
    (server) => {
      expect(() => connectTinkApi({ server, tls: false })).toThrow("is not host:port");
    },
  );

  it("names every address that refused", async () => {
    const server = await simulate();
    await server.stop();

    const poll = await connect(server, { server: `localhost:${server.port}` }).next("agent", never);

    expect(poll).toMatchObject({
      kind: "failed",
      code: "Unavailable",
      reason: expect.stringContaining("ECONNREFUSED"),
    });
  });
});

describe("TLS", () => {
  const authority = createCertificate({ commonName: "tink authority", authority: true });
  const otherAuthority = createCertificate({ commonName: "another authority", authority: true });
  const certificate = createCertificate({ commonName: "tink", altNames: ["127.0.0.1"], issuer: authority });
  const named = createCertificate({ commonName: "tink", altNames: ["tink.example"], issuer: authority });
  const client = createCertificate({ commonName: "worker", issuer: authority });
  const stranger = createCertificate({ commonName: "worker", issuer: otherAuthority });

  it("trusts a server with a configured CA", async () => {
    const server = await simulate({ tls: certificate });

    const poll = await connect(server, { tls: true, ca: authority.cert }).next("agent", never);

    expect(poll).toMatchObject({ kind: "idle" });
  });

  it("rejects a server with an unknown CA", async () => {
    const server = await simulate({ tls: certificate });

    const bySystem = await connect(server, { tls: true }).next("agent", never);
    const byOther = await connect(server, { tls: true, ca: otherAuthority.cert }).next("agent", never);

    expect(bySystem).toMatchObject({ kind: "failed", reason: expect.stringContaining("verify") });
    expect(byOther).toMatchObject({ kind: "failed", reason: expect.stringContaining("verify") });
    expect(server.polls).toEqual([]);
  });

  it("rejects a server with another name, unless that name is configured", async () => {
    const server = await simulate({ tls: named });

    const refused = await connect(server, { tls: true, ca: authority.cert }).next("agent", never);
    const taken = await connect(server, { tls: true, ca: authority.cert, serverName: "tink.example" }).next(
      "agent",
      never,
    );

    expect(refused).toMatchObject({ kind: "failed", reason: expect.stringContaining("altnames") });
    expect(taken).toMatchObject({ kind: "idle" });
  });

  it("accepts any certificate with insecure TLS", async () => {
    const server = await simulate({ tls: named });

    expect(await connect(server, { tls: true, insecureTls: true }).next("agent", never)).toMatchObject({
      kind: "idle",
    });
  });

  it("sends its certificate to a server that requests one", async () => {
    const server = await simulate({ tls: { ...certificate, clientCa: authority.cert } });
    const trust = { tls: true, ca: authority.cert };

    const known = await connect(server, {
      ...trust,
      clientCertificate: client.cert,
      clientKey: new Secret(client.key),
    }).next("agent", never);
    const without = await connect(server, trust).next("agent", never);
    const unknown = await connect(server, {
      ...trust,
      clientCertificate: stranger.cert,
      clientKey: new Secret(stranger.key),
    }).next("agent", never);

    expect(known).toMatchObject({ kind: "idle" });
    expect(without).toMatchObject({ kind: "failed" });
    expect(unknown).toMatchObject({ kind: "failed" });
    expect(server.polls).toEqual(["agent"]);
  });

  it("fails with a clear reason against a plaintext server, and the other way round", async () => {
    const plain = await simulate();
    const secure = await simulate({ tls: certificate });

    expect(await connect(plain, { tls: true, ca: authority.cert }).next("agent", never)).toMatchObject({
      kind: "failed",
    });
    expect(await connect(secure).next("agent", never)).toMatchObject({ kind: "failed" });
  });
});

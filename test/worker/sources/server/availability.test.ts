import { once } from "node:events";
import { type AddressInfo, createServer, type Server } from "node:net";
import { Code, ConnectError } from "@connectrpc/connect";
import { afterEach, describe, expect, it, vi } from "vitest";
import { type Clock, systemClock } from "../../../../shared/clock.ts";
import { type Logger, silentLogger } from "../../../../shared/logger.ts";
import { exampleTemplate } from "../../../../simulators/tink/example-template.ts";
import { startTinkServer } from "../../../../simulators/tink/server.ts";
import { startLegacyTinkServer } from "../../../../simulators/tink-legacy/server.ts";
import type { ActionStatus } from "../../../../worker/core/action/action.ts";
import { noObserver } from "../../../../worker/core/action/observer.ts";
import { runLane } from "../../../../worker/core/lanes/lane.ts";
import { legacyServerApi } from "../../../../worker/features/legacy/legacy-transport.ts";
import { connectTinkServer, type TinkServer } from "../../../../worker/sources/server/tink-server.ts";
import { scaledClock } from "../../../support/scaled-clock.ts";

const WITHIN = { timeout: 30_000, interval: 5 };
const MOST_BACKOFF_MS = 30_000;
const SPEED = 100;

const cleanups: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

interface Said {
  readonly level: "info" | "warn";
  readonly message: string;
  readonly [field: string]: unknown;
}

function listening(): { readonly said: Said[]; readonly log: Logger } {
  const said: Said[] = [];
  const at = (level: Said["level"]) => (fields: object, message: string) => {
    said.push({ level, message, ...fields });
  };
  return { said, log: { ...silentLogger, info: at("info"), warn: at("warn") } };
}

function connect(
  server: string,
  { api = "current", clock = scaledClock(SPEED), log = silentLogger }: Partial<Connecting> = {},
): TinkServer {
  const transport = connectTinkServer({
    legacy: legacyServerApi(),
    server,
    tls: false,
    api,
    clock,
    log,
    maxBackoffMs: MOST_BACKOFF_MS,
  });
  cleanups.push(() => transport.close());
  return transport;
}

interface Connecting {
  readonly api: "auto" | "current" | "legacy";
  readonly clock: Clock;
  readonly log: Logger;
}

/** Accepts connections and closes them at once. */
async function brokenServer(): Promise<{
  readonly address: string;
  readonly attempts: number;
  close(): Promise<void>;
}> {
  let attempts = 0;
  const server: Server = createServer((socket) => {
    attempts += 1;
    socket.on("error", () => undefined);
    socket.destroy();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const close = async () => {
    if (!server.listening) return;
    server.close();
    await once(server, "close");
  };
  cleanups.push(close);
  return {
    address: `127.0.0.1:${port}`,
    get attempts() {
      return attempts;
    },
    close,
  };
}

/** Lanes at one server, and their states. */
function startLanes(count: number, source: TinkServer, { clock, log }: Omit<Connecting, "api">) {
  const stop = new AbortController();
  const states = new Map<string, string>();
  const lanes = Array.from({ length: count }, (_, index) =>
    runLane(
      {
        ...{ agentId: `agent-${index}`, source, clock, log, maxBackoffMs: MOST_BACKOFF_MS },
        execute: async () => true,
        observer: { ...noObserver, lane: (agentId, state) => states.set(agentId, state ?? "ended") },
      },
      stop.signal,
    ),
  );
  cleanups.push(async () => {
    stop.abort();
    await Promise.all(lanes);
  });
  return { count: (state: string) => [...states.values()].filter((each) => each === state).length };
}

function ended(agentId: string, workflowId: string): ActionStatus {
  return {
    action: { workflowId, taskId: "t", agentId, actionId: "a", name: "power-off" },
    state: "success",
    startedAt: new Date(0),
    stoppedAt: new Date(1),
    message: "off",
  };
}

describe.each(["legacy", "auto"] as const)("an outage of a server (API %s)", (api) => {
  it("is one connection attempt at a time and one warning, for 1,000 lanes", async () => {
    const server = await brokenServer();
    const clock = scaledClock(SPEED);
    const { said, log } = listening();
    const lanes = startLanes(1_000, connect(server.address, { api, clock, log }), { clock, log });
    await vi.waitFor(() => expect(said).toHaveLength(1), WITHIN);
    const startMs = clock.monotonicMs();
    const before = server.attempts;

    await clock.sleep(60_000);
    const perSecond = (server.attempts - before) / ((clock.monotonicMs() - startMs) / 1_000);

    expect(perSecond).toBeLessThan(0.5);
    expect(server.attempts).toBeGreaterThan(2);
    // One lane may be probing at this moment.
    await vi.waitFor(() => expect(lanes.count("failing")).toBe(1_000), WITHIN);
    expect(said).toEqual([
      {
        ...{ level: "warn", message: "tink server unavailable, retrying" },
        ...{ code: "Unavailable", reason: "the connection was closed", lanes: expect.any(Number) },
      },
    ]);
  });
});

it("a server that keeps dropping its connections is one warning", async () => {
  const server = await startTinkServer();
  cleanups.push(() => server.close());
  const { said, log } = listening();
  const clock = scaledClock(SPEED);
  startLanes(5, connect(server.address, { clock, log }), { clock, log });
  const stopMs = clock.monotonicMs() + 120_000;

  while (clock.monotonicMs() < stopMs) {
    // The server counts as available because it holds polls.
    await clock.sleep(1_500);
    server.dropConnections();
  }

  const outages = said.filter(({ level }) => level === "warn");
  expect(outages.length).toBe(1);
  expect(outages[0]).toMatchObject({ code: "Unavailable", lanes: 5 });
});

describe("after an outage", () => {
  it("lanes resume spread out, on one connection, with one log message", async () => {
    const before = await startTinkServer();
    const { port, address } = before;
    await before.close();
    const { said, log } = listening();
    const clock = scaledClock(10);
    const lanes = startLanes(1_000, connect(address, { clock, log }), { clock, log });
    await vi.waitFor(() => expect(said).toHaveLength(1), WITHIN);

    const server = await startTinkServer({ port });
    cleanups.push(() => server.close());
    const times: number[] = [];
    await vi.waitFor(
      () => {
        while (times.length < server.polls.length) times.push(clock.monotonicMs());
        expect(times.length).toBe(1_000);
      },
      { timeout: 60_000, interval: 1 },
    );

    // Each poll is held for a minute: ten times as many as usual are 167 in a second.
    const inASecond = times.map(
      (ms, index) => times.slice(0, index + 1).filter((at) => at > ms - 1_000).length,
    );
    expect(Math.max(...inASecond)).toBeLessThanOrEqual(167);
    expect(server.connections.accepted).toBe(1);
    expect(new Set(server.polls).size).toBe(1_000);
    await vi.waitFor(() => expect(lanes.count("failing")).toBeLessThan(1_000), WITHIN);
    expect(said.slice(1)).toEqual([
      {
        ...{ level: "info", message: "tink server available again" },
        ...{ durationMs: expect.any(Number), probes: expect.any(Number), lanes: 1_000 },
      },
    ]);
  });

  it("an answered probe resumes the others at once", async () => {
    const before = await startLegacyTinkServer();
    const { port, address } = before;
    await before.close();
    const { said, log } = listening();
    const transport = connect(address, { api: "legacy", log });
    const failed = await transport.next("pbnj", new AbortController().signal);
    if (failed.kind !== "failed" || !failed.outage) throw new Error("no outage");

    const server = await startLegacyTinkServer({ port });
    cleanups.push(() => server.close());
    const { signal } = new AbortController();
    await failed.outage.over(60_000, signal);

    expect(await transport.next("pbnj", signal)).toMatchObject({ kind: "idle" });
    expect(said.map(({ message }) => message)).toEqual([
      "tink server unavailable, retrying",
      "tink server available again",
    ]);
  });
});

describe("during an outage", () => {
  it("the server is asked again within five seconds, and at once when something else works again", async () => {
    const server = await brokenServer();
    const clock = scaledClock(20);
    const transport = connect(server.address, { clock });
    startLanes(1, transport, { clock, log: silentLogger });
    await clock.sleep(60_000);
    const attempts: number[] = [];
    const startMs = clock.monotonicMs();
    while (clock.monotonicMs() < startMs + 40_000) {
      if (server.attempts > attempts.length) attempts.push(clock.monotonicMs());
      await clock.sleep(100);
    }
    const gaps = attempts.slice(1).map((ms, index) => ms - (attempts[index] ?? 0));
    expect(Math.max(...gaps)).toBeLessThan(6_500);

    const before = server.attempts;
    const hurriedMs = clock.monotonicMs();
    while (server.attempts < before + 3) {
      transport.probeNow?.();
      await clock.sleep(50);
    }
    expect(clock.monotonicMs() - hurriedMs).toBeLessThan(4_000);
  });

  it("reports wait, and are sent when the server is available again", async () => {
    const first = await startTinkServer({ holdMs: 20 });
    const { port, address } = first;
    const template = exampleTemplate([{ worker: "pbnj", actions: ["power-off"] }]);
    await first.close();
    const { said, log } = listening();
    const transport = connect(address, { log });
    const { signal } = new AbortController();
    const status = (index: number) => ended(`pbnj-${index}`, `default/w-${index}`);
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, index) => transport.report(status(index), signal)),
    );
    expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1);
    expect(answers[0]).toMatchObject({ kind: "retry", code: "Unavailable", outage: true });

    const waiting = Promise.all(
      Array.from({ length: 50 }, (_, index) => transport.report(status(index), signal)),
    );
    const server = await startTinkServer({ port, holdMs: 20 });
    cleanups.push(() => server.close());
    server.submit({ template });

    expect((await waiting).map(({ kind }) => kind)).not.toContain("acknowledged");
    expect(server.reports).toHaveLength(50);
    expect(said.filter(({ level }) => level === "warn")).toHaveLength(1);
  });

  it("a cancelled probe is replaced by another", async () => {
    const before = await startTinkServer();
    const { port, address } = before;
    await before.close();
    const transport = connect(address, { clock: scaledClock(20) });
    const { signal } = new AbortController();
    const failed = await transport.next("one", signal);
    if (failed.kind !== "failed" || !failed.outage) throw new Error("no outage");
    await failed.outage.over(60_000, signal);

    const given = new AbortController();
    const server = await startTinkServer({ port });
    cleanups.push(() => server.close());
    const probe = transport.next("one", given.signal).catch(() => "aborted");
    given.abort();
    expect(await probe).toBe("aborted");

    expect(await failed.outage.over(60_000, signal)).toBe(true);
    const another = new AbortController();
    const next = transport.next("two", another.signal).catch(() => "held");
    await vi.waitFor(() => expect(server.polls).toContain("two"), WITHIN);
    another.abort();
    expect(await next).toBe("held");
  });

  it("a failure of one lane is not an outage", async () => {
    const server = await startTinkServer({ holdMs: 20 });
    cleanups.push(() => server.close());
    server.faults.fail("GetAction", new ConnectError("not yours", Code.PermissionDenied));
    const { said, log } = listening();
    const transport = connect(server.address, { log, clock: systemClock });
    const { signal } = new AbortController();

    const one = await transport.next("one", signal);
    const two = await transport.next("two", signal);

    expect(one).toEqual({ kind: "failed", code: "PermissionDenied", reason: "not yours" });
    expect(two).toMatchObject({ kind: "idle" });
    expect(said).toEqual([]);
  });
});

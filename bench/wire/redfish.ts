import { BmcClient } from "../../shared/bmc/client.ts";
import { redfish } from "../../shared/bmc/providers/redfish/redfish-provider.ts";
import { systemClock } from "../../shared/clock.ts";
import { Connection } from "../../shared/contract/connection.ts";
import { silentLogger } from "../../shared/logger.ts";
import { SimulatedMachine } from "../../simulators/machine.ts";
import { startRedfishBmc } from "../../simulators/redfish/bmc.ts";
import { startTcpProxy, type TcpProxy } from "../../test/support/proxy/tcp-proxy.ts";
import { scaledClock } from "../../test/support/scaled-clock.ts";
import type { RedfishWay } from "./budgets.ts";
import { driveClient, driveSession, type Operation, POWER_BEFORE } from "./operations.ts";

export interface RedfishCount {
  readonly requests: number;
  readonly connections: number;
  /** What the session said of itself. */
  readonly told: number;
  /** From the start of opening to the result. */
  readonly ms: number;
}

/** How much faster the client's own waits pass; what a proxy counts does not depend on them. */
const CLOCK_FACTOR = 10;
/** A round trip that is longer than the machine needs, so that every first poll finds it where it should be. */
const SETTLED_MS = 20;

/** Counts one operation, driven through a session, on its way through a proxy. */
export async function countRedfish(
  operation: Operation,
  way: RedfishWay,
  roundTripMs = 0,
): Promise<RedfishCount> {
  return withBmc(operation, roundTripMs, async (proxy, machine) => {
    const connection = connectionOf(proxy, way);
    const hint = way === "known path, basic" ? await learn(connection) : undefined;
    proxy.forget();
    const startedMs = performance.now();
    const session = await open(connection, hint);
    try {
      await driveSession(operation, session, machine);
      const ms = performance.now() - startedMs;
      return { ...countOf(proxy), told: session.roundTrips(), ms };
    } finally {
      await session.close();
    }
  });
}

/** Counts the same operation of a whole client, with its reading before and its verification after. */
export async function countRedfishClient(operation: Operation, way: RedfishWay): Promise<RedfishCount> {
  return withBmc(operation, SETTLED_MS, async (proxy) => {
    const connection = connectionOf(proxy, way);
    const hint =
      way === "known path, basic"
        ? { provider: "redfish", providers: { redfish: await learn(connection) } }
        : {};
    proxy.forget();
    const startedMs = performance.now();
    const client = new BmcClient({ ...connection, hint }, { clock: scaledClock(CLOCK_FACTOR) });
    try {
      await driveClient(operation, client);
      return { ...countOf(proxy), told: client.roundTrips, ms: performance.now() - startedMs };
    } finally {
      await client.close();
    }
  });
}

async function withBmc<T>(
  operation: Operation,
  roundTripMs: number,
  use: (proxy: TcpProxy, machine: SimulatedMachine) => Promise<T>,
): Promise<T> {
  const machine = new SimulatedMachine({ power: POWER_BEFORE[operation], powerOnMs: 0, powerOffMs: 0 });
  const bmc = await startRedfishBmc({ machines: [machine], tls: "http" });
  const proxy = await startTcpProxy({ port: bmc.port, latencyMs: roundTripMs / 2 });
  try {
    return await use(proxy, machine);
  } finally {
    await proxy.close();
    await bmc.close();
  }
}

/** What one call leaves for the next, as it would be stored. */
async function learn(connection: Connection): Promise<unknown> {
  const session = await open(connection, undefined);
  await session.close();
  return JSON.parse(JSON.stringify(session.hint()));
}

function open(connection: Connection, hint: unknown) {
  const context = { clock: systemClock, log: silentLogger, hint };
  return redfish.open(connection, context, new AbortController().signal);
}

function connectionOf({ port }: TcpProxy, way: RedfishWay): Connection {
  return Connection.parse({
    host: "127.0.0.1",
    username: "admin",
    password: "calvin",
    providers: ["redfish"],
    redfish: { port, scheme: "http", auth: way === "unknown path, new session" ? "session" : "auto" },
  });
}

function countOf({ requests, connections }: TcpProxy) {
  return { requests: requests.length, connections };
}

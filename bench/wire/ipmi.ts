import { BmcClient } from "../../shared/bmc/client.ts";
import { ipmi } from "../../shared/bmc/providers/ipmi/ipmi-provider.ts";
import { systemClock } from "../../shared/clock.ts";
import { Connection } from "../../shared/contract/connection.ts";
import { silentLogger } from "../../shared/logger.ts";
import { startIpmiBmc } from "../../simulators/ipmi/bmc.ts";
import { SimulatedMachine } from "../../simulators/machine.ts";
import { startUdpProxy, type UdpProxy } from "../../test/support/proxy/udp-proxy.ts";
import { scaledClock } from "../../test/support/scaled-clock.ts";
import type { IpmiWay } from "./budgets.ts";
import { driveClient, driveSession, type Operation, POWER_BEFORE } from "./operations.ts";

export interface IpmiCount {
  readonly roundTrips: number;
  readonly packetsUp: number;
  readonly packetsDown: number;
  /** From the start (of opening, where the session is not warm) to the result. */
  readonly ms: number;
}

/** What the session said of itself, beside what was counted. */
export interface ToldIpmiCount extends IpmiCount {
  readonly told: number;
}

/**
 * How much faster the client's own waits pass; not so much that a slow machine's answer comes after the first
 * retransmission.
 */
const CLOCK_FACTOR = 2;
/** A round trip that is longer than the machine needs, so that every first poll finds it where it should be. */
const SETTLED_MS = 20;

/** Counts one operation, driven through a session, on its way through a relay. */
export async function countIpmi(operation: Operation, way: IpmiWay, roundTripMs = 0): Promise<ToldIpmiCount> {
  return withIpmiRelay(operation, suitesOf(way), roundTripMs, async (relay, machine) => {
    const connection = connectionOf(relay);
    let startedMs = performance.now();
    const context = { clock: systemClock, log: silentLogger, hint: hintOf(way) };
    const session = await ipmi.open(connection, context, new AbortController().signal);
    try {
      const before = way === "warm session" ? session.roundTrips() : 0;
      if (way === "warm session") {
        relay.forget();
        startedMs = performance.now();
      }
      await driveSession(operation, session, machine);
      const ms = performance.now() - startedMs;
      return { ...countOf(relay), told: session.roundTrips() - before, ms };
    } finally {
      await session.close();
    }
  });
}

/** Counts the same operation of a whole client, with its reading before and its verification after. */
export async function countIpmiClient(operation: Operation): Promise<ToldIpmiCount> {
  return withIpmiRelay(operation, [3, 17], SETTLED_MS, async (relay) => {
    const startedMs = performance.now();
    const client = new BmcClient(connectionOf(relay), { clock: scaledClock(CLOCK_FACTOR) });
    try {
      await driveClient(operation, client);
      return { ...countOf(relay), told: client.roundTrips, ms: performance.now() - startedMs };
    } finally {
      await client.close();
    }
  });
}

/** A machine behind an IPMI BMC behind a relay, for as long as `use` takes. */
export async function withIpmiRelay<T>(
  operation: Operation,
  cipherSuites: readonly (3 | 17)[],
  roundTripMs: number,
  use: (relay: UdpProxy, machine: SimulatedMachine) => Promise<T>,
): Promise<T> {
  const machine = new SimulatedMachine({ power: POWER_BEFORE[operation], powerOnMs: 0, powerOffMs: 0 });
  const bmc = await startIpmiBmc({ machine, cipherSuites });
  const relay = await startUdpProxy({ port: bmc.port, network: { latencyMs: roundTripMs / 2 } });
  try {
    return await use(relay, machine);
  } finally {
    await relay.close();
    await bmc.close();
  }
}

export function countOf({ roundTrips, packets }: UdpProxy) {
  return { roundTrips, packetsUp: packets.up, packetsDown: packets.down };
}

const suitesOf = (way: IpmiWay) => (way === "cold, suite 3" ? ([3] as const) : ([3, 17] as const));
const hintOf = (way: IpmiWay) => (way === "cold, suite 3" ? { cipherSuite: 3 } : undefined);

function connectionOf({ port }: UdpProxy): Connection {
  return Connection.parse({
    host: "127.0.0.1",
    username: "admin",
    password: "calvin",
    providers: ["ipmi"],
    ipmi: { port, allowSuite3: true },
  });
}

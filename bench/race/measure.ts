import { BmcClient } from "../../shared/bmc/client.ts";
import { Connection } from "../../shared/contract/connection.ts";
import { startIpmiBmc } from "../../simulators/ipmi/bmc.ts";
import { SimulatedMachine } from "../../simulators/machine.ts";
import { startRedfishBmc } from "../../simulators/redfish/bmc.ts";
import { startSilentPort } from "../../test/support/proxy/silent-port.ts";
import { startTcpProxy } from "../../test/support/proxy/tcp-proxy.ts";
import { startUdpProxy } from "../../test/support/proxy/udp-proxy.ts";

export type RacingProvider = "redfish" | "ipmi";

export interface RaceScenario {
  readonly title: string;
  readonly alive: RacingProvider;
  /** In order of preference. */
  readonly providers: readonly RacingProvider[];
  /** Whether a hint names the living one as the one that answered last. */
  readonly remembered?: boolean;
  /** The connection's default when absent. */
  readonly headStartMs?: number;
  /** The other one's service takes connections and never answers; otherwise nothing there answers at all. */
  readonly hung?: boolean;
}

export interface RaceTimes {
  /** From the call to the state that was read. */
  readonly resultMs: number;
  /** To the end of `close`, which an action also waits for. */
  readonly closedMs: number;
}

/** How long a round trip to each provider takes. */
export type RoundTrips = Readonly<Record<RacingProvider, number>>;

/** The time of one reading with one provider alive and the other one, where it is among those tried, not. */
export async function measureRace(scenario: RaceScenario, roundTripMs: RoundTrips): Promise<RaceTimes> {
  const machine = new SimulatedMachine({ power: "on" });
  const redfish = await startRedfishBmc({ machines: [machine], tls: "http" });
  const ipmi = await startIpmiBmc({ machine });
  const silent = await startSilentPort();
  const tcp = await startTcpProxy({ port: redfish.port, latencyMs: roundTripMs.redfish / 2 });
  const udp = await startUdpProxy({ port: ipmi.port, network: { latencyMs: roundTripMs.ipmi / 2 } });
  if (scenario.alive === "redfish") udp.cut();
  else tcp.fail({ kind: "black-hole", times: Number.POSITIVE_INFINITY });
  const redfishPort = scenario.alive === "redfish" || scenario.hung ? tcp.port : silent.port;
  const connection = Connection.parse({
    host: "127.0.0.1",
    username: "admin",
    password: "calvin",
    providers: scenario.providers,
    ...(scenario.headStartMs === undefined ? {} : { headStartMs: scenario.headStartMs }),
    redfish: { port: redfishPort, scheme: "http" },
    ipmi: { port: udp.port },
    ...(scenario.remembered ? { hint: { provider: scenario.alive, providers: {} } } : {}),
  });
  const client = new BmcClient(connection);
  const startedMs = performance.now();
  try {
    await client.getPower(AbortSignal.timeout(60_000));
    const resultMs = performance.now() - startedMs;
    await client.close();
    return { resultMs, closedMs: performance.now() - startedMs };
  } finally {
    await client.close();
    await Promise.all([tcp.close(), udp.close(), silent.close()]);
    await Promise.all([redfish.close(), ipmi.close()]);
  }
}

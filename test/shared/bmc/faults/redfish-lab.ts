import { expect } from "vitest";
import { BmcClient } from "../../../../shared/bmc/client.ts";
import { Connection } from "../../../../shared/contract/connection.ts";
import { SimulatedMachine, type SimulatedMachineOptions } from "../../../../simulators/machine.ts";
import { type RedfishBmcOptions, startRedfishBmc } from "../../../../simulators/redfish/bmc.ts";
import { redfishConnection } from "../../../support/bmc-lab.ts";
import { startTcpProxy, type TcpProxyOptions } from "../../../support/proxy/tcp-proxy.ts";
import { scaledClock } from "../../../support/scaled-clock.ts";
import { eventually } from "./attempt.ts";

export interface RedfishFaultLabOptions {
  readonly machine?: SimulatedMachineOptions;
  readonly bmc?: RedfishBmcOptions;
  /** Options of the connection's `redfish` part. */
  readonly redfish?: Readonly<Record<string, unknown>>;
  readonly tls?: Readonly<Record<string, unknown>>;
  readonly requestTimeoutMs?: number;
  readonly onRequest?: TcpProxyOptions["onRequest"];
}

/**
 * A machine behind a Redfish BMC behind a proxy, and a client whose waits pass fifty times as fast. At its end
 * it checks that the client left neither a session nor a connection.
 */
export async function redfishFaultLab(options: RedfishFaultLabOptions = {}) {
  const machine = new SimulatedMachine(options.machine);
  const bmc = await startRedfishBmc({ machines: [machine], tls: "http", ...options.bmc });
  const proxy = await startTcpProxy({
    port: bmc.port,
    ...(options.onRequest && { onRequest: options.onRequest }),
  });
  const clock = scaledClock(50);
  const connection = redfishConnection(proxy.port, {
    requestTimeoutMs: options.requestTimeoutMs ?? 5_000,
    redfish: { port: proxy.port, scheme: bmc.certificate ? "https" : "http", ...options.redfish },
    ...(options.tls && { tls: options.tls }),
  });
  const client = new BmcClient(Connection.parse(connection), { clock });
  return {
    machine,
    bmc,
    proxy,
    clock,
    client,
    /** What was done to the machine, in order. */
    done: () => machine.commands.map(({ action }) => action),
    /** Requests of a kind that were sent, whether or not they arrived. */
    sent: (method: string) => proxy.requests.filter((request) => request.method === method).length,
    /** Another BMC in front of the same machine, as it is after a restart: it knows nothing of sessions. */
    restarted: (more: RedfishBmcOptions = {}) =>
      startRedfishBmc({ machines: [machine], tls: "http", ...options.bmc, ...more }),
    async [Symbol.asyncDispose]() {
      await client.close();
      await eventually(() => proxy.open === 0);
      await proxy.close();
      await bmc.close();
      expect(bmc.sessions.count).toBe(0);
    },
  };
}

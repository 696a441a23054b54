import { expect } from "vitest";
import { BmcClient } from "../../../../shared/bmc/client.ts";
import { Connection } from "../../../../shared/contract/connection.ts";
import { type IpmiBmcOptions, startIpmiBmc } from "../../../../simulators/ipmi/bmc.ts";
import { SimulatedMachine, type SimulatedMachineOptions } from "../../../../simulators/machine.ts";
import { startUdpProxy, type UdpProxyOptions } from "../../../support/proxy/udp-proxy.ts";
import { scaledClock } from "../../../support/scaled-clock.ts";
import { eventually } from "./attempt.ts";

export interface IpmiFaultLabOptions extends Omit<UdpProxyOptions, "port"> {
  readonly machine?: SimulatedMachineOptions;
  readonly bmc?: Omit<IpmiBmcOptions, "machine">;
  /** Options of the connection. */
  readonly connection?: Readonly<Record<string, unknown>>;
  /** False where the wire loses what would end a session, too. */
  readonly freesSlots?: boolean;
}

/**
 * A machine behind an IPMI BMC behind a relay, and a client whose waits pass ten times as fast: its first
 * retransmission comes after 50 ms, which no answer over loopback takes. At its end it checks that the client
 * left no session.
 */
export async function ipmiFaultLab(options: IpmiFaultLabOptions = {}) {
  const { machine: machineOptions, bmc: bmcOptions, connection: more, freesSlots = true, ...wire } = options;
  const machine = new SimulatedMachine(machineOptions);
  const bmc = await startIpmiBmc({ ...bmcOptions, machine });
  const relay = await startUdpProxy({ port: bmc.port, ...wire });
  const connection = {
    host: "127.0.0.1",
    username: "admin",
    password: "calvin",
    providers: ["ipmi"],
    connectTimeoutMs: 15_000,
    requestTimeoutMs: 15_000,
    ipmi: { port: relay.port },
    ...more,
  };
  const client = new BmcClient(Connection.parse(connection), { clock: scaledClock(10) });
  return {
    machine,
    bmc,
    relay,
    client,
    /** What was done to the machine, in order. */
    done: () => machine.commands.map(({ action }) => action),
    /** Another BMC in front of the same machine, as it is after a restart: it knows nothing of sessions. */
    restarted: () => startIpmiBmc({ ...bmcOptions, machine }),
    async [Symbol.asyncDispose]() {
      await client.close();
      if (freesSlots) await eventually(() => bmc.sessions() === 0);
      await relay.close();
      await bmc.close();
      expect(bmc.sessions()).toBeLessThanOrEqual(8);
    },
  };
}

import { BmcClient, type BmcClientOptions } from "../../shared/bmc/client.ts";
import { Connection } from "../../shared/contract/connection.ts";
import { type LogFields, silentLogger } from "../../shared/logger.ts";
import { SimulatedMachine, type SimulatedMachineOptions } from "../../simulators/machine.ts";
import { type RedfishBmcOptions, startRedfishBmc } from "../../simulators/redfish/bmc.ts";
import { scaledClock } from "./scaled-clock.ts";

/** A connection to a BMC over plain HTTP on loopback, as JSON a user could have written. */
export function redfishConnection(port: number, more: Readonly<Record<string, unknown>> = {}) {
  return {
    host: "127.0.0.1",
    username: "admin",
    password: "calvin",
    providers: ["redfish"],
    connectTimeoutMs: 2_000,
    requestTimeoutMs: 2_000,
    redfish: { port, scheme: "http" },
    ...more,
  };
}

/** A machine behind a Redfish BMC and a client whose waits pass fifty times as fast. */
export async function redfishLab(
  machineOptions: SimulatedMachineOptions = {},
  bmcOptions: RedfishBmcOptions = {},
  more: Readonly<Record<string, unknown>> = {},
  clientOptions: Pick<BmcClientOptions, "busyMs"> = {},
) {
  const logged: (readonly [LogFields, string])[] = [];
  const info = (fields: LogFields, message: string) => void logged.push([fields, message]);
  const machine = new SimulatedMachine(machineOptions);
  const bmc = await startRedfishBmc({ machines: [machine], tls: "http", ...bmcOptions });
  const client = new BmcClient(Connection.parse(redfishConnection(bmc.port, more)), {
    clock: scaledClock(50),
    log: { ...silentLogger, info },
    ...clientOptions,
  });
  return {
    machine,
    bmc,
    client,
    /** Log messages of level info. */
    logged,
    async [Symbol.asyncDispose]() {
      await client.close();
      await bmc.close();
    },
  };
}

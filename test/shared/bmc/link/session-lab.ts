import { BmcClient } from "../../../../shared/bmc/client.ts";
import { systemClock } from "../../../../shared/clock.ts";
import { BmcError } from "../../../../shared/contract/bmc-error.ts";
import { Connection } from "../../../../shared/contract/connection.ts";
import { startIpmiBmc } from "../../../../simulators/ipmi/bmc.ts";
import { SimulatedMachine } from "../../../../simulators/machine.ts";
import { startRedfishBmc } from "../../../../simulators/redfish/bmc.ts";

export const SLOTS = 8;
export type Kind = "redfish" | "ipmi";

/** One machine behind a BMC of each kind, both with few slots. */
export async function sessionLab() {
  const machine = new SimulatedMachine({ power: "on" });
  const redfish = await startRedfishBmc({
    machines: [machine],
    tls: "http",
    sessionLimit: SLOTS,
    latencyMs: 2,
  });
  const ipmi = await startIpmiBmc({
    machine,
    sessionSlots: SLOTS,
    network: { latencyMs: 2 },
  });
  const used = { redfish: () => redfish.sessions.count, ipmi: () => ipmi.sessions() };
  return {
    used,
    connection: (providers: readonly Kind[], auth: "auto" | "session" = "session") =>
      Connection.parse({
        host: "127.0.0.1",
        username: "admin",
        password: "calvin",
        providers,
        headStartMs: 5,
        redfish: { port: redfish.port, scheme: "http", auth },
        ipmi: { port: ipmi.port },
      }),
    sessionsOpened: () =>
      redfish.log.filter((line) => line.startsWith("POST") && line.includes("Sessions")).length,
    async [Symbol.asyncDispose]() {
      await Promise.all([redfish.close(), ipmi.close()]);
    },
  };
}

/** One run that ends by itself, is aborted or is closed midway; resolves with the class of its error. */
export async function runOnce(connection: Connection, roll: () => number): Promise<string> {
  const client = new BmcClient(connection);
  const abort = new AbortController();
  const fate = roll();
  const disturbed = systemClock.sleep(roll() * 30).then(() => {
    if (fate < 0.4) abort.abort(new BmcError("cancelled", "a random end"));
    else if (fate < 0.6) return client.close();
    return undefined;
  });
  try {
    await client.getPower(abort.signal);
    await client.setBoot({ device: "pxe", persistent: false, mode: "uefi" }, abort.signal);
    return "none";
  } catch (thrown) {
    return BmcError.from(thrown).class;
  } finally {
    await disturbed;
    await client.close();
  }
}

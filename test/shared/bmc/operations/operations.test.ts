import { describe, expect, test } from "vitest";
import { BmcClient } from "../../../../shared/bmc/client.ts";
import { Connection } from "../../../../shared/contract/connection.ts";
import { startIpmiBmc } from "../../../../simulators/ipmi/bmc.ts";
import { SimulatedMachine } from "../../../../simulators/machine.ts";
import { redfishConnection, redfishLab } from "../../../support/bmc-lab.ts";

const signal = new AbortController().signal;

/** One machine whose BMC answers Redfish and IPMI, as real ones do. */
async function dualLab() {
  const machine = new SimulatedMachine();
  const users = [{ name: "admin", password: "calvin" }];
  const ipmi = await startIpmiBmc({ machine, users });
  const lab = await redfishLab({}, { machines: [machine] });
  const connection = Connection.parse({
    ...redfishConnection(lab.bmc.port),
    providers: ["redfish", "ipmi"],
    ipmi: { port: ipmi.port, privilege: "administrator" },
  });
  const client = new BmcClient(connection);
  return {
    client,
    machine,
    ipmi,
    async [Symbol.asyncDispose]() {
      await client.close();
      await lab[Symbol.asyncDispose]();
      await ipmi.close();
    },
  };
}

describe("what the first provider cannot do", () => {
  test("is done by the next one, while the session of the first is kept", async () => {
    await using lab = await dualLab();
    await lab.client.getPower(signal);

    await lab.client.deactivateSol(signal);
    const through = lab.client.provider;
    await lab.client.getPower(signal);

    expect(through).toBe("ipmi");
    expect(lab.client.provider).toBe("redfish");
  });
});

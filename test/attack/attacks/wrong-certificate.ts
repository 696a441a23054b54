import { startIpmiBmc } from "../../../simulators/ipmi/bmc.ts";
import { SimulatedMachine } from "../../../simulators/machine.ts";
import { startRedfishBmc } from "../../../simulators/redfish/bmc.ts";
import { type Attack, unless } from "../attack.ts";
import { closing, newPassword, openLab } from "../lab.ts";

export const attack: Attack = {
  tries: "another host answers for a BMC with another certificate, so that the worker falls back to IPMI",
  holds: "the action fails because of the certificate, and no command is given over IPMI",
  async run(setting) {
    const machine = new SimulatedMachine({ power: "on" });
    const password = newPassword();
    const users = [{ name: "admin", password, privilege: "administrator" as const }];
    await using redfish = closing(await startRedfishBmc({ machines: [machine], password }));
    await using ipmi = closing(await startIpmiBmc({ machine, users }));
    const entry = {
      providers: ["redfish", "ipmi"],
      tls: { fingerprint: "ab".repeat(32) },
      redfish: { port: redfish.port },
      ipmi: { port: ipmi.port },
    };
    await using lab = await openLab({ setting, password, machines: [], entries: { "node-1": entry } });
    const { state, message } = await lab.run("node-1", { name: "power-status" });

    return [
      ...unless(state === "FAILED" && /certificate|fingerprint/i.test(message), `${state} ${message}`),
      ...unless(!ipmi.log.some((name) => /RAKP1|Chassis/.test(name)), "it logged in over IPMI"),
      ...unless(redfish.requests.length === 0, "it sent a request to the wrong certificate"),
    ];
  },
};

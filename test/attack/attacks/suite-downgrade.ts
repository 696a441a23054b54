import { startIpmiBmc } from "../../../simulators/ipmi/bmc.ts";
import { SimulatedMachine } from "../../../simulators/machine.ts";
import { type Attack, unless } from "../attack.ts";
import { closing, newPassword, openLab } from "../lab.ts";

export const attack: Attack = {
  tries: "a BMC, or a host in front of it, grants no more than IPMI cipher suite 3",
  holds: "the action fails and names the suite, unless the machine's entry allows it",
  async run(setting) {
    const machine = new SimulatedMachine({ power: "on" });
    const password = newPassword();
    const users = [{ name: "admin", password, privilege: "administrator" as const }];
    await using ipmi = closing(await startIpmiBmc({ machine, users, cipherSuites: [3] }));
    const entry = { providers: ["ipmi"], ipmi: { port: ipmi.port } };
    await using lab = await openLab({ setting, password, machines: [], entries: { "node-1": entry } });
    const { state, message } = await lab.run("node-1", { name: "power-status" });

    return [
      ...unless(state === "FAILED" && /suite/.test(message), `${state} ${message}`),
      ...unless(
        !ipmi.log.some((name) => /RAKP1|Chassis/.test(name)),
        "it sent what the password is tried with",
      ),
    ];
  },
};

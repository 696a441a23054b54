import { type Attack, unless } from "../attack.ts";
import { openLab } from "../lab.ts";

export const attack: Attack = {
  tries: "a BMC, or a host in front of it, grants no more than IPMI cipher suite 3",
  holds: "the action fails and names the suite, unless the machine's entry allows it",
  async run(setting) {
    await using lab = await openLab({ setting, providers: ["ipmi"], ipmi: { cipherSuites: [3] } });
    const { state, message } = await lab.run("node-1", { name: "power-status" });

    return [
      ...unless(state === "FAILED" && /suite/.test(message), `${state} ${message}`),
      ...unless(
        !lab.ipmi().log.some((name) => /RAKP1|Chassis/.test(name)),
        "it sent what the password is tried with",
      ),
    ];
  },
};

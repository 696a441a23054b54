import { type Attack, unless } from "../attack.ts";
import { openLab } from "../lab.ts";

export const attack: Attack = {
  tries: "another host answers for a BMC with another certificate, so that the worker falls back to IPMI",
  holds: "the action fails because of the certificate, and no command is given over IPMI",
  async run(setting) {
    await using lab = await openLab({
      ...{ setting, providers: ["redfish", "ipmi"], bmc: { tls: undefined } },
      entry: { tls: { fingerprint: "ab".repeat(32) } },
    });
    const { state, message } = await lab.run("node-1", { name: "power-status" });

    return [
      ...unless(state === "FAILED" && /certificate|fingerprint/i.test(message), `${state} ${message}`),
      ...unless(!lab.ipmi().log.some((name) => /RAKP1|Chassis/.test(name)), "it logged in over IPMI"),
      ...unless(lab.bmc().requests.length === 0, "it sent a request to the wrong certificate"),
    ];
  },
};

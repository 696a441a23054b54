import { type Attack, unless } from "../attack.ts";
import { openLab } from "../lab.ts";

export const attack: Attack = {
  tries: "a template sets LOCALDOMAIN and RES_OPTIONS, so that a BMC's short name resolves in another domain",
  holds: "the action is refused by the variable's name, and nothing is done at the BMC",
  async run(setting) {
    await using lab = await openLab({ setting });
    const given = { LOCALDOMAIN: "attacker.example", RES_OPTIONS: "ndots:15" };
    const refusals = [];
    for (const [name, value] of Object.entries(given)) {
      const { state, message } = await lab.run("node-1", {
        name: "power-status",
        environment: { [name]: value },
      });
      refusals.push(...unless(state === "FAILED" && message.includes(name), `${name} not refused: ${state}`));
    }

    return [...refusals, ...unless(lab.bmc().requests.length === 0, "the BMC was asked something")];
  },
};

import { type Attack, unless } from "../attack.ts";
import { openForeignHost } from "../foreign-host.ts";
import { openLab } from "../lab.ts";

export const attack: Attack = {
  tries:
    'ownConnections: deny is bypassed by flags with empty variables of the same spelling ("--bmc-host": "")',
  holds: "the action is refused, and the host that the template names is never contacted",
  async run(setting) {
    await using foreign = await openForeignHost();
    await using lab = await openLab({ setting });
    const flags = {
      "--bmc-host": "chosen-by-author",
      "--rpc-url": `${foreign.http.url}/`,
    };
    const command = Object.entries(flags).flat();
    const environment = Object.fromEntries(Object.keys(flags).map((name) => [name, ""]));
    // Its agent ID is of no machine: nothing but the flags says which BMC is meant.
    const { state } = await lab.run("spare", { name: "power-status", command, environment, timeout: 10 });

    return [
      ...unless(foreign.contacts === 0, `the template's host was contacted ${foreign.contacts} times`),
      ...unless(state === "FAILED", `not refused: ${state}`),
    ];
  },
};

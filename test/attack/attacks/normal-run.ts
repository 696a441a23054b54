import { type Attack, unless } from "../attack.ts";
import { openLab } from "../lab.ts";

export const attack: Attack = {
  tries: "an observer reads everything while actions succeed and while their password is refused",
  holds:
    "the password is in no argument, environment, log, page, file, message or docker inspect, in any form",
  async run(setting) {
    await using lab = await openLab({ setting, machines: ["node-1", "node-2"] });
    lab.bmc("node-2").fail({ kind: "refuse", status: 401, times: 100 });
    const [good, refused] = await Promise.all([
      lab.run("node-1", { name: "power-off", environment: { MODE: "hard", LOG_LEVEL: "debug" } }),
      lab.run("node-2", { name: "power-status", environment: { LOG_LEVEL: "debug" } }),
    ]);

    return [
      ...(await lab.leaks()),
      ...unless(good.state === "SUCCESS", `the good action: ${good.state} ${good.message}`),
      ...unless(refused.state === "FAILED", `the refused one: ${refused.state}`),
      ...unless(lab.machine().count("off") === 1, `${lab.machine().count("off")} commands to power off`),
    ];
  },
};

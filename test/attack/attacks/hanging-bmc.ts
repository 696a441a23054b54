import { type Attack, unless } from "../attack.ts";
import { openLab } from "../lab.ts";

const TIMEOUT_S = 4;

export const attack: Attack = {
  tries: "BMCs never answer, or send a body without end",
  holds: "their actions end with their timeout, and another machine's action is not delayed",
  async run(setting) {
    await using lab = await openLab({ setting, machines: ["node-1", "node-2", "node-3"] });
    lab.bmc("node-1").fail({ kind: "silent", times: 100 });
    lab.bmc("node-2").fail({ kind: "slow-body", times: 100 });
    const [silent, slow, other] = await Promise.all([
      lab.run("node-1", { name: "power-status", timeout: TIMEOUT_S }),
      lab.run("node-2", { name: "power-status", timeout: TIMEOUT_S }),
      lab.run("node-3", { name: "power-status" }),
    ]);

    // Beside the timeout: a container's start and end, or three times what the whole action of the other machine takes on this host.
    const limitMs = TIMEOUT_S * 1_000 + Math.max(15_000, 3 * other.tookMs);
    return [
      ...unless(["TIMEOUT", "FAILED"].includes(silent.state), `the silent one: ${silent.state}`),
      ...unless(["TIMEOUT", "FAILED"].includes(slow.state), `the slow one: ${slow.state}`),
      ...unless(Math.max(silent.tookMs, slow.tookMs) <= limitMs, "they ended late"),
      ...unless(other.state === "SUCCESS", `the other machine: ${other.state} ${other.message}`),
    ];
  },
};

import { setTimeout as sleep } from "node:timers/promises";
import { type Attack, unless } from "../attack.ts";
import { openCountingPort } from "../foreign-host.ts";
import { openLab } from "../lab.ts";

const LANES = 300;
const OUTAGE_MS = 8_000;
const MOST_CONNECTIONS = 40;
const MOST_WARNINGS = 20;

export const attack: Attack = {
  tries: `the tink server goes away from a worker with ${LANES} lanes`,
  holds: `at most ${MOST_CONNECTIONS} connection attempts and ${MOST_WARNINGS} warnings in ${OUTAGE_MS / 1_000} s, and all lanes are back after it`,
  async run(setting) {
    const ids = Array.from({ length: LANES }, (_, index) => `many-${index}`).join();
    await using lab = await openLab({ setting, argv: ["--agent-id", ids, "--http-address", "127.0.0.1:0"] });
    await lab.server.until(() => new Set(lab.server.polls).size >= LANES, 60_000);
    const before = warnings(lab.worker.stderr);
    await lab.server.stop();
    const attempts = await countedOn(lab.server.port);
    const warned = warnings(lab.worker.stderr) - before;
    await lab.server.start();
    const next = await lab.run("node-1", { name: "power-off", environment: { MODE: "hard" } }, 40_000);

    return [
      ...unless(attempts <= MOST_CONNECTIONS, `${attempts} connection attempts`),
      ...unless(warned <= MOST_WARNINGS, `${warned} warnings`),
      ...unless(next.state === "SUCCESS", `the next action: ${next.state}`),
    ];
  },
};

async function countedOn(port: number): Promise<number> {
  await using counting = await openCountingPort(port);
  await sleep(OUTAGE_MS);
  return counting.connections;
}

function warnings(log: string): number {
  return log.split('"level":40').length - 1;
}

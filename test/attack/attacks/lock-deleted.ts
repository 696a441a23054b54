import { rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type Attack, unless } from "../attack.ts";
import { openLab } from "../lab.ts";

/** A first worker that finds out that it lost its lock may take this long to stop. */
const STOPS_WITHIN_MS = 8_000;

export const attack: Attack = {
  tries:
    "the lock file of a running worker is deleted, and a second worker is started on its state directory",
  holds: "the second worker exits before it polls, or the first stops: never do two of them run",
  async run(setting) {
    await using lab = await openLab({ setting });
    await lab.worker.untilLogged("worker started");
    await rm(join(lab.stateDirectory, "lock"), { force: true });
    const second = lab.start();
    const started = second.untilLogged("worker started").then(
      () => "started",
      () => "ended",
    );
    const end = await Promise.race([second.ended, started]);
    if (end !== "started") {
      return unless(typeof end === "object" && end.code !== 0, "the second worker ended with 0");
    }
    const first = await Promise.race([lab.worker.ended, sleep(STOPS_WITHIN_MS, "runs")]);

    return unless(first !== "runs", "two workers run on one state directory");
  },
};

import { rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type Attack, unless } from "../attack.ts";
import { openLab } from "../lab.ts";

export const attack: Attack = {
  tries:
    "the lock file of a running worker is deleted, and a second worker is started on its state directory",
  holds: "the second worker exits with 2, or the first stops: never do two of them run",
  async run(setting) {
    await using lab = await openLab({ setting });
    await lab.worker.untilLogged("worker started");
    await rm(join(lab.stateDirectory, "lock"), { force: true });
    const second = lab.start();
    const end = await Promise.race([second.ended, sleep(10_000, "runs")]);
    const firstRuns = lab.worker.child.exitCode === null;

    return [
      ...unless(end !== "runs" || !firstRuns, "two workers run on one state directory"),
      ...unless(
        end === "runs" || (typeof end === "object" && end.code === 2),
        `it ended with ${JSON.stringify(end)}`,
      ),
    ];
  },
};

import { type Attack, unless } from "../attack.ts";
import { openLab } from "../lab.ts";

/** A tenth of what a real server takes. */
const HOLD_MS = 6_000;
const WITHIN_MS = 15_000;

export const attack: Attack = {
  tries: "a workflow is deleted while its action runs, and the server holds every report about it",
  holds: `the machine's next action has ended ${WITHIN_MS / 1_000} s later`,
  async run(setting) {
    await using lab = await openLab({ setting, hostile: true, holdMs: HOLD_MS });
    const deleted = lab.submit("node-1", { name: "hostile", command: ["sleep:1500"] });
    await lab.server.until(() => deleted.state === "RUNNING", 60_000);
    lab.server.board.delete(deleted);
    const next = await lab.run("node-1", { name: "hostile", command: ["sleep:1"] }, WITHIN_MS);

    return unless(
      next.state === "SUCCESS",
      `the next action: ${next.state} after ${(next.tookMs / 1e3).toFixed(1)} s`,
    );
  },
};

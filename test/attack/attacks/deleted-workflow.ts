import { type Attack, unless } from "../attack.ts";
import { openLab } from "../lab.ts";

/** A tenth of what a real server takes. */
const HOLD_MS = 6_000;
/** How long a final report keeps its machine, and what is spare. */
const WITHIN_MS = 15_000;
const ACTION = { name: "hostile", command: ["sleep:1500"] };

export const attack: Attack = {
  tries: "a workflow is deleted while its action runs, and the server holds every report about it",
  holds: `the machine's next action has ended ${WITHIN_MS / 1_000} s later, beside three times what one takes alone on this host`,
  async run(setting) {
    await using lab = await openLab({ setting, hostile: true, holdMs: HOLD_MS });
    const alone = await lab.run("node-1", ACTION);
    const deleted = lab.submit("node-1", ACTION);
    await lab.server.until(() => deleted.state === "RUNNING", 60_000);
    lab.server.board.delete(deleted);
    const withinMs = WITHIN_MS + 3 * alone.tookMs;
    const next = await lab.run("node-1", { name: "hostile", command: ["sleep:1"] }, withinMs);

    return unless(
      next.state === "SUCCESS",
      `the next action: ${next.state} after ${(next.tookMs / 1e3).toFixed(1)} s`,
    );
  },
};

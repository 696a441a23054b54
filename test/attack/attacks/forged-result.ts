import { type Attack, unless } from "../attack.ts";
import { openLab, printing } from "../lab.ts";

const LONGEST_MESSAGE = 8_192;
const good = JSON.stringify({
  ...{ action: "hostile", ok: true, message: "all is well" },
  ...{ durationMs: 1, roundTrips: 0 },
});
const forgeries: Readonly<Record<string, readonly string[]>> = {
  forged: [printing(`${good}\n`), "exit:1"],
  several: [printing(`${good}\n`.repeat(50)), "exit:3"],
  huge: ["huge:5000000", "exit:1"],
  broken: [printing(`${good.slice(0, -9)}\n`), "exit:1"],
};

export const attack: Attack = {
  tries: "an action prints a good result and fails, several results, one of 5 MB, and one that is no JSON",
  holds: "the exit code decides, messages are short, and the next action runs",
  async run(setting) {
    await using lab = await openLab({ setting, hostile: true });
    const reasons: string[] = [];
    for (const [name, command] of Object.entries(forgeries)) {
      const { state, message } = await lab.run("node-1", { name: "hostile", command });
      reasons.push(...unless(state === "FAILED", `${name}: ${state}`));
      reasons.push(...unless(message.length <= LONGEST_MESSAGE, `${name}: ${message.length} characters`));
    }
    const next = await lab.run("node-1", { name: "hostile", command: [printing(`${good}\n`)] });

    return [
      ...reasons,
      ...unless(next.state === "SUCCESS", `the next action: ${next.state} ${next.message}`),
    ];
  },
};

import { type Attack, unless } from "../attack.ts";
import { openLab, printing } from "../lab.ts";

const LONGEST_MESSAGE = 8_192;
const good = JSON.stringify({
  action: "hostile",
  ok: true,
  message: "all is well",
  durationMs: 1,
  roundTrips: 0,
});
const huge = JSON.stringify({
  action: "hostile",
  ok: false,
  class: "internal",
  message: "x".repeat(5_000_000),
});

export const attack: Attack = {
  tries: "an action prints a good result and fails, several results, one of 5 MB, and one that is no JSON",
  holds: "the exit code decides, messages are short, and the next action runs",
  async run(setting) {
    await using lab = await openLab({ setting, hostile: true });
    const forged = await lab.run("node-1", { name: "hostile", command: [printing(`${good}\n`), "exit:1"] });
    const several = await lab.run("node-1", {
      name: "hostile",
      command: [printing(`${good}\n`.repeat(50)), "exit:3"],
    });
    const large = await lab.run("node-1", {
      name: "hostile",
      command: [...Array<string>(40).fill(printing(huge.slice(0, 90_000))), printing("\n"), "exit:1"],
    });
    const broken = await lab.run("node-1", {
      name: "hostile",
      command: [printing(`${good.slice(0, -9)}\n`), "exit:1"],
    });
    const next = await lab.run("node-1", { name: "hostile", command: [printing(`${good}\n`)] });

    return [
      ...Object.entries({ forged, several, large, broken }).flatMap(([name, { state, message }]) => [
        ...unless(state === "FAILED", `${name}: ${state}`),
        ...unless(message.length <= LONGEST_MESSAGE, `${name}: a message of ${message.length} characters`),
      ]),
      ...unless(next.state === "SUCCESS", `the next action: ${next.state} ${next.message}`),
    ];
  },
};

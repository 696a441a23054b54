import { type Attack, unless } from "../attack.ts";
import { openLab } from "../lab.ts";

export const attack: Attack = {
  tries: "a template says MDOE: hard, so that the machine would be powered off in another way than it says",
  holds: "the action is refused, the message suggests MODE, and the machine gets no command",
  async run(setting) {
    await using lab = await openLab({ setting });
    const { state, message } = await lab.run("node-1", { name: "power-off", environment: { MDOE: "hard" } });

    return [
      ...unless(state === "FAILED" && /MDOE.*\bMODE\b/s.test(message), `not refused: ${state} ${message}`),
      ...unless(lab.machine().commands.length === 0, "the machine was commanded"),
    ];
  },
};

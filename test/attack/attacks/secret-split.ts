import { type Attack, unless } from "../attack.ts";
import { openLab } from "../lab.ts";

/** Eight characters before the lengths at which lines and messages may be cut. */
const LATE = [192, 392, 992, 4_088, 16_376, 65_528, 131_064];

export const attack: Attack = {
  tries: "a trusted action prints its password in pieces, and where lines and messages are cut",
  holds: "no part of eight characters of it is in a log, page, file or message",
  async run(setting) {
    await using lab = await openLab({ setting, hostile: true, reach: "promised" });
    const { state } = await lab.run("node-1", {
      name: "hostile",
      command: ["split:1", "split:5", ...LATE.map((characters) => `late:${characters}`), "exit:1"],
    });
    const leaks = await lab.leaks();
    const seen = `${lab.worker.stderr}\n${JSON.stringify(lab.server.reports)}`;
    const parts = [lab.password.slice(0, 8), lab.password.slice(-8)];
    const cut = parts.filter(
      (part) => seen.includes(part) || seen.includes(JSON.stringify(part).slice(1, -1)),
    );

    return [
      ...leaks,
      ...unless(cut.length === 0, "a part of the password is in the log or in a message"),
      ...unless(state === "FAILED", `it ended with ${state}`),
    ];
  },
};

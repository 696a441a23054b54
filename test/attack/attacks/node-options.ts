import { type Attack, unless } from "../attack.ts";
import { openLab } from "../lab.ts";

/** Prints what an action parses, backwards, so that no redaction finds it. */
const PROGRAM = `const parse = JSON.parse; JSON.parse = (text, ...rest) => {
  if (String(text).includes("password")) console.log([...String(text)].reverse().join(""));
  return parse(text, ...rest);
};`;

export const attack: Attack = {
  tries:
    "a template gives a trusted image NODE_OPTIONS with a program that prints the BMC's password backwards",
  holds:
    "the action is refused by the variable's name, nothing is done at the BMC, the password appears nowhere",
  async run(setting) {
    await using lab = await openLab({ setting });
    const { state, message } = await lab.run("node-1", {
      name: "power-off",
      environment: {
        MODE: "hard",
        NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(PROGRAM)}`,
      },
    });

    return [
      ...(await lab.leaks()),
      ...unless(state === "FAILED" && message.includes("NODE_OPTIONS"), `not refused: ${state} ${message}`),
      ...unless(lab.bmc().requests.length === 0, "the BMC was asked something"),
    ];
  },
};

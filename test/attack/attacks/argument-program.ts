import { type Attack, unless } from "../attack.ts";
import { openLab } from "../lab.ts";
import { TRUSTED } from "../policy.ts";

export const attack: Attack = {
  tries:
    "a template names the worker's image, the base, or another trusted image, and gives it a program as arguments",
  holds: "a wildcard of the policy trusts actions: other images run no arguments with a connection",
  needsContainers: true,
  async run(setting) {
    await using lab = await openLab({ setting, policy: { trustedImages: [`${TRUSTED}/*`] } });
    const program = "process.stdin.on('data', (data) => console.log([...String(data)].reverse().join('')))";
    const reasons = [];
    for (const name of ["worker", "base", "hostile"]) {
      const step = { name, image: `${TRUSTED}/${name}:test`, command: ["-e", program] };
      const { state, message } = await lab.run("node-1", step);
      const refused = state === "FAILED" && /policy trustedImages/.test(message);
      reasons.push(...unless(refused, `${name} not refused: ${state} ${message}`));
    }
    return [...reasons, ...(await lab.leaks())];
  },
};

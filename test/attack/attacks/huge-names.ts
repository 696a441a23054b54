import { type Attack, unless } from "../attack.ts";
import { openLab } from "../lab.ts";
import { TRUSTED } from "../policy.ts";

const wrong: Readonly<Record<string, object>> = {
  "a long image": { image: `${TRUSTED}/${"a".repeat(100_000)}:test` },
  "a long path of images": { image: `${"a/".repeat(50_000)}power-off` },
  "a long digest": { image: `${TRUSTED}/power-off@sha256:${"a".repeat(50_000)}` },
  "an image of control characters": { image: "\x1b[2J\n\u202e" },
  "an empty image": { image: "" },
  "many variables": {
    environment: Object.fromEntries(Array.from({ length: 5_000 }, (_, at) => [`A${at}`, "x"])),
  },
  "a huge variable": { environment: { MODE: "x".repeat(500_000) } },
  "many arguments": { command: Array<string>(5_000).fill("--x") },
};

export const attack: Attack = {
  tries: "actions with huge and malformed images, names, variables and arguments are served",
  holds: "each fails, /healthz answers meanwhile, and the next action of the machine runs",
  async run(setting) {
    await using lab = await openLab({ setting });
    const reasons: string[] = [];
    for (const [name, step] of Object.entries(wrong)) {
      // What the simulated server itself refuses never reaches the worker.
      const workflow = submitted(() => lab.submit("node-1", { name: "power-off", ...step }));
      if (!workflow) continue;
      const { state } = await lab.ended(workflow, 15_000);
      reasons.push(...unless(state === "FAILED", `${name}: ${state}`));
    }
    const next = await lab.run("node-1", { name: "power-off", environment: { MODE: "hard" } });
    reasons.push(...unless(next.state === "SUCCESS", `the next action: ${next.state} ${next.message}`));
    reasons.push(...unless(lab.machine().count("off") === 1, "the machine was commanded more than once"));
    const health = await lab.page("/healthz");
    return [...reasons, ...unless(health.includes('"ok": true'), "the worker is not healthy")];
  },
};

function submitted<T>(submit: () => T): T | undefined {
  try {
    return submit();
  } catch {
    return undefined;
  }
}

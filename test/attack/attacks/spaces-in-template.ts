import { setTimeout as sleep } from "node:timers/promises";
import { openFolder } from "../../support/folder.ts";
import { WorkerProgram } from "../../support/worker-program.ts";
import { type Attack, unless } from "../attack.ts";
import { policyText } from "../policy.ts";

/** Far more than the program takes to start on a busy host. */
const WITHIN_MS = 15_000;
const SPACES = " ".repeat(200_000);
const templates: Readonly<Record<string, string>> = {
  "spaces before": `a: ${SPACES}{{- .a }}\n`,
  "spaces and a letter before": `a: ${SPACES}x{{- .a }}\n`,
  "spaces after": `a: {{ .a -}}${SPACES}\n`,
  "spaces within": `a: {{${SPACES}.a${SPACES}b }}\n`,
  braces: `a: ${"{{".repeat(100_000)}\n`,
  "many values": "{{ .a }}".repeat(25_000),
  nesting: `a: ${"[".repeat(100_000)}\n`,
};

export const attack: Attack = {
  tries: "templates with 200 kB of spaces, braces and brackets are given to policy test",
  holds: `each is answered within ${WITHIN_MS / 1_000} s`,
  async run() {
    await using folder = await openFolder();
    const policy = await folder.write("policy.yaml", policyText());
    const reasons: string[] = [];
    for (const [index, [name, text]] of Object.entries(templates).entries()) {
      const template = await folder.write(`${index}.yaml`, text);
      const argv = ["policy", "test", "--policy", policy, template, "--map", "a=1"];
      await using program = new WorkerProgram(argv);
      const end = await Promise.race([program.ended, sleep(WITHIN_MS, "late")]);
      reasons.push(...unless(end !== "late", `${name}: no answer after ${WITHIN_MS / 1_000} s`));
    }
    return reasons;
  },
};

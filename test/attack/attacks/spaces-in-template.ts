import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { WorkerProgram } from "../../support/worker-program.ts";
import { type Attack, unless } from "../attack.ts";
import { acceptedPolicyText } from "../policy.ts";

const WITHIN_MS = 10_000;
const templates: Readonly<Record<string, string>> = {
  spaces: `a: ${" ".repeat(200_000)}{{- .a }}\n`,
  "spaces after": `a: {{ .a -}}${" ".repeat(200_000)}\n`,
  braces: `a: ${"{{".repeat(100_000)}\n`,
  "spaces in braces": `a: {{${" ".repeat(200_000)}\n`,
  nesting: `a: ${"[".repeat(100_000)}\n`,
};

export const attack: Attack = {
  tries: "templates with 200 kB of spaces, braces and brackets are given to policy test",
  holds: `each is answered within ${WITHIN_MS / 1_000} s`,
  async run() {
    const folder = await mkdtemp(join(tmpdir(), "pbnj-attack-template-"));
    const policy = join(folder, "policy.yaml");
    await writeFile(policy, acceptedPolicyText());
    const reasons = await Promise.all(
      Object.entries(templates).map(async ([name, text], index) => {
        const template = join(folder, `${index}.yaml`);
        await writeFile(template, text);
        await using program = new WorkerProgram([
          "policy",
          "test",
          "--policy",
          policy,
          template,
          "--map",
          "a=1",
        ]);
        const end = await Promise.race([program.ended, sleep(WITHIN_MS, "late")]);
        return unless(end !== "late", `${name}: no answer after ${WITHIN_MS / 1_000} s`);
      }),
    );
    await rm(folder, { recursive: true });
    return reasons.flat();
  },
};

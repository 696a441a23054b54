import { readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, it, vi } from "vitest";
import { parseResultLine } from "../../../shared/contract/result.ts";
import { codeBlocks } from "../../docs/markdown.ts";
import { runShell } from "../../support/shell-block.ts";
import { fileFolder } from "../../support/test-folder.ts";

const ROOT = join(import.meta.dirname, "../../..");
/** An address of this process alone: the tutorial's ports may be in use on loopback's first. */
const ADDRESS = `127.${(process.pid >> 8) & 255}.${process.pid & 255}.2`;
const WAIT = { timeout: 100_000 };

const blocks = codeBlocks(
  "first-workflow.md",
  await readFile(join(ROOT, "docs/tutorial/first-workflow.md"), "utf8"),
);
const commands = blocks.filter(({ language }) => language === "sh").map(({ text }) => text);
const [installAndLab = "", action = "", doctor = "", start = "", run = "", faultyLab = "", ...others] =
  commands;
const [install, lab = ""] = installAndLab.trim().split("\n");

const { folder } = await fileFolder();
beforeAll(async () => {
  for (const name of ["actions", "cli", "node_modules", "package.json", "shared", "simulators", "worker"]) {
    await symlink(join(ROOT, name), join(folder, name));
  }
});

function shell(text: string, enough?: (said: () => string) => Promise<unknown>) {
  const env = { PBNJ_HTTP_ADDRESS: `${ADDRESS}:42180` };
  const adapted = text.replaceAll("127.0.0.1", ADDRESS).replace(/ lab(?= |$)/m, ` lab --host ${ADDRESS}`);
  return runShell(adapted, { cwd: folder, env }, enough);
}

/** Runs a lab for as long as `during` takes, once its machines listen. */
async function inLab(command: string, during: (said: () => string) => Promise<unknown>) {
  return shell(command, async (said) => {
    await vi.waitFor(() => expect(said()).toContain("Ctrl+C stops the lab"), WAIT);
    await during(said);
  });
}

describe("the tutorial", () => {
  it("has these commands, and no others", () => {
    expect(install).toBe("npm ci");
    expect(others).toEqual([]);
  });

  it("leads to workflows that network-boot every machine, and to a template of one's own", async () => {
    const template = blocks.find(({ language }) => language === "yaml")?.text ?? "";

    await inLab(lab, async (said) => {
      const asked = await shell(action);
      expect(asked.output.split("\n").map((line) => parseResultLine(line)?.message)).toEqual(
        Array.from({ length: 4 }, () => expect.stringMatching(/^on via /)),
      );

      const checked = await shell(doctor);
      expect(checked.exitCode, checked.output).toBe(0);

      const succeeded = () => expect(said().match(/workflow SUCCESS/g)).toHaveLength(4);
      const worker = await shell(start, () => vi.waitFor(succeeded, WAIT));
      expect(worker.output).toContain("worker stopped");

      await writeFile(join(folder, "lab/look.yaml"), template);
      const ran = await shell(run);
      expect(ran.exitCode, ran.output).toBe(0);
    });
  });

  it("shows what fails", async () => {
    const { output } = await inLab(faultyLab, async () => undefined);

    expect(output).toMatch(/node-09 .*answers after 1 s/);
  });
});

import { readFile, stat, symlink } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, it, vi } from "vitest";
import { parseResultLine } from "../../../shared/contract/result.ts";
import { codeBlocks } from "../../docs/markdown.ts";
import { runShell } from "../../support/shell-block.ts";
import { fileFolder } from "../../support/test-folder.ts";

const ROOT = join(import.meta.dirname, "../../..");
/** An address of this process alone: the ports may be in use on loopback's first. */
const ADDRESS = `127.${(process.pid >> 8) & 255}.${process.pid & 255}.3`;
const WAIT = { timeout: 100_000 };
const FOLDERS = [
  "actions",
  "cli",
  "examples",
  "node_modules",
  "package.json",
  "shared",
  "simulators",
  "worker",
];

const readme = await readFile(join(ROOT, "README.md"), "utf8");
const commands = codeBlocks("README.md", readme)
  .filter(({ language }) => language === "sh")
  .map(({ text }) => text);
const [demo, lab = "", tries = "", check = ""] = commands;

const { folder } = await fileFolder();
beforeAll(async () => {
  for (const name of FOLDERS) await symlink(join(ROOT, name), join(folder, name));
});

function shell(text: string, enough?: (said: () => string) => Promise<unknown>) {
  const env = { PBNJ_HTTP_ADDRESS: `${ADDRESS}:42180` };
  const adapted = text.replaceAll("127.0.0.1", ADDRESS).replace(/ lab(?= |$)/m, ` lab --host ${ADDRESS}`);
  return runShell(adapted, { cwd: folder, env }, enough);
}

// test/interop/install/pages.test.ts follows all of it, with containers, in a copy of the host.
describe("the README", () => {
  it("has at most 150 lines, and CI runs its first and its last command", async () => {
    const ci = await readFile(join(ROOT, ".ci/run"), "utf8");

    expect(readme.split("\n").length - 1).toBeLessThanOrEqual(150);
    expect([demo, commands.at(-1)]).toEqual(["npm ci && npm run demo\n", "npm ci && npm test\n"]);
    for (const line of [demo, commands.at(-1)]) expect(ci).toContain(`\n(${line?.trim()}`);
  });

  it("has pictures that are small", async () => {
    const pictures = [...readme.matchAll(/!\[[^\]]+\]\(([^)]+)\)/g)].map(([, path = ""]) => path);

    expect(pictures).toHaveLength(2);
    for (const path of pictures) expect((await stat(join(ROOT, path))).size).toBeLessThan(150_000);
  });

  it("leads from a lab to an action, a template and a worker, each with what the one before has made", async () => {
    const [doctor = "", start = ""] = check.trim().split("\n");

    await shell(lab, async (labSaid) => {
      await vi.waitFor(() => expect(labSaid()).toContain("Ctrl+C stops the lab"), WAIT);
      const tried = await shell(tries);
      const checked = await shell(doctor);
      const succeeded = () => expect(labSaid().match(/workflow SUCCESS/g)).toHaveLength(4);
      const worker = await shell(start, () => vi.waitFor(succeeded, WAIT));

      const results = tried.output.split("\n").flatMap((line) => parseResultLine(line) ?? []);
      expect(tried.exitCode, tried.output).toBe(0);
      expect(results.filter(({ message }) => message.startsWith("on via "))).toHaveLength(4);
      expect(checked.exitCode, checked.output).toBe(0);
      expect(worker.output).toContain("worker stopped");
    });
  });
});

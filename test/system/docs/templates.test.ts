import { execFile } from "node:child_process";
import { chmod, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { SimulatedMachine } from "../../../simulators/machine.ts";
import { type RedfishBmc, startRedfishBmc } from "../../../simulators/redfish/bmc.ts";
import { PROGRAM } from "../../cli/program.ts";
import { type CodeBlock, codeBlocks } from "../../docs/markdown.ts";

const PAGE = "docs/how-to/write-templates.md";
const TIMEOUT_MS = 120_000;

const page = await readFile(PAGE, "utf8");
const blocks = codeBlocks(PAGE, page);
const commands = blocks.flatMap((block) => (block.exitCode === undefined ? [] : [block]));

describe("the manual for templates", () => {
  let folder = "";
  let bmcs: readonly RedfishBmc[] = [];

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "pbnj-templates-"));
    const quick = { powerOnMs: 10, powerOffMs: 10, softOffMs: 10 };
    bmcs = await Promise.all(
      ["node-1", "node-2"].map((name) =>
        startRedfishBmc({ machines: [new SimulatedMachine({ name, ...quick })], tls: "http" }),
      ),
    );
    for (const { file, text } of blocks) if (file) await writeFile(join(folder, file), simulated(text));
    await writeFile(join(folder, "bmc-password"), "calvin\n");
    const program = join(folder, "pbnj-worker");
    await writeFile(program, `#!/bin/sh\nexec "${process.execPath}" "${PROGRAM}" "$@"\n`);
    await chmod(program, 0o755);
  });
  afterAll(async () => {
    await Promise.all(bmcs.map((bmc) => bmc.close()));
    await rm(folder, { recursive: true });
  });

  /** The machines are on loopback, each on a port of its own. */
  function simulated(text: string): string {
    return bmcs.reduce((so, { port }, index) => {
      const host = `host: 192.0.2.1${index + 1}`;
      return so.replace(host, `host: 127.0.0.1\n    redfish: {port: ${port}, scheme: http}`);
    }, text);
  }

  /** Runs a block like a user who copies it into a shell. */
  function runBlock({ text }: CodeBlock): Promise<{ code: unknown; stdout: string; stderr: string }> {
    const script = text.replaceAll("192.0.2.11", "127.0.0.1");
    const env = {
      PATH: `${folder}:${process.env["PATH"]}`,
      REDFISH_PORT: String(bmcs[0]?.port),
      REDFISH_SCHEME: "http",
      PBNJ_LOG_LEVEL: "warn",
    };
    return new Promise((resolve) => {
      execFile("bash", ["-euc", script], { cwd: folder, env }, (error, stdout, stderr) =>
        resolve({ code: error?.code ?? 0, stdout, stderr }),
      );
    });
  }

  it.each(commands)("shows at $at what happens", { timeout: TIMEOUT_MS }, async (block) => {
    const { code, stdout, stderr } = await runBlock(block);

    expect(code, `${stdout}${stderr}`).toBe(block.exitCode);
    if (block.output !== undefined) expect(stdout).toBe(block.output);
  });

  it("has machines that did what its commands say", () => {
    const [first, second] = bmcs.map(({ machine }) => machine);

    expect(first?.commands.map(({ action }) => action)).toEqual(["soft-off", "on"]);
    expect(first?.lastBoot).toMatchObject({ device: "pxe", overridden: true });
    expect(second?.commands).toEqual([]);
    expect(second?.power).toBe("on");
  });
});

import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { execa } from "execa";
import { describe, expect, it, vi } from "vitest";
import { systemClock } from "../../../shared/clock.ts";
import { silentLogger } from "../../../shared/logger.ts";
import { legacyServerApi } from "../../../worker/features/legacy/legacy-transport.ts";
import { connectTinkServer } from "../../../worker/sources/server/tink-server.ts";
import { PROGRAM, runProgram } from "../../cli/program.ts";
import { CommandInProcess } from "../../support/command-in-process.ts";
import { fileFolder } from "../../support/test-folder.ts";

const { folder: directory } = await fileFolder();

describe("pbnj-worker lab", () => {
  it("has machines of each protocol, whose workflows a worker runs, and faulty ones", async () => {
    const files = join(directory, "lab");
    const argv = ["lab", "--machines", "9", "--faults", "some", "--port", "0", "--directory", files];
    await using lab = execaProgram(argv);
    await vi.waitFor(() => expect(lab.said()).toContain("Ctrl+C stops the lab."), { timeout: 30_000 });
    const server = /A tink server on (\S+),/.exec(lab.said())?.[1] ?? "";

    const inventory = join(files, "inventory.yaml");
    await using worker = new CommandInProcess(["start", "--grpc-server", server, "--inventory", inventory]);
    // The one that ignores the shutdown needs a minute, and the slow one half of it.
    await vi.waitFor(
      () => {
        for (const name of ["02", "03", "04", "06", "07", "08"]) {
          expect(lab.said()).toContain(`pbnj-node-${name}  workflow SUCCESS`);
        }
        expect(lab.said()).toMatch(/node-05 +power-off +failed .*\(auth, exit 10\)/);
      },
      { timeout: 60_000 },
    );
    const { exitCode } = await lab.stop();
    worker.kill("SIGTERM");

    expect(lab.said()).toMatch(/node-01 +Redfish +\d+ +ignores graceful shutdowns\n/);
    expect(lab.said()).toMatch(/node-05 +Redfish, iLO 5 +\d+ +refuses the password\n/);
    expect(lab.said()).toMatch(/node-09 +IPMI +\d+ +answers after 1 s\n/);
    expect(exitCode).toBe(0);
  });

  it("keeps password, certificates and template of an earlier start, and gives its workflows other names", async () => {
    const files = join(directory, "kept");
    const start = async () => {
      await using lab = execaProgram(["lab", "--machines", "1", "--port", "0", "--directory", files]);
      await vi.waitFor(() => expect(lab.said()).toContain("Ctrl+C stops the lab."), { timeout: 30_000 });
      const names = ["bmc-password", "certificates.json", "policy.yaml"];
      const kept = await Promise.all(names.map((name) => readFile(join(files, name), "utf8")));
      return { kept, workflow: await workflowAt(/A tink server on (\S+),/.exec(lab.said())?.[1] ?? "") };
    };

    const first = await start();
    const second = await start();

    expect(second.kept).toEqual(first.kept);
    // A worker's journal has the names of the first, and would skip their actions.
    expect([first.workflow, second.workflow]).toEqual([
      expect.stringContaining("node-01-"),
      expect.stringContaining("node-01-"),
    ]);
    expect(second.workflow).not.toBe(first.workflow);
  });

  it("leaves files of others alone", async () => {
    const files = join(directory, "others");
    await mkdir(files);
    await writeFile(join(files, "inventory.yaml"), "machines: []\n");
    const refused = await runProgram(["lab", "--port", "0", "--directory", files]);

    expect(refused).toMatchObject({ exitCode: 2, stdout: "" });
    expect(refused.stderr).toMatch(
      /^pbnj-worker lab: \S+inventory\.yaml was not written by a lab: choose .*$/,
    );
  });

  it("lists every problem of its command line", async () => {
    const { exitCode, stderr } = await runProgram([
      "lab",
      "--machine",
      "3",
      "--faults",
      "sme",
      "--port",
      "x",
    ]);

    expect(stderr.split("\n")).toEqual([
      "pbnj-worker lab: unknown flag --machine, did you mean --machines?",
      "pbnj-worker lab: --port is not a whole number from 0 to 65532",
      "pbnj-worker lab: --faults is not one of none, some, did you mean some?",
      "See pbnj-worker lab --help.",
    ]);
    expect(exitCode).toBe(2);
  });
});

/** The ID of the workflow that the server gives to node-01. */
async function workflowAt(server: string): Promise<string> {
  const transport = connectTinkServer({
    ...{ server, tls: false, api: "current", legacy: legacyServerApi() },
    ...{ clock: systemClock, log: silentLogger, maxBackoffMs: 1_000 },
  });
  try {
    const poll = await transport.next("pbnj-node-01", AbortSignal.timeout(30_000));
    return poll.kind === "action" ? poll.action.workflowId : poll.kind;
  } finally {
    await transport.close();
  }
}

/** A `pbnj-worker` that runs until it is stopped or disposed of. */
function execaProgram(argv: readonly string[]) {
  const child = execa(process.execPath, [PROGRAM, ...argv], { reject: false, stdin: "ignore" });
  let said = "";
  child.stdout?.on("data", (chunk: Buffer) => {
    said += chunk.toString();
  });
  const stop = async () => {
    child.kill("SIGTERM");
    return child;
  };
  return { said: () => said, stop, [Symbol.asyncDispose]: async () => void (await stop()) };
}

import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { execa } from "execa";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { addReports, refreshTestedHardware } from "../../../scripts/tested-hardware.ts";
import { readMockup } from "../../../shared/recording/mockup.ts";
import { readRecording } from "../../../shared/recording/read-recording.ts";
import { SimulatedMachine } from "../../../simulators/machine.ts";
import { type RedfishBmc, startRedfishBmc } from "../../../simulators/redfish/bmc.ts";
import { PROGRAM, runProgram } from "../../cli/program.ts";
import { expectReport } from "../../simulators/recorded/report.ts";
import { fileFolder } from "../../support/test-folder.ts";

const PASSWORD = "calvin-canary-83d1c2";
const { folder: directory } = await fileFolder();
let bmc: RedfishBmc;
let flags: readonly string[];

beforeAll(async () => {
  bmc = await startRedfishBmc({
    profile: "dell-idrac9",
    password: PASSWORD,
    machines: [new SimulatedMachine()],
  });
  await writeFile(join(directory, "password"), `${PASSWORD}\n`);
  flags = [
    ...["--bmc-host", "127.0.0.1", "--bmc-username", "admin", "--bmc-providers", "redfish"],
    ...["--bmc-password-file", join(directory, "password"), "--redfish-port", String(bmc.port)],
    ...["--bmc-tls-fingerprint", bmc.fingerprint],
  ];
});
afterAll(async () => {
  await bmc.close();
});

describe("pbnj-worker record", () => {
  it("records a machine of the inventory with an action, says what it replaced, and shows the file", async () => {
    const inventory = join(directory, "inventory.yaml");
    const entry = `{ name: node-01, host: 127.0.0.1, redfish: { port: ${bmc.port} }, tls: { fingerprint: ${bmc.fingerprint} } }`;
    await writeFile(
      inventory,
      `defaults: { providers: [redfish], credentials: { username: admin, passwordFile: password } }\nmachines: [${entry}]\n`,
    );
    const file = join(directory, "recorded.json.gz");

    const { exitCode, stdout } = await runProgram([
      ...[
        "record",
        "node-01",
        "--inventory",
        inventory,
        "--file",
        file,
        "--action",
        "power-off",
        "--mode",
        "hard",
      ],
    ]);
    const shown = await runProgram(["record", "--show", file]);

    expect(stdout).toMatch(/^Recorded Dell Inc\. PowerEdge R640: \d+ resources, 0 refused, in /);
    expect(stdout).toMatch(
      /power-off: off after .* exchanges\nReplaced: .*serial number.*Removed: \d+ secret/,
    );
    expect(exitCode).toBe(0);
    const recording = await readRecording(file);
    expect(recording).toMatchObject({ action: { name: "power-off", ok: true }, tls: { selfSigned: true } });
    expect(JSON.parse(shown.stdout)).toEqual(recording);
    expect(stdout + shown.stdout).not.toMatch(/calvin|CZ00000001/);
  });

  it("sends nothing to a machine that is paused, and says why", async () => {
    const inventory = join(directory, "paused.yaml");
    await writeFile(inventory, "machines: [{ name: node-01, host: 127.0.0.1, paused: new disks }]\n");

    const { exitCode, stdout, stderr } = await runProgram(["record", "--inventory", inventory, "node-01"]);

    expect([exitCode, stdout, stderr]).toEqual([
      17,
      "",
      "pbnj-worker record: machine node-01 is paused: new disks (inventory paused.yaml) (state)",
    ]);
  });

  it("records a check, which becomes a row of the tested hardware, and a machine with the same result", async () => {
    const file = join(directory, "check.json");

    const { stdout } = await runProgram(["action", "check", "--record", file, ...flags]);
    const recording = await readRecording(file);

    expect(stdout).toMatch(/^provider +check +state/);
    const reports = join(directory, "reports");
    const [name = ""] = await addReports([file], reports);
    const page = await readFile(join(import.meta.dirname, "../../../docs/reference/tested-hardware.md"));
    expect(await refreshTestedHardware(page.toString(), reports)).toContain(
      "| Dell Inc. | PowerEdge R640 | 6.10.80.00 | redfish | login, certificate, power, boot, ",
    );
    const stored = await readRecording(join(reports, name));
    expect(stored).toEqual(recording);
    await expectReport(stored);
  });

  it("writes a mockup folder once, which the lab runs", async () => {
    const folder = join(directory, "mockup");
    const argv = ["record", "--format", "mockup", "--file", folder, ...flags];

    expect(await runProgram(argv)).toMatchObject({ exitCode: 0 });
    const again = await runProgram(argv);

    expect(again).toMatchObject({ exitCode: 2, stderr: expect.stringContaining("exists") });
    expect(Object.keys((await readMockup(folder)).resources).length).toBeGreaterThan(50);
    const files = join(directory, "lab");
    const lab = execa(
      process.execPath,
      [
        PROGRAM,
        "lab",
        "--port",
        "0",
        "--directory",
        files,
        "--recording",
        folder,
        join(directory, "check.json"),
      ],
      { reject: false, stdin: "ignore" },
    );
    let said = "";
    lab.stdout?.on("data", (chunk: Buffer) => {
      said += chunk.toString();
    });
    await vi.waitFor(() => expect(said).toContain("Ctrl+C stops the lab."), { timeout: 60_000 });
    const inventory = join(files, "inventory.yaml");
    const off = await runProgram([
      "action",
      "power-off",
      "--mode",
      "hard",
      "--inventory",
      inventory,
      "--all",
    ]);
    lab.kill("SIGTERM");
    await lab;

    expect(off).toMatchObject({ exitCode: 0 });
    expect(said).toMatch(/mockup +Recorded.*\n.*check +Recorded Dell Inc\. PowerEdge R640/);
  });

  it("lists every problem of its command line, and writes nothing", async () => {
    const before = await readdir(directory);

    const { exitCode, stderr } = await runProgram([
      "record",
      "node-01",
      "--format",
      "mockp",
      "--action",
      "power-of",
    ]);

    expect(stderr).toContain("--format is not one of recording, mockup, did you mean mockup?");
    expect(stderr).toContain('there is no action "power-of"');
    expect(stderr).toContain("a machine needs --inventory");
    expect(exitCode).toBe(2);
    expect(await readdir(directory)).toEqual(before);
  });
});

it("a failed action names the command that records it", async () => {
  bmc.fail({ kind: "bad-json", path: /./, times: 100 });

  const { exitCode, stderr } = await runProgram(["action", "power-status", ...flags]);
  bmc.heal();

  expect(stderr).toContain(
    "pbnj-worker record --action power-status --bmc-host <host> --bmc-username <user>",
  );
  expect(exitCode).toBe(18);
});

import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { execa } from "execa";
import { expect, it, onTestFinished } from "vitest";
import { parse } from "yaml";
import { writeMockup } from "../../shared/recording/mockup.ts";
import { readRecording } from "../../shared/recording/read-recording.ts";
import { SimulatedMachine } from "../../simulators/machine.ts";
import { startRecording } from "../../simulators/recorded/start-recording.ts";
import { startRedfishBmc } from "../../simulators/redfish/bmc.ts";
import { PROGRAM, runProgram } from "../cli/program.ts";
import { testFolder } from "../support/test-folder.ts";
import { freePort } from "./free-port.ts";
import { describeWithPython, installPythonPackages, type PythonPackages } from "./python-packages.ts";

const PACKAGES = ["sushy==5.14.0", "sushy-tools==2.2.0", "redfish==3.4.2"];
const packages = () => installPythonPackages("mockup-readers", PACKAGES);
const SUSHY = join(import.meta.dirname, "sushy_client.py");
const DMTF = join(import.meta.dirname, "redfish_reader.py");
const timeout = 180_000;

/** A folder that `record --format mockup` has written of a machine that is on. */
async function recordMockup(profile: string): Promise<string> {
  const { folder } = await testFolder();
  const machines = [new SimulatedMachine({ power: "on" })];
  await using bmc = await startRedfishBmc({ profile, machines, tls: "http" });
  await writeFile(join(folder, "password"), bmc.password);
  const mockup = join(folder, "machine.mockup");
  const { exitCode, stderr } = await runProgram(["record", "--format", "mockup", "--file", mockup], {
    ...{ BMC_HOST: "127.0.0.1", BMC_USERNAME: bmc.username, BMC_PASSWORD_FILE: join(folder, "password") },
    ...{ BMC_PROVIDERS: "redfish", REDFISH_SCHEME: "http", REDFISH_PORT: String(bmc.port) },
  });
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
  return mockup;
}

/** sushy-tools' server of mockup folders. */
async function serveStatic({ program }: PythonPackages, folder: string): Promise<string> {
  const port = await freePort();
  const argv = ["-i", "127.0.0.1", "-p", String(port), "-m", join(folder, "redfish", "v1")];
  const ignored = { stdin: "ignore", stdout: "ignore", stderr: "ignore" } as const;
  const child = execa(program("sushy-static"), argv, {
    ...ignored,
    reject: false,
    forceKillAfterDelay: 1_000,
  });
  onTestFinished(async () => {
    child.kill();
    await child;
  });
  const url = `http://127.0.0.1:${port}`;
  const answers = () =>
    fetch(`${url}/redfish/v1`).then(
      ({ ok }) => ok,
      () => false,
    );
  await expect.poll(answers, { timeout: 60_000 }).toBe(true);
  return url;
}

async function startMockup(folder: string) {
  const machine = { powerOnMs: 0, powerOffMs: 0 };
  const running = await startRecording(folder, { tls: "http", machine });
  onTestFinished(() => running.close());
  const system =
    Object.keys(running.recording.resources).find((path) => /\/Systems\/[^/]+$/.test(path)) ?? "";
  return { ...running, system };
}

async function readWith(python: string, argv: readonly string[]): Promise<unknown> {
  const { stdout } = await execa(python, argv, { timeout: 60_000, stdin: "ignore" });
  return JSON.parse(stdout);
}

await describeWithPython(packages, "a mockup folder that the command has written", (installed) => {
  const { python } = installed;

  it.each(["dell-idrac9", "hpe-ilo5", "openbmc", "lenovo-xcc"])(
    "of %s is read by sushy-tools' server of mockups, and its tree by sushy",
    { timeout },
    async (profile) => {
      const folder = await recordMockup(profile);
      const { system } = await startMockup(folder);
      const url = await serveStatic(installed, folder);

      const argv = [SUSHY, url, "admin", "", "basic", system, "power", "boot"];
      const [power, boot] = (await readWith(python, argv)) as unknown[];

      expect(power).toBe("On");
      expect(boot).toEqual(["None", "Disabled", expect.any(String)]);
    },
  );

  it("runs in the lab, where sushy changes its power and boot device", { timeout }, async () => {
    const { redfish, system, username, password } = await startMockup(await recordMockup("dell-idrac9"));
    const steps = ["power", "reset:ForceOff", "power", "boot:Pxe:Once:UEFI", "boot"];
    const argv = [SUSHY, redfish.url, username, password, "session", system, ...steps];

    expect(await readWith(python, argv)).toEqual(["On", null, "Off", null, ["Pxe", "Once", "UEFI"]]);
  });

  it("runs in the lab, where DMTF's library logs in and reads it", { timeout }, async () => {
    const { redfish, system, username, password } = await startMockup(await recordMockup("hpe-ilo5"));

    const systems = await readWith(python, [DMTF, redfish.url, username, password]);

    expect(systems).toEqual([[system, "On", expect.arrayContaining(["ForceOff", "On"])]]);
  });
});

const zoo = process.env["ZOO_FOLDER"];
const ZOO_TITLE = "a mockup folder of a recorded machine of others";
if (!zoo) process.stderr.write(`skipped, ZOO_FOLDER is not set: ${ZOO_TITLE}\n`);

/** Runs `pbnj-worker lab` on a mockup folder. */
async function startLabOf(mockup: string) {
  const { folder } = await testFolder();
  const argv = ["lab", "--port", "0", "--directory", folder, "--recording", mockup];
  const lab = execa(process.execPath, [PROGRAM, ...argv], { reject: false, stdin: "ignore", buffer: false });
  onTestFinished(async () => {
    lab.kill();
    await lab;
  });
  let said = "";
  lab.stdout.on("data", (chunk: Buffer) => {
    said += chunk.toString();
  });
  await expect.poll(() => said, { timeout: 60_000 }).toContain("Ctrl+C stops the lab");
  const { machines } = parse(await readFile(join(folder, "inventory.yaml"), "utf8"));
  const [{ redfish, credentials }] = machines;
  const password = (await readFile(join(folder, "bmc-password"), "utf8")).trim();
  return [`https://127.0.0.1:${redfish.port}`, String(credentials.username), password];
}

await describeWithPython(packages, ZOO_TITLE, ({ python }) => {
  it.skipIf(!zoo)(
    "runs in the lab, where DMTF's library and sushy read and change it",
    { timeout },
    async () => {
      const tree = await readRecording(join(zoo ?? "", "trees", "dell-r750-idrac9-6.00.json.gz"));
      const { folder } = await testFolder();
      const mockup = join(folder, "r750");
      // Without the paths that no folder can have.
      await writeMockup(mockup, tree);
      const login = await startLabOf(mockup);

      const systems = (await readWith(python, [DMTF, ...login])) as unknown[][];
      const system = String(systems[0]?.[0]);
      const steps = ["power", "reset:ForceOff", "boot:Pxe:Once:UEFI", "boot"];
      const changed = await readWith(python, [SUSHY, ...login, "session", system, ...steps]);

      expect(systems).toEqual([[system, "On", expect.arrayContaining(["ForceOff", "On"])]]);
      expect(changed).toEqual(["On", null, null, ["Pxe", "Once", "UEFI"]]);
    },
  );
});

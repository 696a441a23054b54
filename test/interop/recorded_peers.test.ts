import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { execa } from "execa";
import { expect, it, onTestFinished } from "vitest";
import { systemClock } from "../../shared/clock.ts";
import type { ActionResult } from "../../shared/contract/result.ts";
import { readRecording } from "../../shared/recording/read-recording.ts";
import { startRecording } from "../../simulators/recorded/start-recording.ts";
import { resultOf, runAction } from "../actions/action-run.ts";
import { PROGRAM } from "../cli/program.ts";
import { testFolder } from "../support/test-folder.ts";
import { EVERY_ACTION_MS, type Server, tryEveryAction } from "./compatibility/every-action.ts";
import { startFakeBmc } from "./fake-bmc.ts";
import { startIpmiSim } from "./ipmi-sim.ts";
import { describeWithProgram } from "./programs.ts";
import { describeWithPython, installPythonPackages } from "./python-packages.ts";
import { runFakeEmulator } from "./sushy-emulator.ts";

type Environment = Readonly<Record<string, string>>;

interface Ended {
  readonly ok: boolean;
  readonly class?: string | undefined;
  readonly message?: string | undefined;
}

/** What a test of two results compares. */
const shownOf = ({ ok, class: errorClass, message = "" }: Ended) => ({
  ok,
  errorClass,
  message: message
    .replaceAll(/\d+(\.\d+)? m?s\b/g, "some time")
    .replaceAll(/\b[a-z]+:\/\/[^\s,]+/g, "a URL")
    .replaceAll(/127\.0\.0\.1:\d+/g, "the BMC")
    .replaceAll(/"[^"]*"/g, "a name"),
});

/**
 * Records each action on the server with the command, and runs it again on its recording: both end in the same way, but for those in
 * `beyond`, with the reason. A user has the recording's name.
 */
async function expectEqualResults(
  server: Server,
  beyond: Readonly<Record<string, string>> = {},
): Promise<void> {
  const { folder } = await testFolder();
  const differences: { readonly name: string; readonly expected: unknown; readonly found: unknown }[] = [];
  const run = async (name: string, given: Environment) => {
    const { BMC_PASSWORD = "", ...env } = given;
    const [passwordFile, file] = [join(folder, "password"), join(folder, `${name}.json.gz`)];
    await writeFile(passwordFile, BMC_PASSWORD);
    const { stderr } = await execa(process.execPath, [PROGRAM, "record", "--action", name, "--file", file], {
      ...{ env: { ...env, BMC_PASSWORD_FILE: passwordFile }, extendEnv: false, stdin: "ignore" },
      ...{ reject: false, timeout: 120_000 },
    });
    const recording = await readRecording(file).catch((cause: unknown) => {
      throw new Error(`${name} was not recorded: ${stderr}`, { cause });
    });
    await using replayed = await startRecording(recording, { tls: "http" });
    const { username, password, redfish, ipmi } = replayed;
    const own = {
      ...{ BMC_USERNAME: username, BMC_PASSWORD: password },
      ...(ipmi ? { IPMI_PORT: String(ipmi.port) } : { REDFISH_PORT: String(redfish.port) }),
    };
    const { action } = recording;
    if (!action) throw new Error(`the recording of ${name} has no action`);
    const [, user] = /\buser (\S+)/.exec(action.message) ?? [];
    const asked = given["USER_NAME"] === undefined || user === undefined ? {} : { USER_NAME: user };
    const again = { ...given, ...own, ...asked };
    const result = resultOf(await runAction(name, { env: again, clock: systemClock }));
    const [expected, found] = [shownOf(action), shownOf(result)];
    if (JSON.stringify(expected) !== JSON.stringify(found)) differences.push({ name, expected, found });
    return {
      ...result,
      ok: action.ok,
      message: action.message,
      class: action.class as ActionResult["class"],
    };
  };

  await tryEveryAction({ ...server, run });

  expect(differences.filter(({ name }) => !(name in beyond))).toEqual([]);
  expect(differences.map(({ name }) => name).toSorted()).toEqual(Object.keys(beyond).toSorted());
}

const sushy = () => installPythonPackages("sushy", ["sushy==5.14.0", "sushy-tools==2.2.0"]);
const timeout = 2 * EVERY_ACTION_MS;
/** Not a word of a command's name: the command writes no file that has it. */
const PASSWORD = "calvin-83d1c2";
const common = { BMC_HOST: "127.0.0.1", BMC_USERNAME: "admin" };
const ipmi = { ...common, BMC_PASSWORD: PASSWORD, BMC_PROVIDERS: "ipmi", IPMI_PRIVILEGE: "administrator" };

const NO_ADDRESS = "a network without an address has that of the simulator";

await describeWithPython(sushy, "a recording of sushy-tools' emulator", (installed) => {
  it("gives the results that the original gives", { timeout }, async () => {
    const emulator = await runFakeEmulator(installed);
    onTestFinished(emulator.close);
    const redfish = { BMC_PROVIDERS: "redfish", REDFISH_SCHEME: "http", REDFISH_PORT: String(emulator.port) };

    await expectEqualResults({
      provider: "redfish",
      env: { ...common, ...redfish, BMC_PASSWORD: "calvin" },
    });
  });
});

const SILENT = ["timeout", "its console is silent"] as const;

describeWithProgram("ipmi_sim", "a recording of OpenIPMI's ipmi_sim", () => {
  it("gives the results that the original gives", { timeout }, async () => {
    const { port } = await startIpmiSim({ password: PASSWORD });

    await expectEqualResults(
      {
        provider: "ipmi",
        env: { ...ipmi, IPMI_PORT: String(port), IPMI_ALLOW_SUITE_3: "true" },
        inputs: { "watch-console": { UNTIL_TIMEOUT: "3s" } },
        limits: {
          "watch-console": SILENT,
          "set-power-limit": ["auth", "it does not know DCMI, and calls that a lack of privilege"],
        },
      },
      {
        "get-bmc-network": NO_ADDRESS,
        "set-bmc-network": NO_ADDRESS,
      },
    );
  });
});

describeWithProgram("fakebmc", "a recording of pyghmi's fake BMC", () => {
  it("gives the results that the original gives", { timeout }, async () => {
    const { port } = await startFakeBmc(PASSWORD);

    await expectEqualResults(
      {
        provider: "ipmi",
        env: { ...ipmi, IPMI_PORT: String(port), IPMI_CIPHER_SUITE: "3" },
        inputs: { "watch-console": { UNTIL_TIMEOUT: "3s" }, "bmc-reset": { ANSWER_TIMEOUT: "3s" } },
        limits: { "watch-console": SILENT, "bmc-reset": ["timeout", "it ends when it is reset"] },
      },
      { "bmc-reset": "the original ends" },
    );
  });
});

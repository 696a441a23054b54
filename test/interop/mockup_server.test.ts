import { dirname, join } from "node:path";
import { execa } from "execa";
import { describe, expect, it, onTestFinished } from "vitest";
import { EVERY_ACTION_MS, tryEveryAction } from "./compatibility/every-action.ts";
import { freePort } from "./free-port.ts";
import { installPythonPackages, type PythonPackages } from "./python-packages.ts";

const TITLE = "the redfish provider talks to DMTF's mockup server";
const server = process.env["REDFISH_MOCKUP_SERVER"];
const SERVER = "DMTF mockup server";
const PACKAGES = ["requests==2.34.2", "grequests==0.7.0"];

/** With the tree that comes with the server, which keeps changes in memory. */
async function startServer({ python }: PythonPackages, path: string): Promise<number> {
  const port = await freePort();
  const tree = join(dirname(path), "public-rackmount1");
  const child = execa(python, ["-u", path, "-S", "-H", "127.0.0.1", "-p", String(port), "-D", tree], {
    stdin: "ignore",
    stdout: "ignore",
    stderr: "ignore",
    reject: false,
    forceKillAfterDelay: 1_000,
  });
  onTestFinished(async () => {
    child.kill();
    await child;
  });
  const answers = () =>
    fetch(`http://127.0.0.1:${port}/redfish/v1/`).then(
      ({ ok }) => ok,
      () => false,
    );
  await expect.poll(answers).toBe(true);
  return port;
}

if (!server) process.stderr.write(`skipped, REDFISH_MOCKUP_SERVER is not set: ${TITLE}\n`);

describe.skipIf(!server)(TITLE, () => {
  it("carries out each action, or it says why not", { timeout: EVERY_ACTION_MS }, async ({ task }) => {
    const installed = await installPythonPackages("mockup-server", PACKAGES);
    const port = await startServer(installed, server ?? "");
    const env = {
      ...{ BMC_HOST: "127.0.0.1", BMC_USERNAME: "admin", BMC_PASSWORD: "calvin" },
      ...{ BMC_PROVIDERS: "redfish", REDFISH_PORT: String(port), REDFISH_SCHEME: "http" },
    };
    const outcomes = await tryEveryAction({
      provider: "redfish",
      env,
      fixedPower: true,
      inputs: {
        "*": { STATE_TIMEOUT: "3s", STAGE_TIMEOUT: "3s", VERIFY_TIMEOUT: "3s", UPDATE_TIMEOUT: "3s" },
        "update-firmware": { ALLOW_DOWNGRADE: "true" },
        "set-bmc-network": { INTERFACE: "eth0" },
        "get-bios": { ATTRIBUTES: "BootMode" },
        "set-bios": { BIOS_ATTRIBUTES: "ProcTurboMode=Disabled" },
        "bmc-reset": { ANSWER_TIMEOUT: "3s" },
      },
      limits: {
        "*": ["timeout", "a recorded tree: what takes time never happens"],
        check: ["verify", "the clock is that of the recording"],
        "get-bmc-csr": ["protocol", "it answers without a CSR"],
      },
    });

    task.meta.peers = [{ name: SERVER, version: [installed.python, server ?? "", "--help"] }];
    task.meta.actions = { server: SERVER, outcomes };
  });
});

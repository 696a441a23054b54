import { readdir, rename, rm } from "node:fs/promises";
import { basename, join } from "node:path";
import { execa } from "execa";
import { startIpmiBmc } from "../../simulators/ipmi/bmc.ts";
import { SimulatedMachine } from "../../simulators/machine.ts";
import { startRedfishBmc } from "../../simulators/redfish/bmc.ts";
import { type Bundle, PROGRAM_FILE, type ProgramBundle } from "./bundle.ts";
import type { WarmRun } from "./warm-up.ts";

const PASSWORD = "calvin";
const TIMEOUT_MS = 120_000;

/**
 * Writes V8's code cache of both scripts of the program in `directory`. That of the command line is what a worker has compiled by its first
 * poll. Without one, V8 takes 35 MiB to parse the script, and never gives them back.
 */
export async function writeProgramCodeCache(
  directory: string,
  { script, actions }: ProgramBundle,
): Promise<void> {
  await writeCodeCache(actions);
  const home = join(directory, "warm-up");
  const argv = ["start", "--grpc-server", "127.0.0.1:1", "--agent-id", "a", "--http-address", "off"];
  const env = { PATH: process.env["PATH"] ?? "", NODE_COMPILE_CACHE: home, XDG_STATE_HOME: home };
  const worker = execa(process.execPath, [join(directory, PROGRAM_FILE), ...argv], {
    env,
    extendEnv: false,
    stdin: "ignore",
    buffer: false,
    timeout: TIMEOUT_MS,
  });
  for await (const line of worker.iterable({ from: "stderr" })) {
    if (line.includes("tink server unavailable")) worker.kill("SIGTERM");
  }
  await worker;
  const written = (await readdir(home)).find((name) => name.startsWith(basename(script)));
  await rename(join(home, String(written)), `${script}.cache`);
  await rm(home, { recursive: true });
}

/**
 * Writes V8's code cache of the actions' script, `<script>.cache`, for this Node and architecture: with what an action calls to read
 * the power over Redfish with TLS and over IPMI.
 */
export async function writeCodeCache({ script }: Pick<Bundle, "script">): Promise<void> {
  const machine = new SimulatedMachine({ power: "on" });
  const redfish = await startRedfishBmc({ machines: [machine], password: PASSWORD });
  const ipmi = await startIpmiBmc({ machine, users: [{ name: "admin", password: PASSWORD }] });
  const login = { BMC_HOST: "127.0.0.1", BMC_USERNAME: "admin", BMC_PASSWORD: PASSWORD };
  const overRedfish = {
    REDFISH_PORT: String(redfish.port),
    BMC_TLS_FINGERPRINT: redfish.fingerprint,
  };
  const runs: readonly WarmRun[] = [
    { env: { ...login, BMC_PROVIDERS: "ipmi", IPMI_PORT: String(ipmi.port) }, exitCode: 0 },
    { env: { ...login, BMC_PROVIDERS: "redfish", ...overRedfish }, exitCode: 0 },
    { env: {}, exitCode: 2 },
  ];
  try {
    const warmUp = join(import.meta.dirname, "warm-up.ts");
    const args = [script, "power-status", JSON.stringify(runs)];
    await execa(process.execPath, [warmUp, ...args], {
      env: { PATH: process.env["PATH"] ?? "" },
      extendEnv: false,
      stdin: "ignore",
      timeout: TIMEOUT_MS,
    });
  } finally {
    await Promise.all([redfish.close(), ipmi.close()]);
  }
}

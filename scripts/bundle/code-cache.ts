import { join } from "node:path";
import { execa } from "execa";
import { startIpmiBmc } from "../../simulators/ipmi/bmc.ts";
import { SimulatedMachine } from "../../simulators/machine.ts";
import { startRedfishBmc } from "../../simulators/redfish/bmc.ts";
import type { Bundle } from "./bundle.ts";
import type { WarmRun } from "./warm-up.ts";

const PASSWORD = "calvin";
const TIMEOUT_MS = 120_000;

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
      ...{ extendEnv: false, stdin: "ignore", timeout: TIMEOUT_MS },
    });
  } finally {
    await Promise.all([redfish.close(), ipmi.close()]);
  }
}

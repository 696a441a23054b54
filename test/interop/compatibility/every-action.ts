import { expect, onTestFinished } from "vitest";
import { catalogue } from "../../../actions/catalogue.ts";
import { systemClock } from "../../../shared/clock.ts";
import type { ActionResult } from "../../../shared/contract/result.ts";
import type { ProviderName } from "../../../shared/contract/vocabulary.ts";
import { HttpListener } from "../../../simulators/http-listener.ts";
import { resultOf, runAction } from "../../actions/action-run.ts";
import { capable, neededCapabilities } from "../../actions/needed-capabilities.ts";
import { sampleInput } from "../../actions/sample-input.ts";
import { testFolder } from "../../support/test-folder.ts";
import { WORKS } from "./results.ts";

type Environment = Readonly<Record<string, string>>;

export interface Server {
  readonly provider: ProviderName;
  /** The variables of the connection. */
  readonly env: Environment;
  /** Input of some actions in place of that of their examples; of all under `*`. */
  readonly inputs?: Readonly<Record<string, Environment>>;
  /** Whether the power of its machine never changes. */
  readonly fixedPower?: boolean;
  /** Whether it ignores the boot device of a machine that is on. */
  readonly bootDeviceOnlyOff?: boolean;
  /** Limits of the server that look like a defect: the class that the action reports, and the reason; of all under `*`. */
  readonly limits?: Readonly<Record<string, readonly [ActionResult["class"], string]>>;
  /** Runs an action; in the test when absent. */
  readonly run?: (name: string, env: Environment) => Promise<ActionResult>;
}

/** Tries up to 58 actions, some of which wait for the machine. */
export const EVERY_ACTION_MS = 400_000;
/** The server does not offer it, refuses it, or does something else. */
const LIMITS = ["unsupported", "bmc", "verify"];
/** Actions whose examples need a power state. Others use the machine as it is: some servers need seconds to change its power. */
const NEEDS_POWER = /^(power-|wait-for-power|run-tasks|send-nmi|watch-console)/;
const BOOT_DEVICE = /^(set-boot-device|set-pxe|set-disk|clear-boot)/;
/**
 * An order in which each action finds what it needs: a boot is waited for before an override is set, a user is created, changed and
 * deleted. Other actions follow.
 */
const ORDER: readonly string[] = [
  ...[
    "power-on",
    "power-off",
    "power-cycle",
    "power-reset",
    "power-status",
    "wait-for-power-state",
    "wait-for-boot",
    "watch-console",
  ],
  ...[
    "set-boot-device",
    "get-boot-device",
    "set-pxe-once",
    "set-disk-persistent",
    "set-boot-order",
    "set-http-boot",
    "set-nic-pxe",
    "clear-boot-override",
    "insert-virtual-media",
    "eject-virtual-media",
  ],
  ...[
    "run-tasks",
    "check",
    "inventory",
    "list-firmware",
    "update-firmware",
    "bmc-info",
    "get-bmc-csr",
    "set-bmc-certificate",
  ],
  ...["list-users", "create-user", "update-user", "delete-user"],
  ...[
    "get-ntp",
    "set-ntp",
    "get-bmc-network",
    "set-bmc-network",
    "power-history",
    "list-sel",
    "clear-sel",
    "deactivate-sol",
    "read-sensors",
    "send-nmi",
    "set-indicator",
    "set-power-restore-policy",
    "set-power-limit",
    "get-bios",
    "set-bios",
    "reset-bios",
    "set-raid",
    "clear-raid",
    "erase-drives",
    "get-secure-boot",
    "set-secure-boot",
    "reset-secure-boot-keys",
    "list-secure-boot-keys",
    "list-virtual-media",
    "enroll-secure-boot-key",
    "delete-secure-boot-key",
    "screenshot",
  ],
];
/** A server that is reset may be away, or end. */
const LAST = "bmc-reset";

/**
 * Runs the example of each action for which the provider has what it needs. Resolves to the outcome of each: `works`, or the
 * limit of the server as the action reports it. Rejects when an action fails in another way.
 */
export async function tryEveryAction(server: Server): Promise<Record<string, string>> {
  const { folder } = await testFolder();
  const files = new HttpListener({ tls: "http" }, () => ({ status: 200, body: "an image" }));
  await files.listen();
  onTestFinished(() => files.close());
  const outcomes: Record<string, string> = {};
  const failures: unknown[] = [];
  const others = catalogue.filter((name) => !ORDER.includes(name) && name !== LAST);
  for (const name of [...ORDER.filter((one) => catalogue.includes(one)), ...others, LAST]) {
    const { action, env, power } = await sampleInput(name, folder);
    const input = {
      ...env,
      ...brief(`${files.url}/image`),
      ...server.inputs?.["*"],
      ...server.inputs?.[name],
    };
    const own = Object.fromEntries(Object.entries(input).filter(([variable]) => accepts(action, variable)));
    const needed = await neededCapabilities(action, { ...ANY_BMC, ...own });
    if (!(await capable(server.provider, needed))) continue;
    if (server.bootDeviceOnlyOff && BOOT_DEVICE.test(name)) await bringTo("off", server);
    if (!server.fixedPower && NEEDS_POWER.test(name)) await bringTo(power, server);
    const said = await (server.run ?? run)(name, { ...server.env, ...own });
    const [known, reason = ""] = server.limits?.[name] ?? server.limits?.["*"] ?? [];
    if (said.ok) outcomes[name] = WORKS;
    else if (said.class === known) outcomes[name] = reason;
    else if (said.class && LIMITS.includes(said.class)) outcomes[name] = limitOf(said);
    else failures.push({ name, class: said.class, message: said.message });
  }
  expect(failures).toEqual([]);
  return outcomes;
}

const ANY_BMC = { BMC_HOST: "127.0.0.1", BMC_USERNAME: "admin", BMC_PASSWORD: "calvin" };

/** What no server may fetch from elsewhere, and waits that end soon. */
const brief = (url: string): Environment => ({
  MEDIA_URL: `${url}.iso`,
  FIRMWARE_URI: `${url}.bin`,
  HTTP_BOOT_URI: `${url}.efi`,
  ADDRESS: "127.0.0.2/8",
  GATEWAY: "127.0.0.1",
  UNTIL_TIMEOUT: "30s",
  STAGE_TIMEOUT: "30s",
  SOFT_TIMEOUT: "3s",
  ANSWER_TIMEOUT: "30s",
});

const accepts = ({ input }: { readonly input: object }, variable: string) =>
  Object.values(input).some(({ env }) => env === variable);

/** In real time, which these servers keep. */
const run = async (name: string, env: Environment) =>
  resultOf(await runAction(name, { env, clock: systemClock }));

async function bringTo(power: "on" | "off", { env }: Server): Promise<void> {
  const more = power === "off" ? { MODE: "hard" } : {};
  const { ok, message } = await run(`power-${power}`, { ...env, ...more });
  expect({ ok, message }).toMatchObject({ ok: true });
}

/** Without the provider's name, and what differs from run to run: ports, folders, durations after a semicolon. */
function limitOf({ message = "" }: ActionResult): string {
  const [first = ""] = message.replace(/^\w+: /, "").split("; ");
  return first
    .replaceAll(/127\.0\.0\.1:\d+/g, "127.0.0.1")
    .replaceAll(/[\da-f]{8}-[\da-f-]{27}/g, "ID")
    .replaceAll(/"\S*\/pbnj-\S*"/g, "a file")
    .replace(/ \(Base\S*$/, "");
}

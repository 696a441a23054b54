import type { Clock } from "../../shared/clock.ts";
import { defined } from "../../shared/defined.ts";
import { redfishProfile } from "../../simulators/redfish/profiles.ts";
import { foundIn } from "../shared/bmc/canary/traces.ts";
import { ActionRun } from "./action-run.ts";
import { actionLab, type LabOptions, type TestedProvider } from "./lab.ts";
import { CERTIFICATE, sampleInput } from "./sample-input.ts";
import type { Subject } from "./subject.ts";

/** The BMC's password in every run, which must not be found anywhere; IPMI takes 20 bytes. */
export const CANARY = "calvin-canary-83d1c2";
/** How long a BMC that is reset is away: longer than one attempt to connect, on a busy machine as well, or the outage would be invisible. */
export const AWAY_MS = 12_000;

type Environment = Readonly<Record<string, string>>;

/** A lab with the machine of an action's example, the BMC user and the files that it names. */
export async function subjectLab({ name, power, needed, reference }: Subject, options: LabOptions = {}) {
  const generic = redfishProfile("generic");
  const profile = needed.includes("screenshot") ? "dell-idrac9" : generic;
  const user = reference.environment["USER_NAME"];
  const exists = user !== undefined && user !== "admin" && reference.result.before !== undefined;
  const others = exists ? [{ name: user, password: "another-4c81" }] : [];
  const lab = await actionLab({
    machine: { power, ...options.machine },
    ...(needed.includes("console") ? { ssh: { password: CANARY } } : {}),
    redfish: {
      password: CANARY,
      ...(profile ? { profile } : {}),
      ...(needed.includes("https") ? { tls: undefined } : {}),
      restartMs: AWAY_MS,
      ...options.redfish,
    },
    ipmi: {
      users: [{ name: "admin", password: CANARY }, ...others],
      restartMs: AWAY_MS,
      ...options.ipmi,
    },
  });
  const { accounts, certificates, certificate } = lab.redfish;
  certificates.key = CERTIFICATE.key;
  for (const { name: UserName, password: Password } of others) {
    const body = { UserName, Password, RoleId: "Operator" };
    accounts.answer({ method: "POST", path: accounts.path, body, ifMatch: undefined });
  }
  const { env: own, secrets, container } = await sampleInput(name, lab.folder);
  const machine = {
    MACHINE: "node-01",
    IPMI_PRIVILEGE: "administrator",
    LOG_LEVEL: "debug",
    ...(certificate ? { BMC_TLS_FINGERPRINT: lab.redfish.fingerprint } : {}),
  };
  return Object.assign(lab, {
    /** Starts the action with its example, which these variables add to. */
    start: (
      providers: readonly TestedProvider[],
      env: Environment = {},
      argv: readonly string[] = [],
      clock?: Clock,
    ) =>
      new ActionRun(name, {
        argv,
        env: { ...lab.env(...providers), ...machine, BMC_PASSWORD: CANARY, ...own, ...env },
        ...defined({ clock }),
      }),
    /** Passwords in the action's input. */
    secrets,
    /** The variables and volumes for a container, without the password. */
    container: {
      env: (providers: readonly TestedProvider[]): Environment => {
        const { BMC_PASSWORD: _, ...env } = lab.env(...providers);
        return { ...env, ...machine, ...container.env };
      },
      volumes: container.volumes,
    },
    /** Which passwords can be found in what an action wrote. */
    leaks: ({ stdout, stderr }: { readonly stdout: string; readonly stderr: string }) =>
      foundIn(`${stdout}\n${stderr}`, [CANARY, ...secrets]),
  });
}

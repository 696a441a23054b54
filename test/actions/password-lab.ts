import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
import type { EndedAction } from "./action-run.ts";
import { actionLab, type TestedProvider } from "./lab.ts";

export type Environment = Readonly<Record<string, string>>;
export type PasswordLab = Awaited<ReturnType<typeof actionLab>>;

export const BMC_PASSWORD = "canary-bmc-41d8";
export const OLD = "canary-old-90ab";
export const ACCOUNTS = /Accounts/;
/** Operations of Set User Password (IPMI 2.0 §22.30). */
const SET = 2;
export const TEST = 3;
export const GENERATED = /^[\w.+-]{16}\n$/;

export const passwordLab = async () => {
  const lab = await actionLab({
    redfish: { password: BMC_PASSWORD },
    ipmi: { users: [{ name: "admin", password: BMC_PASSWORD }] },
  });
  lab.redfish.accounts.add({ name: "eve", password: OLD, role: "Operator", enabled: true });
  lab.ipmi.users.add({ name: "eve", password: OLD, privilege: "operator" });
  return lab;
};

export const fileOf = (lab: PasswordLab) => join(lab.folder, "password");

export const envOf = (lab: PasswordLab, provider: TestedProvider, user = "eve"): Environment => ({
  ...lab.env(provider),
  BMC_PASSWORD,
  IPMI_PRIVILEGE: "administrator",
  LOG_LEVEL: "debug",
  USER_NAME: user,
  PASSWORD_GENERATE: "true",
  PASSWORD_GENERATE_FILE: fileOf(lab),
});

export const inForce = (lab: PasswordLab, provider: TestedProvider, user = "eve") =>
  provider === "redfish"
    ? lab.redfish.accounts.find(user)?.password
    : lab.ipmi.users.find(user)?.key.toString().replaceAll("\0", "");

export const textOf = (path: string) => readFile(path, "utf8").catch(() => undefined);
export const onDisk = async (lab: PasswordLab) => [
  await textOf(fileOf(lab)),
  await textOf(`${fileOf(lab)}.new`),
];

/** Neither the passwords that went in nor the one that was made may be met anywhere. */
export function expectNoTraceIn(
  { stdout, stderr }: EndedAction,
  ...made: readonly (string | undefined)[]
): void {
  for (const password of [BMC_PASSWORD, OLD, ...made.flatMap((text) => text?.trim() || [])]) {
    for (const trace of [password, Buffer.from(password).toString("base64")]) {
      expect(`${stdout}\n${stderr}`).not.toContain(trace);
    }
  }
}

/** A moment at which an action can be caught, for as long as it takes. */
interface Moment {
  readonly title: string;
  /** Whether the BMC has the new password by then. */
  readonly isSet: boolean;
  /** Holds an action there; resolves when it is. */
  hold(lab: PasswordLab): () => boolean;
}

export const moments: Readonly<Record<TestedProvider, readonly Moment[]>> = {
  redfish: [
    {
      title: "before the BMC hears of the password",
      isSet: false,
      hold: ({ redfish }) => {
        redfish.fail({ kind: "silent", method: "GET", path: ACCOUNTS });
        return () => redfish.log.some((line) => ACCOUNTS.test(line));
      },
    },
    {
      title: "while the BMC has the password and has not answered",
      isSet: true,
      hold: ({ redfish }) => {
        redfish.fail({ kind: "silent", method: "PATCH", path: ACCOUNTS });
        return () => redfish.accounts.all.some(({ password }) => ![BMC_PASSWORD, OLD].includes(password));
      },
    },
    {
      title: "when the BMC has answered and the file has not taken its place",
      isSet: true,
      hold: ({ redfish }) => {
        const isWritten = () => redfish.log.some((line) => line.startsWith("PATCH"));
        // Every read from then on, whichever comes first.
        redfish.fail({ kind: "silent", method: "GET", path: /./, unless: () => !isWritten(), times: 9 });
        return () => isWritten() && redfish.log.at(-1)?.startsWith("GET") === true;
      },
    },
  ],
  ipmi: [
    {
      title: "before the BMC hears of the password",
      isSet: false,
      hold: ({ ipmi }) => {
        ipmi.faults.ignores = (name) => name === "Get User Access";
        return () => ipmi.log.includes("Get User Access");
      },
    },
    {
      title: "while the BMC has the password and has not answered",
      isSet: true,
      hold: ({ ipmi }) => {
        let isSet = false;
        ipmi.faults.losesAnswer = (name) => {
          isSet ||= name === "Set User Password";
          return isSet;
        };
        return () => isSet;
      },
    },
    {
      title: "when the BMC has answered and the file has not taken its place",
      isSet: true,
      hold: ({ ipmi }) => {
        let isWritten = false;
        let isHeld = false;
        ipmi.faults.ignores = (name, payload) => {
          isHeld ||= isWritten && name !== "Set User Password";
          isWritten ||= name === "Set User Password" && payload[1] === SET;
          return isHeld;
        };
        return () => isHeld;
      },
    },
  ],
};

export const release = ({ redfish, ipmi }: PasswordLab) => {
  redfish.heal();
  ipmi.faults.ignores = () => false;
  ipmi.faults.losesAnswer = () => false;
};

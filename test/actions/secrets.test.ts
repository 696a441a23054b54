import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ActionRun, type EndedAction, resultOf } from "./action-run.ts";
import { actionLab } from "./lab.ts";

const PASSWORD = "canary-f4c91e";
const KG = "canary-kg-0b77d2";
/** The secrets as they may be met: as they are, as hex, and as HTTP carries them. */
const TRACES = [PASSWORD, KG, `admin:${PASSWORD}`].flatMap((text) => [
  text,
  Buffer.from(text).toString("base64"),
  Buffer.from(text).toString("hex"),
]);

type Lab = Awaited<ReturnType<typeof actionLab>>;

/** Everything that a run leaves behind for others to read. */
async function leftBehind(ended: EndedAction, resultFile: string): Promise<string> {
  return [ended.stdout, ended.stderr, await readFile(resultFile, "utf8")].join("\n");
}

function expectNoTraceIn(text: string): void {
  for (const trace of TRACES) expect(text).not.toContain(trace);
}

const users = [{ name: "admin", password: PASSWORD }];
const secretive = () => actionLab({ redfish: { password: PASSWORD }, ipmi: { users, kg: KG } });
const withSecrets = (env: Readonly<Record<string, string>>) => ({
  ...env,
  BMC_PASSWORD: PASSWORD,
  IPMI_KG: KG,
});

interface Scenario {
  readonly title: string;
  readonly class: string | undefined;
  readonly lab: () => Promise<Lab>;
  readonly env: (lab: Lab) => Readonly<Record<string, string>>;
  readonly argv?: readonly string[];
  readonly stdin?: string;
}

const scenarios: readonly Scenario[] = [
  {
    title: "a success via ipmi with Kg",
    class: undefined,
    lab: secretive,
    env: (lab) => withSecrets(lab.env("ipmi")),
  },
  {
    title: "a Kg that is too long",
    class: "usage",
    lab: secretive,
    env: (lab) => ({ ...withSecrets(lab.env("ipmi")), IPMI_KG: `${KG}-and-more` }),
  },
  {
    title: "a user and password that were pasted in front of the host",
    class: "usage",
    lab: secretive,
    env: (lab) => ({ ...withSecrets(lab.env("redfish")), BMC_HOST: `https://admin:${PASSWORD}@10.0.0.1` }),
  },
  {
    title: "a password as a flag, and stray arguments",
    class: "usage",
    lab: secretive,
    env: (lab) => withSecrets(lab.env("redfish")),
    argv: [`--bmc-password=${PASSWORD}`, "--bmc-pasword", PASSWORD, KG],
  },
  {
    title: "a connection on stdin that is no JSON",
    class: "usage",
    lab: secretive,
    env: () => ({ BMC_CONNECTION_FILE: "-" }),
    stdin: `{"password": "${PASSWORD}", "ipmi": {"kg": "${KG}"`,
  },
  {
    title: "a connection on stdin that is wrong in places",
    class: "usage",
    lab: secretive,
    env: () => ({ BMC_CONNECTION_FILE: "-" }),
    stdin: JSON.stringify({ host: "a b", password: [PASSWORD], ipmi: { kg: { key: KG } } }),
  },
];

describe.concurrent("passwords and keys appear nowhere after", () => {
  it.each(scenarios)("$title", async ({ class: errorClass, lab: start, env, argv, stdin }) => {
    await using lab = await start();
    const resultFile = join(lab.folder, "result.json");
    const action = new ActionRun("power-status", {
      env: { ...env(lab), RESULT_FILE: resultFile, LOG_LEVEL: "debug" },
      ...(argv && { argv }),
      ...(stdin !== undefined && { stdin }),
    });

    const ended = await action.ended;

    expect(resultOf(ended).class).toBe(errorClass);
    expectNoTraceIn(await leftBehind(ended, resultFile));
  });
});

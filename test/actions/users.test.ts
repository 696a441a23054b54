import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type EndedAction, resultOf, runAction } from "./action-run.ts";
import { actionLab, TESTED_PROVIDERS, type TestedProvider } from "./lab.ts";

type Environment = Readonly<Record<string, string>>;
type Lab = Awaited<ReturnType<typeof actionLab>>;

const BMC_PASSWORD = "canary-bmc-41d8";
const PASSWORD = "canary-new-7c2e";
const OTHER_PASSWORD = "canary-old-90ab";
const ACCOUNTS = /Accounts/;

const userLab = () =>
  actionLab({
    redfish: { password: BMC_PASSWORD },
    ipmi: { users: [{ name: "admin", password: BMC_PASSWORD }] },
  });

const envOf = (lab: Lab, provider: TestedProvider): Environment => ({
  ...lab.env(provider),
  BMC_PASSWORD,
  IPMI_PRIVILEGE: "administrator",
  LOG_LEVEL: "debug",
});

/** A user that is there already, on both BMCs. */
async function addEve(lab: Lab, role: "Operator" | "ReadOnly" = "Operator"): Promise<void> {
  lab.redfish.accounts.add({ name: "eve", password: OTHER_PASSWORD, role, enabled: true });
  lab.ipmi.users.add({
    name: "eve",
    password: OTHER_PASSWORD,
    privilege: role === "Operator" ? "operator" : "user",
  });
}

/** What a BMC has of a user. */
function stored(lab: Lab, provider: TestedProvider, name: string) {
  if (provider === "redfish") {
    const account = lab.redfish.accounts.find(name);
    return account && { password: account.password, level: account.role, enabled: account.enabled };
  }
  const row = lab.ipmi.users.rows.find((one) => one.name === name);
  if (!row) return undefined;
  const level = { 2: "ReadOnly", 3: "Operator", 4: "Administrator" }[row.level] ?? "None";
  return { password: row.key.toString().replaceAll("\0", ""), level, enabled: row.enabled };
}

/** Commands that change users. */
const writes = ({ redfish, ipmi }: Lab) => [
  ...redfish.log.filter((line) => /^(POST|PATCH|DELETE) .*Accounts/.test(line)),
  ...ipmi.log.filter((name) => name.startsWith("Set User")),
];

const TRACES = [BMC_PASSWORD, PASSWORD, OTHER_PASSWORD].flatMap((text) => [
  text,
  Buffer.from(text).toString("base64"),
  Buffer.from(text).toString("hex"),
]);

function expectNoTraceIn({ stdout, stderr }: EndedAction): void {
  for (const trace of TRACES) expect(`${stdout}\n${stderr}`).not.toContain(trace);
}

/** Runs an action on a BMC and checks that no password is left behind. */
async function run(lab: Lab, provider: TestedProvider, action: string, env: Environment) {
  const ended = await runAction(action, { env: { ...envOf(lab, provider), ...env } });
  expectNoTraceIn(ended);
  return { code: ended.code, result: resultOf(ended), stdout: ended.stdout };
}

describe.concurrent.each(TESTED_PROVIDERS)("via %s", (provider) => {
  const via = ` via ${provider}`;

  it("update-user takes a password from a file, without the line break at its end", async () => {
    await using lab = await userLab();
    await addEve(lab);
    const file = join(lab.folder, "password");
    await writeFile(file, `${PASSWORD}\n`);

    const { result } = await run(lab, provider, "update-user", { USER_NAME: "eve", PASSWORD_FILE: file });

    expect(result.message).toBe(`user eve updated, its password works${via}`);
    expect(stored(lab, provider, "eve")).toMatchObject({ password: PASSWORD, level: "Operator" });
  });

  it("update-user of a user that is not there is a usage error, and creates none", async () => {
    await using lab = await userLab();

    const { code, result } = await run(lab, provider, "update-user", { USER_NAME: "eve", PASSWORD });

    expect(result).toMatchObject({
      ok: false,
      class: "usage",
      message: `${provider}: there is no user eve: nothing was changed`,
    });
    expect(code).toBe(2);
    expect(writes(lab)).toEqual([]);
  });

  it("delete-user deletes a user, and one that is not there is success", async () => {
    await using lab = await userLab();
    await addEve(lab);

    const first = await run(lab, provider, "delete-user", { USER_NAME: "eve" });
    const second = await run(lab, provider, "delete-user", { USER_NAME: "eve" });

    expect(first.result).toMatchObject({ ok: true, message: `user eve deleted${via}`, changed: true });
    expect(second.result).toMatchObject({
      ok: true,
      message: `user eve already absent${via}`,
      changed: false,
    });
    expect(stored(lab, provider, "eve")).toBeUndefined();
  });

  it("delete-user does not delete the user that it logs in as, and sends nothing", async () => {
    await using lab = await userLab();

    const { code, result } = await run(lab, provider, "delete-user", { USER_NAME: "admin" });

    expect(result).toMatchObject({
      class: "usage",
      message: expect.stringContaining("does not delete itself"),
    });
    expect(code).toBe(2);
    expect(lab.traffic()).toBe(0);
  });

  it("list-users lists users with their roles, and disabled ones as such", async () => {
    await using lab = await userLab();
    await addEve(lab, "ReadOnly");
    const [account, row] = [lab.redfish.accounts.find("eve"), lab.ipmi.users.find("eve")];
    if (account) account.enabled = false;
    if (row) row.enabled = false;

    const { result } = await run(lab, provider, "list-users", {});

    expect(result).toMatchObject({
      ok: true,
      message: `2 users, 1 disabled${via}`,
      changed: false,
      data: {
        users: [
          { name: "admin", role: "administrator", enabled: true },
          { name: "eve", role: "readonly", enabled: false },
        ],
      },
    });
  });

  it("list-users prints a table where one is asked for, and the result after it", async () => {
    await using lab = await userLab();
    await addEve(lab);

    const { stdout, result } = await run(lab, provider, "list-users", { OUTPUT: "table" });

    expect(
      stdout
        .split("\n")
        .slice(0, 4)
        .map((line) => line.split(/ {2,}/).slice(0, 3)),
    ).toEqual([
      ["user", "role", "enabled"],
      ["-----", "-------------", "-------"],
      ["admin", "administrator", "yes"],
      ["eve", "operator", "yes"],
    ]);
    expect(result.data).toMatchObject({ users: [{ name: "admin" }, { name: "eve" }] });
  });

  it.each([
    [
      "create-user",
      { USER_NAME: "mallory", ROLE: "operator", PASSWORD },
      ["create user mallory as operator"],
    ],
    [
      "create-user",
      { USER_NAME: "eve", ROLE: "readonly", PASSWORD },
      ["user eve: set its password", "user eve: make it readonly"],
    ],
    ["update-user", { USER_NAME: "eve", ROLE: "operator" }, []],
    ["update-user", { USER_NAME: "eve", PASSWORD }, ["user eve: set its password"]],
    ["delete-user", { USER_NAME: "eve" }, ["delete user eve"]],
    ["delete-user", { USER_NAME: "mallory" }, []],
  ])("a dry run of %s with %o says what it would send and sends none of it", async (action, env, steps) => {
    await using lab = await userLab();
    await addEve(lab);

    const { result } = await run(lab, provider, action, { ...env, DRY_RUN: "true" });

    expect(result).toMatchObject({ ok: true, changed: false, data: { wouldSend: steps } });
    expect(writes(lab)).toEqual([]);
  });

  it("a dry run with a password to be made writes no file", async () => {
    await using lab = await userLab();

    const { result } = await run(lab, provider, "create-user", {
      ...{ USER_NAME: "eve", ROLE: "operator", DRY_RUN: "true" },
      ...{ PASSWORD_GENERATE: "true", PASSWORD_GENERATE_FILE: join(lab.folder, "eve") },
    });

    expect(result).toMatchObject({ ok: true, data: { wouldSend: ["create user eve as operator"] } });
    expect(await readdir(lab.folder)).toEqual([]);
  });

  it("a role that the BMC accepts and does not take is a failure", async () => {
    await using lab = await userLab();
    await addEve(lab);
    lab.redfish.fail({ kind: "forget", method: "PATCH", path: ACCOUNTS });
    lab.ipmi.faults.refuses = (name) => (name === "Set User Access" ? 0 : undefined);

    const { code, result } = await run(lab, provider, "update-user", { USER_NAME: "eve", ROLE: "readonly" });

    expect(result).toMatchObject({
      class: "verify",
      message: `${provider}: asked for user eve as readonly, the BMC has it as operator`,
    });
    expect(code).toBe(15);
  });

  it("a user that the BMC still lists is not called deleted", async () => {
    await using lab = await userLab();
    await addEve(lab);
    lab.redfish.fail({ kind: "forget", method: "DELETE", path: ACCOUNTS });
    lab.ipmi.faults.refuses = (name) => (name.startsWith("Set User") ? 0 : undefined);

    const { code, result } = await run(lab, provider, "delete-user", { USER_NAME: "eve" });

    expect(result).toMatchObject({
      class: "verify",
      message: `${provider}: the BMC accepted the deletion of user eve and still lists it`,
    });
    expect(code).toBe(15);
  });

  it("a password that the BMC refuses is an error in its own words, without the password", async () => {
    await using lab = await userLab();
    await addEve(lab);
    lab.ipmi.faults.refuses = (name) => (name === "Set User Password" ? 0xff : undefined);
    // Too short for the simulated Redfish BMC, whose refusal quotes it.
    const password = "canary";
    const said = {
      redfish: /The value \[redacted\] for the property Password is of a different format.*at least 8/,
      ipmi: /Set User Password: refused \(completion code 0xFF\)/,
    };

    const ended = await runAction("update-user", {
      env: { ...envOf(lab, provider), USER_NAME: "eve", PASSWORD: password },
    });

    expect(resultOf(ended)).toMatchObject({
      class: "bmc",
      message: expect.stringMatching(said[provider]),
    });
    expect(ended.code).toBe(19);
    expect(`${ended.stdout}${ended.stderr}`).not.toContain(password);
    expect(stored(lab, provider, "eve")).toMatchObject({ password: OTHER_PASSWORD });
  });
});

describe.concurrent("a session below administrator", () => {
  it.each([
    ["create-user", { USER_NAME: "mallory", ROLE: "operator", PASSWORD }],
    ["update-user", { USER_NAME: "eve", ROLE: "readonly" }],
    ["delete-user", { USER_NAME: "eve" }],
    ["delete-user", { USER_NAME: "eve", DRY_RUN: "true" }],
  ])("%s with %o names the way out, and nothing is changed", async (action, env) => {
    await using lab = await userLab();
    await addEve(lab);

    const { code, result } = await run(lab, "ipmi", action, { ...env, IPMI_PRIVILEGE: "operator" });

    expect(result).toMatchObject({
      class: "auth",
      message: expect.stringMatching(
        /^ipmi: to change users: it needs privilege level administrator.*IPMI_PRIVILEGE=administrator/,
      ),
    });
    expect(code).toBe(10);
    expect(writes(lab)).toEqual([]);
  });

  it("is enough to list users, and for what is so already", async () => {
    await using lab = await userLab();
    await addEve(lab);
    const operator = { IPMI_PRIVILEGE: "operator" };

    const results = await Promise.all([
      run(lab, "ipmi", "list-users", operator),
      run(lab, "ipmi", "update-user", { ...operator, USER_NAME: "eve", ROLE: "operator" }),
      run(lab, "ipmi", "delete-user", { ...operator, USER_NAME: "mallory" }),
    ]);

    expect(results.map(({ result }) => result)).toMatchObject([
      { ok: true, message: "2 users via ipmi" },
      { ok: true, changed: false },
      { ok: true, changed: false },
    ]);
  });
});

describe.concurrent("input", () => {
  const incomplete: readonly (readonly [string, string, Environment, string])[] = [
    ["create-user", "without a password", { USER_NAME: "eve", ROLE: "operator" }, "password is missing"],
    ["create-user", "without a role", { USER_NAME: "eve", PASSWORD }, "ROLE"],
    [
      "create-user",
      "with another role",
      { USER_NAME: "eve", ROLE: "root", PASSWORD },
      "administrator, operator",
    ],
    ["update-user", "without anything to change", { USER_NAME: "eve" }, "nothing to change"],
    ["update-user", "without a user", { PASSWORD }, "USER_NAME"],
    ["update-user", "with a blank in the user", { USER_NAME: "eve x", PASSWORD }, "not a user name"],
    [
      "update-user",
      "with two passwords",
      { USER_NAME: "eve", PASSWORD, PASSWORD_GENERATE: "true", PASSWORD_GENERATE_FILE: "/tmp/x" },
      "more than one",
    ],
    [
      "update-user",
      "with no place to write to",
      { USER_NAME: "eve", PASSWORD_GENERATE: "true" },
      "is missing",
    ],
    [
      "update-user",
      "with a place and nothing to write",
      { USER_NAME: "eve", PASSWORD, PASSWORD_GENERATE_FILE: "/tmp/x" },
      "no effect",
    ],
  ];

  it.each(incomplete)("of %s %s is a usage error", async (action, _, env, message) => {
    await using lab = await userLab();

    const { code, result } = await run(lab, "redfish", action, env);

    expect(result).toMatchObject({ class: "usage", message: expect.stringContaining(message) });
    expect(code).toBe(2);
    expect(lab.traffic()).toBe(0);
  });

  it("takes no password as a flag, and does not repeat it", async () => {
    await using lab = await userLab();

    const ended = await runAction("update-user", {
      env: envOf(lab, "redfish"),
      argv: ["--user-name", "eve", `--password=${PASSWORD}`],
    });

    expect(resultOf(ended)).toMatchObject({
      class: "usage",
      message: expect.stringContaining("--password cannot be a flag"),
    });
    expectNoTraceIn(ended);
    expect(lab.traffic()).toBe(0);
  });

  it("shows in --help where passwords come from, and no flag for one", async () => {
    const ended = await runAction("create-user", { argv: ["--help"] });

    expect(ended.stdout).toMatch(/--password-file/);
    expect(ended.stdout).not.toMatch(/--password(?!-)/);
  });
});

it("the result file holds no password either", async () => {
  await using lab = await userLab();
  const resultFile = join(lab.folder, "result.json");

  await run(lab, "redfish", "create-user", {
    ...{ USER_NAME: "eve", ROLE: "operator", PASSWORD },
    RESULT_FILE: resultFile,
  });

  const text = await readFile(resultFile, "utf8");
  expect(text).toContain("user eve created as operator");
  for (const trace of TRACES) expect(text).not.toContain(trace);
});

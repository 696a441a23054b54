import { chmod, chown, link, lstat, mkdir, readdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { generatePassword, withNewPassword } from "../../actions/harness/input/new-password.ts";
import { BmcError } from "../../shared/contract/bmc-error.ts";
import { silentLogger } from "../../shared/logger.ts";
import { ActionRun, resultOf, runAction } from "./action-run.ts";
import { eventually, TESTED_PROVIDERS } from "./lab.ts";
import {
  ACCOUNTS,
  type Environment,
  envOf,
  expectNoTraceIn,
  fileOf,
  GENERATED,
  inForce,
  moments,
  OLD,
  onDisk,
  type PasswordLab,
  passwordLab,
  TEST,
  textOf,
} from "./password-lab.ts";

const noPassword = { password: undefined, passwordFile: undefined };

describe.concurrent.each(TESTED_PROVIDERS)("a generated password via %s", (provider) => {
  it("is in the file alone, which only its owner may read, and is the one in force", async () => {
    await using lab = await passwordLab();

    const ended = await runAction("update-user", { env: envOf(lab, provider) });

    const [file, candidate] = await onDisk(lab);
    expect(resultOf(ended)).toMatchObject({
      ok: true,
      message: `user eve updated, its password works, it is in ${fileOf(lab)} via ${provider}`,
    });
    expect(file).toMatch(GENERATED);
    expect(file).toBe(`${inForce(lab, provider)}\n`);
    expect(candidate).toBeUndefined();
    expect((await lstat(fileOf(lab))).mode & 0o777).toBe(0o600);
    expectNoTraceIn(ended, file);
  });

  it("takes the place of an older one when the BMC has it, and not before", async () => {
    await using lab = await passwordLab();
    await writeFile(fileOf(lab), `${OLD}\n`, { mode: 0o644 });
    // A reader that has the old file open, or reads it at any time, has all of the old password.
    await link(fileOf(lab), join(lab.folder, "old"));

    const ended = await runAction("update-user", { env: envOf(lab, provider) });

    const [file] = await onDisk(lab);
    expect(resultOf(ended)).toMatchObject({ ok: true });
    expect(file).toBe(`${inForce(lab, provider)}\n`);
    expect(await textOf(join(lab.folder, "old"))).toBe(`${OLD}\n`);
    expect((await lstat(fileOf(lab))).mode & 0o777).toBe(0o600);
  });

  it.each([
    [400, 0xc9],
    [401, 0xd4],
    [403, 0xcc],
    [405, 0xc1],
    [500, 0xff],
    [503, 0xc7],
  ])("that the BMC set, and answered %i or %i, is on the disk", async (status, completionCode) => {
    await using lab = await passwordLab();
    await writeFile(fileOf(lab), `${OLD}\n`);
    lab.redfish.fail({ kind: "gateway", status, method: "PATCH", path: ACCOUNTS });
    let isSet = false;
    lab.ipmi.faults.overrules = (name, reply) => {
      const isFirst = !isSet && name === "Set User Password";
      isSet ||= isFirst;
      return isFirst ? { ...reply, code: completionCode } : reply;
    };

    await runAction("update-user", { env: envOf(lab, provider) });

    expect(await onDisk(lab)).toContain(`${inForce(lab, provider)}\n`);
  });

  it("that the BMC refuses is gone from the disk, and the older file stays", async () => {
    await using lab = await passwordLab();
    await writeFile(fileOf(lab), `${OLD}\n`);
    lab.redfish.fail({
      kind: "refuse",
      status: 400,
      messageId: "Base.1.8.PropertyValueFormatError",
      method: "PATCH",
      path: ACCOUNTS,
    });
    lab.ipmi.faults.refuses = (name, data) =>
      name === "Set User Password" && data[1] !== TEST ? 0xc9 : undefined;

    const ended = await runAction("update-user", { env: envOf(lab, provider) });

    expect(resultOf(ended)).toMatchObject({ class: "bmc" });
    expect(ended.code).toBe(19);
    expect(await onDisk(lab)).toEqual([`${OLD}\n`, undefined]);
    expect(inForce(lab, provider)).toBe(OLD);
  });

  it("that the BMC accepts and does not show to have stays on disk, and the message says where", async () => {
    await using lab = await passwordLab();
    lab.redfish.fail({ kind: "forget", method: "PATCH", path: ACCOUNTS });
    lab.ipmi.faults.refuses = (name, data) =>
      name === "Set User Password" && data[1] !== TEST ? 0 : undefined;

    const ended = await runAction("update-user", { env: envOf(lab, provider) });

    const [file, candidate] = await onDisk(lab);
    expect(resultOf(ended)).toMatchObject({
      class: "verify",
      message: expect.stringContaining(`the password that the BMC may have stored is in ${fileOf(lab)}.new`),
    });
    expect([file, candidate]).toEqual([undefined, expect.stringMatching(GENERATED)]);
    expectNoTraceIn(ended, candidate);
  });

  it("that cannot be read back when it is set stays on disk, whatever the reason", async () => {
    await using lab = await passwordLab();
    lab.redfish.fail({
      kind: "refuse",
      status: 500,
      messageId: "X.1.0.No",
      path: ACCOUNTS,
      skip: 4,
      times: 99,
    });
    let isSet = false;
    lab.ipmi.faults.refuses = (name) => {
      if (isSet && name === "Get User Access") return 0xff;
      isSet ||= name === "Set User Password";
      return undefined;
    };

    const ended = await runAction("update-user", { env: envOf(lab, provider) });

    expect(resultOf(ended)).toMatchObject({ class: "bmc" });
    expect(await onDisk(lab)).toEqual([undefined, `${inForce(lab, provider)}\n`]);
    expect(inForce(lab, provider)).not.toBe(OLD);
  });

  it("is kept when the action is stopped while the BMC has it, and the log says where", async () => {
    await using lab = await passwordLab();
    const [, moment] = moments[provider];
    const isHeld = moment?.hold(lab) ?? (() => false);
    const action = new ActionRun("update-user", { env: envOf(lab, provider) });
    await eventually(isHeld);

    action.kill("SIGTERM");
    const ended = await action.ended;

    expect(ended.code).toBe(143);
    expect(await onDisk(lab)).toEqual([undefined, `${inForce(lab, provider)}\n`]);
    expect(ended.stderr).toContain(`${fileOf(lab)}.new`);
  });
});

describe.concurrent("what an earlier run left", () => {
  it("is used again, and a BMC that refuses a password in use has taken it", async () => {
    await using lab = await passwordLab();
    await writeFile(`${fileOf(lab)}.new`, `${OLD}\n`, { mode: 0o600 });
    lab.redfish.accounts.habits.refusesReuse = true;

    const ended = await runAction("update-user", { env: envOf(lab, "redfish") });

    expect(resultOf(ended)).toMatchObject({
      ok: true,
      changed: false,
      message: `user eve already there, its password works, it is in ${fileOf(lab)} via redfish`,
    });
    expect(await onDisk(lab)).toEqual([`${OLD}\n`, undefined]);
  });

  it("is kept when the BMC refuses it, or the login", async () => {
    await using lab = await passwordLab();
    const left = "Canary-left-5c-x\n";
    await writeFile(`${fileOf(lab)}.new`, left, { mode: 0o600 });
    const refuse = { kind: "refuse", status: 400, messageId: "Base.1.8.PropertyValueFormatError" } as const;
    lab.redfish.fail({ ...refuse, method: "PATCH", path: ACCOUNTS });

    const refused = await runAction("update-user", { env: envOf(lab, "redfish") });
    const locked = await runAction("update-user", {
      env: { ...envOf(lab, "redfish"), BMC_PASSWORD: "canary-wrong" },
    });

    expect([resultOf(refused), resultOf(locked)]).toMatchObject([{ class: "bmc" }, { class: "auth" }]);
    expect(await onDisk(lab)).toEqual([undefined, left]);
  });

  it.each(["", "Ha1f-a-pass"])("is made anew where it is only %j, which no BMC was given", async (begun) => {
    await using lab = await passwordLab();
    await writeFile(`${fileOf(lab)}.new`, begun, { mode: 0o600 });

    const ended = await runAction("update-user", { env: envOf(lab, "redfish") });

    const [file] = await onDisk(lab);
    expect(resultOf(ended)).toMatchObject({ ok: true });
    expect(file).toMatch(GENERATED);
    expect(file).toBe(`${inForce(lab, "redfish")}\n`);
  });
});

/** Obstacles to writing a password file, by what the message must say. */
const obstacles: readonly (readonly [string, (lab: PasswordLab) => Promise<Environment>])[] = [
  ["no such file or directory", async (lab) => ({ PASSWORD_GENERATE_FILE: join(lab.folder, "none", "x") })],
  [
    "not a directory",
    async (lab) => {
      await writeFile(join(lab.folder, "a-file"), "");
      return { PASSWORD_GENERATE_FILE: join(lab.folder, "a-file", "x") };
    },
  ],
  [
    "exists and is not a file",
    async (lab) => {
      await mkdir(fileOf(lab));
      return {};
    },
  ],
  [
    "is a symbolic link, which is not followed",
    async (lab) => {
      await writeFile(join(lab.folder, "target"), "untouched");
      await symlink(join(lab.folder, "target"), fileOf(lab));
      return {};
    },
  ],
  [
    "password.new exists and is not a file",
    async (lab) => {
      await writeFile(join(lab.folder, "target"), "planted-password\n");
      await symlink(join(lab.folder, "target"), `${fileOf(lab)}.new`);
      return {};
    },
  ],
  [
    "other users may have written to it",
    async (lab) => {
      await writeFile(`${fileOf(lab)}.new`, "planted-password\n");
      await chmod(`${fileOf(lab)}.new`, 0o666);
      return {};
    },
  ],
];

describe.concurrent("a password file that cannot be written safely", () => {
  it.each(obstacles)("because it %s, is a usage error before anything is sent", async (message, prepare) => {
    await using lab = await passwordLab();
    const place = await prepare(lab);
    const before = await readdir(lab.folder);

    const env = { ...envOf(lab, "redfish"), ...place };
    const ended = await runAction("update-user", { env });
    const dry = await runAction("update-user", { env: { ...env, DRY_RUN: "true" } });

    for (const one of [ended, dry]) {
      expect(resultOf(one)).toMatchObject({
        class: "usage",
        message: expect.stringMatching(new RegExp(`^PASSWORD_GENERATE_FILE: .*${message}`)),
      });
      expect(one.code).toBe(2);
    }
    expect(lab.traffic()).toBe(0);
    expect(await readdir(lab.folder)).toEqual(before);
    expect(await textOf(join(lab.folder, "target"))).toBeOneOf([
      undefined,
      "untouched",
      "planted-password\n",
    ]);
  });

  it.skipIf(process.geteuid?.() !== 0)("because another user wrote it, is a usage error", async () => {
    await using lab = await passwordLab();
    await writeFile(`${fileOf(lab)}.new`, "planted-password\n", { mode: 0o600 });
    await chown(`${fileOf(lab)}.new`, 65_534, 65_534);

    const ended = await runAction("update-user", { env: envOf(lab, "redfish") });

    expect(resultOf(ended)).toMatchObject({ class: "usage" });
    expect(lab.traffic()).toBe(0);
  });
});

describe("withNewPassword", () => {
  const use = async (lab: PasswordLab, end: () => Promise<string>) => {
    const input = { ...noPassword, passwordGenerate: true, passwordGenerateFile: fileOf(lab) };
    const error = await withNewPassword({ input, log: silentLogger, nameInput: (name) => name }, end).catch(
      (thrown: unknown) => thrown,
    );
    if (!(error instanceof BmcError)) throw new Error("no BmcError");
    return error;
  };

  it.each(["cancelled", "internal", "timeout"] as const)(
    "keeps a password after %s, which does not say how far it got",
    async (errorClass) => {
      await using lab = await passwordLab();

      const error = await use(lab, () => Promise.reject(new BmcError(errorClass, "over")));

      expect(error).toMatchObject({ class: errorClass, message: expect.stringContaining(".new") });
      expect(await onDisk(lab)).toEqual([undefined, expect.stringMatching(GENERATED)]);
    },
  );

  it.each(["auth", "bmc", "unreachable", "unsupported", "usage"] as const)(
    "removes a password after %s, unless it may be set all the same",
    async (errorClass) => {
      await using lab = await passwordLab();

      const sure = await use(lab, () => Promise.reject(new BmcError(errorClass, "no")));
      const afterSure = await onDisk(lab);
      const unsure = await use(lab, () =>
        Promise.reject(new BmcError(errorClass, "no", { uncertain: true })),
      );

      expect(sure.message).toBe("no");
      expect(afterSure).toEqual([undefined, undefined]);
      expect(unsure).toMatchObject({ class: errorClass, uncertain: true });
      expect(await onDisk(lab)).toEqual([undefined, expect.stringMatching(GENERATED)]);
    },
  );

  it("says where the password in force is when its file cannot be put in place", async () => {
    await using lab = await passwordLab();

    const error = await use(lab, async () => {
      await mkdir(fileOf(lab));
      return "set";
    });

    expect(error).toMatchObject({
      class: "internal",
      message: expect.stringContaining(`the password was set and is in ${fileOf(lab)}.new`),
    });
    expect(await textOf(`${fileOf(lab)}.new`)).toMatch(GENERATED);
  });
});

describe("generatePassword", () => {
  it("makes 16 characters, each kind among them, at places that vary, and never the same twice", () => {
    const made = Array.from({ length: 500 }, () => generatePassword().reveal());

    for (const kind of [/[a-z]/, /[A-Z]/, /[2-9]/, /[-_.+]/]) {
      expect(made.every((password) => kind.test(password))).toBe(true);
    }
    expect(made.every((password) => /^[a-zA-Z2-9_.+-]{16}$/.test(password))).toBe(true);
    expect(new Set(made).size).toBe(500);
    expect(new Set(made.map((password) => password.search(/[2-9]/))).size).toBeGreaterThan(5);
  });
});

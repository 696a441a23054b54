import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import { describe, expect, it } from "vitest";
import { catalogue, loadAction } from "../../actions/catalogue.ts";
import { fieldGroups } from "../../actions/harness/input/flags.ts";
import { readText } from "../../actions/harness/input/read-text.ts";
import { version } from "../../shared/version.ts";
import { type ActionRunOptions, resultOf, runAction } from "./action-run.ts";
import { actionLab } from "./lab.ts";

type Lab = Awaited<ReturnType<typeof actionLab>>;

async function fileIn(lab: Lab, name: string, text: string): Promise<string> {
  const path = join(lab.folder, name);
  await writeFile(path, text, { mode: 0o600 });
  return path;
}

const flagsOf = (env: Readonly<Record<string, string>>) =>
  Object.entries(env).flatMap(([name, value]) => [`--${name.toLowerCase().replaceAll("_", "-")}`, value]);

it("input that never ends is an error", async () => {
  const stdin = () => new Readable({ read() {} });
  const { signal } = new AbortController();

  const read = await readText("-", { stdin, signal, limitMs: 50 });

  expect(read).toEqual({ ok: false, problem: "did not end within 0.05 s" });
});

it("a password in quotes causes a warning before the login, and the refusal says why", async () => {
  const lab = await actionLab();
  const env = { ...lab.env("redfish"), BMC_PASSWORD: '"calvin"' };

  const ended = await runAction("power-status", { env });

  expect(ended.stderr).toContain("login may be wrong");
  expect(resultOf(ended)).toMatchObject({ ok: false, class: "auth" });
  expect(resultOf(ended).message).toMatch(
    /; the password has quotes around it, which count as part of it: remove it if that is a mistake$/,
  );
  expect(`${ended.stdout}${ended.stderr}`).not.toContain("calvin");
  await lab[Symbol.asyncDispose]();
});

describe.concurrent("a connection can be given", () => {
  const ways: readonly (readonly [string, (lab: Lab) => Promise<ActionRunOptions>])[] = [
    ["as environment variables", async (lab) => ({ env: lab.env("redfish") })],
    [
      "as flags, with the password in a file",
      async (lab) => {
        const { BMC_PASSWORD, ...others } = lab.env("redfish");
        const file = await fileIn(lab, "password", `${BMC_PASSWORD}\n`);
        return { argv: [...flagsOf(others), "--bmc-password-file", file] };
      },
    ],
    [
      "with user and password in files that variables name",
      async (lab) => {
        const { BMC_USERNAME, BMC_PASSWORD, ...others } = lab.env("redfish");
        const env = {
          ...others,
          BMC_USERNAME_FILE: await fileIn(lab, "user", `${BMC_USERNAME}\r\n`),
          BMC_PASSWORD_FILE: await fileIn(lab, "password", BMC_PASSWORD),
        };
        return { env };
      },
    ],
    [
      "with a line end behind the password's variable, as in a file of Windows",
      async (lab) => ({
        env: { ...lab.env("redfish"), BMC_PASSWORD: `${lab.env("redfish").BMC_PASSWORD}\r` },
      }),
    ],
    [
      "whole, in a file",
      async (lab) => ({
        env: {
          BMC_CONNECTION_FILE: await fileIn(lab, "c.json", JSON.stringify(lab.connection("redfish"))),
        },
      }),
    ],
    [
      "whole, in a file, with the secrets in files beside it",
      async (lab) => {
        const { username, password, ...others } = lab.connection("redfish");
        await fileIn(lab, "user", `${username}\n`);
        await fileIn(lab, "pass", `${password}\n`);
        const document = { ...others, username: { $file: "user" }, password: { $file: "pass" } };
        return { env: { BMC_CONNECTION_FILE: await fileIn(lab, "c.json", JSON.stringify(document)) } };
      },
    ],
    [
      "whole, on stdin",
      async (lab) => ({
        argv: ["--bmc-connection-file", "-"],
        stdin: JSON.stringify(lab.connection("redfish")),
      }),
    ],
    [
      "with flags that go before variables, and variables that are empty",
      async (lab) => {
        const { REDFISH_PORT, ...others } = lab.env("redfish");
        const env = { ...others, REDFISH_PORT: "1", IPMI_PORT: "", BMC_TLS_VERIFY: "", TIMEOUT: "" };
        return { env, argv: [`--redfish-port=${REDFISH_PORT}`] };
      },
    ],
    [
      "beside the variables of a Kubernetes service called redfish",
      async (lab) => ({
        env: {
          ...lab.env("redfish"),
          IPMI_PORT: "udp://10.0.0.1:623",
          IPMI_SERVICE_HOST: "10.0.0.1",
          REDFISH_SERVICE_PORT_HTTPS: "443",
          BMC_PORT: "tcp://10.0.0.1:443",
          BMC_PORT_443_TCP_ADDR: "10.0.0.1",
        },
      }),
    ],
  ];

  it.each(ways)("%s", async (_, way) => {
    await using lab = await actionLab();

    const ended = await runAction("power-status", await way(lab));

    expect(resultOf(ended)).toMatchObject({ ok: true, message: "on via redfish" });
    expect(ended.code).toBe(0);
  });

  it("without the machine's name, which MACHINE then gives", async () => {
    await using lab = await actionLab();
    const stdin = JSON.stringify(lab.connection("redfish"));
    const env = { BMC_CONNECTION_FILE: "-", MACHINE: "node-7" };

    const ended = await runAction("power-status", { env, stdin });

    expect(resultOf(ended).machine).toBe("node-7");
  });
});

/** What is wrong with the input of an action, and a line for each problem. */
interface Wrong {
  readonly title: string;
  readonly action?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly unset?: readonly string[];
  readonly argv?: readonly string[];
  readonly stdin?: string;
  readonly problems: readonly string[];
}

const wrongInputs: readonly Wrong[] = [
  {
    title: "nothing but the action",
    unset: ["BMC_HOST", "BMC_USERNAME", "BMC_PASSWORD"],
    action: "set-boot-device",
    problems: [
      "DEVICE is missing: what to boot from; none clears the override",
      "BMC_USERNAME is missing: the user",
      "BMC_PASSWORD or BMC_PASSWORD_FILE is missing: the password",
      "BMC_HOST is missing: the BMC's host name or address, without scheme or port",
    ],
  },
  {
    title: "nothing but the action, given by flags",
    unset: ["BMC_HOST", "BMC_USERNAME", "BMC_PASSWORD"],
    action: "set-boot-device",
    argv: ["--mode=legacy", "--efi-boot", "--redfish-port=1"],
    problems: [
      "--device is missing: what to boot from; none clears the override",
      "--bmc-username is missing: the user",
      "BMC_PASSWORD or --bmc-password-file is missing: the password",
      "--bmc-host is missing: the BMC's host name or address, without scheme or port",
    ],
  },
  {
    title: "a password in two ways, given by flags",
    action: "update-user",
    argv: ["--user-name", "eve", "--password-file", "/dev/null", "--password-generate"],
    problems: ["--password-file: /dev/null is empty"],
  },
  {
    title: "a generated password without its file, given by flags",
    action: "update-user",
    argv: ["--user-name", "eve", "--password-generate"],
    problems: ["--password-generate-file is missing: the file for the generated password"],
  },
  {
    title: "a mode in two spellings that differ, given by flags",
    action: "set-pxe-once",
    argv: ["--mode", "legacy", "--efi-boot"],
    problems: ["--mode legacy and --efi-boot contradict each other: set only one"],
  },
  {
    title: "tasks that are wrong, given by flags",
    action: "run-tasks",
    argv: ["--tasks", "- powerAktion: on"],
    problems: ["--tasks:1: task 1: powerAktion is not known, did you mean powerAction?"],
  },
  {
    title: "values of wrong types",
    action: "power-off",
    env: {
      MODE: "sfot",
      SOFT_TIMEOUT: "soon",
      TIMEOUT: "10ms",
      DRY_RUN: "maybe",
      BMC_PROVIDERS: "redfish,ipmitol",
      BMC_TLS_VERIFY: "perhaps",
      BMC_CONNECT_TIMEOUT: "-1",
      REDFISH_PORT: "70000",
      REDFISH_SCHEME: "ftp",
      IPMI_PORT: "six",
      IPMI_CIPHER_SUITE: "1",
    },
    problems: [
      'MODE "sfot" is not one of hard, soft, soft-then-hard, did you mean soft?',
      'SOFT_TIMEOUT "soon" is not a duration, such as 90, 90s or 1m30s',
      'TIMEOUT "10ms" is not a duration of at least 0.1 s, such as 90, 90s or 1m30s',
      'DRY_RUN "maybe" is not true or false',
      'BMC_PROVIDERS "redfish,ipmitol" is not one of redfish, ipmi, ipmitool, amt, rpc, homeassistant, ironic, did you mean ipmitool?',
      'BMC_TLS_VERIFY "perhaps" is not true or false',
      'BMC_CONNECT_TIMEOUT "-1" is not a duration above 0 and up to 10 minutes',
      'REDFISH_PORT "70000" is not a port, 1 to 65535',
      'REDFISH_SCHEME "ftp" is not one of https, http',
      'IPMI_PORT "six" is not a port, 1 to 65535',
      'IPMI_CIPHER_SUITE "1" is not one of 17, 3',
    ],
  },
  {
    title: "a host with its scheme, a provider twice and an empty flag",
    env: { BMC_HOST: "https://10.0.0.1", BMC_PROVIDERS: "ipmi,ipmi" },
    argv: ["--redfish-system", ""],
    problems: [
      'BMC_PROVIDERS "ipmi,ipmi" names ipmi twice',
      '--redfish-system "" is wrong: too small: expected string to have >=1 characters',
      'BMC_HOST "https://10.0.0.1" must not have a scheme: use only the name or address',
    ],
  },
  {
    title: "variables and flags that do not exist",
    env: { BMC_PASWORD: "x", REDFISH_POTR: "1", IPMI_CIPHER: "3", BMC_NONSENSE_ALTOGETHER: "1" },
    argv: ["--state-timout", "5s", "--nonsense-altogether=7", "stray"],
    problems: [
      "unknown flag --state-timout, did you mean --state-timeout?",
      "unknown flag --nonsense-altogether",
      "an unexpected argument: every value follows its flag",
      "BMC_NONSENSE_ALTOGETHER is not known",
      "BMC_PASWORD is not known, did you mean BMC_PASSWORD?",
      "IPMI_CIPHER is not known",
      "REDFISH_POTR is not known, did you mean REDFISH_PORT?",
    ],
  },
  {
    title: "misspelt flags, which count as the ones that they mean",
    unset: ["BMC_HOST", "BMC_PASSWORD"],
    argv: ["--bmc-hsot", "https://10.0.0.1", "--bmc-pasword", "hunter2", "--redfish-prot=70000"],
    problems: [
      "unknown flag --bmc-hsot, did you mean --bmc-host?",
      "unknown flag --bmc-pasword, did you mean --bmc-password-file?",
      "unknown flag --redfish-prot, did you mean --redfish-port?",
      "BMC_PASSWORD or --bmc-password-file is missing: the password",
      '--redfish-port "70000" is not a port, 1 to 65535',
      '--bmc-host "https://10.0.0.1" must not have a scheme: use only the name or address',
    ],
  },
  {
    title: "a secret as a flag and a flag without its value",
    argv: ["--bmc-password", "hunter2", "--ipmi-kg=hunter3", "--state-timeout"],
    problems: [
      "--bmc-password cannot be a flag, because command lines are public: use --bmc-password-file or the environment",
      "--ipmi-kg cannot be a flag, because command lines are public: use --ipmi-kg-file or the environment",
      "--state-timeout needs a value",
    ],
  },
  {
    title: "what is given twice, and files that are not there",
    env: { BMC_PASSWORD_FILE: "/nonexistent/p", IPMI_KG_FILE: "/nonexistent/kg", BMC_TLS_CA_FILE: "/dev" },
    problems: [
      "BMC_PASSWORD and BMC_PASSWORD_FILE are both set: set only one",
      "BMC_TLS_CA_FILE: /dev cannot be read (EISDIR)",
      "IPMI_KG_FILE: /nonexistent/kg cannot be read (ENOENT)",
    ],
  },
  {
    title: "a connection file beside the variables it replaces",
    env: { BMC_CONNECTION_FILE: "/nonexistent/c" },
    unset: ["BMC_PROVIDERS", "REDFISH_SCHEME", "REDFISH_PORT", "IPMI_PORT"],
    problems: [
      "BMC_HOST, BMC_USERNAME, BMC_PASSWORD cannot be combined with BMC_CONNECTION_FILE, which contains the whole connection",
      "BMC_CONNECTION_FILE: /nonexistent/c cannot be read (ENOENT)",
    ],
  },
  {
    title: "a mode in two spellings that differ",
    action: "set-pxe-once",
    env: { MODE: "legacy", EFI_BOOT: "true" },
    problems: ["MODE=legacy and EFI_BOOT=true contradict each other: set only one"],
  },
  ...(
    [
      ["that is no JSON", "{not json", ["BMC_CONNECTION_FILE: stdin is not JSON"]],
      ["that is empty", " \n", ["BMC_CONNECTION_FILE: stdin is empty"]],
      ["that is no object", "[]", [/^BMC_CONNECTION_FILE: it is wrong: .*expected object/]],
      ["that is far too large", " ".repeat(3_000_000), [/^BMC_CONNECTION_FILE: stdin is larger than/]],
      [
        "that lacks what it needs and has what it must not",
        JSON.stringify({ host: "a b", redfish: { port: "443" }, pasword: "x", providers: ["redfsh"] }),
        [
          /^BMC_CONNECTION_FILE: providers.0 is wrong: invalid option: expected one of/,
          "BMC_CONNECTION_FILE: redfish.port is not a port, 1 to 65535",
          'BMC_CONNECTION_FILE: it is wrong: unrecognized key: "pasword"',
          "BMC_CONNECTION_FILE: host must be only a name or address",
        ],
      ],
      [
        "with a secret in a file beside it",
        JSON.stringify({ host: "127.0.0.1", username: "u", password: { $file: "password" } }),
        ["BMC_CONNECTION_FILE: stdin names the file password, which only a connection in a file can"],
      ],
      [
        "with a secret in a file elsewhere",
        JSON.stringify({ host: "127.0.0.1", username: "u", password: { $file: "../password" } }),
        [/^BMC_CONNECTION_FILE: password is wrong/],
      ],
      [
        "without user and password",
        JSON.stringify({ host: "127.0.0.1" }),
        ["BMC_CONNECTION_FILE: username is missing", "BMC_CONNECTION_FILE: password is missing"],
      ],
    ] as const
  ).map(([what, stdin, problems]) => ({
    title: `a connection on stdin ${what}`,
    stdin,
    problems: problems as readonly string[],
  })),
];

describe.concurrent("input that is refused, all of it at once and before anything is sent", () => {
  it.each(wrongInputs)("$title", async ({ action = "power-on", env, unset = [], argv, stdin, problems }) => {
    await using lab = await actionLab();
    const given = stdin === undefined ? lab.env("redfish", "ipmi") : { BMC_CONNECTION_FILE: "-" };
    const kept = Object.fromEntries(Object.entries(given).filter(([name]) => !unset.includes(name)));

    const ended = await runAction(action, {
      env: { ...kept, ...env },
      ...(argv && { argv }),
      ...(stdin !== undefined && { stdin }),
    });

    const listed = ended.stderr
      .split("\n")
      .flatMap((line) => (line.startsWith("  - ") ? [line.slice(4)] : []));
    expect(listed).toEqual(
      problems.map((problem) => (typeof problem === "string" ? problem : expect.stringMatching(problem))),
    );
    expect(resultOf(ended)).toMatchObject({
      action,
      ok: false,
      class: "usage",
      message: listed.join("; "),
      roundTrips: 0,
    });
    expect(ended.code).toBe(2);
    expect(ended.stdout + ended.stderr).not.toMatch(/hunter\d/);
    expect(lab.traffic()).toBe(0);
  });
});

describe.concurrent("the boot mode", () => {
  it.each([
    ["EFI_BOOT=true", { EFI_BOOT: "true" }, "uefi"],
    ["EFI_BOOT=false", { EFI_BOOT: "false" }, "legacy"],
    ["MODE=legacy", { MODE: "legacy" }, "legacy"],
    ["MODE=uefi beside EFI_BOOT=true", { MODE: "uefi", EFI_BOOT: "true" }, "uefi"],
    ["keep beside BMC_BOOT_MODE=legacy", { MODE: "keep", BMC_BOOT_MODE: "legacy" }, "legacy"],
  ])("of %s reaches the machine", async (_, env, mode) => {
    await using lab = await actionLab({ machine: { mode: mode === "uefi" ? "legacy" : "uefi" } });

    const ended = await runAction("set-pxe-once", { env: { ...lab.env("redfish"), ...env } });

    expect(ended.code).toBe(0);
    expect(lab.machine.override).toEqual({ device: "pxe", enabled: "once", mode });
  });
});

describe.concurrent("RESULT_FILE", () => {
  it.each([
    ["a success", {}, 0],
    ["a refused input", { BMC_HOST: "a b" }, 2],
  ] as const)("holds the line that stdout has after %s, and nothing else is left", async (_, env, code) => {
    await using lab = await actionLab();
    const file = await fileIn(lab, "result.json", "what an earlier run said");

    const ended = await runAction("power-status", {
      env: { ...lab.env("redfish"), ...env, RESULT_FILE: file },
    });

    expect(await readFile(file, "utf8")).toBe(ended.stdout);
    expect(ended.code).toBe(code);
    expect(await readdir(lab.folder)).toEqual(["result.json"]);
  });

  it("given as a flag holds the line of a refused input, too", async () => {
    await using lab = await actionLab();
    const file = join(lab.folder, "result.json");

    const ended = await runAction("power-status", { argv: ["--result-file", file, "--nonsense"] });

    expect(ended.code).toBe(2);
    expect(await readFile(file, "utf8")).toBe(ended.stdout);
  });

  it.each(["/nonexistent/result.json", "."])(
    "that cannot be written (%s) is reported and does not make a success a failure",
    async (path) => {
      await using lab = await actionLab();

      const ended = await runAction("power-status", { env: { ...lab.env("redfish"), RESULT_FILE: path } });

      expect(resultOf(ended).ok).toBe(true);
      expect(ended.stderr).toMatch(`RESULT_FILE ${path} cannot be written: E`);
      expect(ended.code).toBe(0);
    },
  );

  it("that is a folder leaves no part of the result beside it", async () => {
    await using lab = await actionLab();
    const folder = join(lab.folder, "results");
    await mkdir(folder);

    const ended = await runAction("power-status", { env: { ...lab.env("redfish"), RESULT_FILE: folder } });

    expect(ended.stderr).toContain("cannot be written");
    expect(await readdir(lab.folder)).toEqual(["results"]);
  });
});

describe.concurrent("--help", () => {
  it.each(catalogue)("of %s lists every field with its variable, and sends nothing", async (name) => {
    const action = await loadAction(name);
    if (!action) throw new Error(`no action ${name}`);
    const fields = fieldGroups(action).flatMap(([, members]) => members);

    const ended = await runAction(name, { argv: ["--help"] });

    const text = ended.stdout.replaceAll(/\s+/g, " ");
    const flags = fields.filter(({ secret }) => !secret).map(({ env }) => env);
    expect([...text.matchAll(/env: (\w+)\)/g)].map(([, variable]) => variable)).toEqual(flags);
    for (const { env, description } of fields.filter(({ secret }) => !secret)) {
      expect(text).toContain(`--${env.toLowerCase().replaceAll("_", "-")} `);
      expect(text).toContain(description);
    }
    for (const { env } of fields.filter(({ secret }) => secret)) expect(text).toContain(env);
    expect(text).not.toMatch(/--(bmc-password|ipmi-kg) /);
    expect(ended).toMatchObject({ code: 0, stderr: "" });
  });

  it("is also -h, and -V and --version show the version", async () => {
    const [long, ...others] = await Promise.all(
      ["--help", "-h", "-V", "--version"].map((flag) => runAction("power-off", { argv: [flag] })),
    );

    const [short, ...versions] = others.map(({ stdout }) => stdout);
    expect(short).toBe(long?.stdout);
    expect(versions).toEqual([`${version}\n`, `${version}\n`]);
  });
});

import { mkdir, mkdtemp, readFile, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { stringify } from "yaml";
import { SimulatedMachine } from "../../../../../simulators/machine.ts";
import { type RedfishBmc, startRedfishBmc } from "../../../../../simulators/redfish/bmc.ts";
import { CommandInProcess } from "../../../../support/command-in-process.ts";
import { type Step, templateOf } from "../../../../support/lab.ts";

let folder = "";
let bmc: RedfishBmc;
beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), "pbnj-permitted-")));
  await mkdir(join(folder, "allowed"));
  await mkdir(join(folder, "elsewhere"));
  bmc = await startRedfishBmc({ machines: [new SimulatedMachine()], tls: "http" });
  await writeFile(join(folder, "bmc-password"), bmc.password);
  await writeYaml("policy.yaml", { volumes: [{ path: join(folder, "allowed"), access: "rw" }] });
  const credentials = { username: bmc.username, passwordFile: "bmc-password" };
  const redfish = { port: bmc.port, scheme: "http" };
  await writeYaml("inventory.yaml", {
    machines: [{ name: "m1", host: bmc.host, providers: ["redfish"], redfish, credentials }],
  });
});
afterEach(async () => {
  await bmc.close();
  await rm(folder, { recursive: true });
});

async function writeYaml(name: string, value: unknown): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, stringify(value));
  return path;
}

/** One action on the machine, through a worker with a policy that allows the folder `allowed`. */
async function run(image: string, asked: Omit<Step, "name">) {
  const template = join(folder, "template.yaml");
  await writeFile(template, templateOf("pbnj-m1", { name: image, ...asked }));
  await using program = new CommandInProcess([
    ...["run", template, "--log-level", "warn"],
    ...["--inventory", join(folder, "inventory.yaml"), "--policy", join(folder, "policy.yaml")],
  ]);
  const { code } = await program.ended;
  return { code, stdout: program.stdout, stderr: program.stderr };
}

it("an action writes the password it makes to an allowed file that a flag names", async () => {
  const file = join(folder, "allowed/password");
  const environment = { USER_NAME: "deploy", ROLE: "operator" };

  const { code, stdout } = await run("create-user", {
    environment,
    command: ["--password-generate", "--password-generate-file", file],
    volumes: [`${join(folder, "allowed")}:${join(folder, "allowed")}`],
  });

  expect(stdout).toMatch(/success in .*user deploy created as operator/);
  expect(code).toBe(0);
  expect(bmc.accounts.accepts("deploy", (await readFile(file, "utf8")).trim())).toBe(true);
});

it("an action reads a password from an allowed file", async () => {
  const file = join(folder, "allowed/password");
  await writeFile(file, "chosen-password\n");

  const { stdout } = await run("create-user", {
    environment: { USER_NAME: "deploy", ROLE: "readonly", PASSWORD_FILE: file },
  });

  expect(stdout).toMatch(/success/);
  expect(bmc.accounts.accepts("deploy", "chosen-password")).toBe(true);
});

it("an action writes its result to an allowed file", async () => {
  const file = join(folder, "allowed/result.json");

  const { code } = await run("power-status", { environment: { RESULT_FILE: file } });

  expect(code).toBe(0);
  expect(JSON.parse(await readFile(file, "utf8"))).toMatchObject({ action: "power-status", ok: true });
});

it("an action does not follow a link in place of its result file", async () => {
  const file = join(folder, "allowed/result.json");
  const other = join(folder, "elsewhere/other");
  await writeFile(other, "kept");
  await symlink(other, `${file}.part`);

  const { code } = await run("power-status", { environment: { RESULT_FILE: file } });

  expect(code).toBe(0);
  expect(await readFile(other, "utf8")).toBe("kept");
  expect(JSON.parse(await readFile(file, "utf8"))).toMatchObject({ ok: true });
});

it("an action does not read a password through a link in place of its password file", async () => {
  const file = join(folder, "allowed/password");
  const other = join(folder, "elsewhere/other");
  await writeFile(other, "other-secret");
  await symlink(other, `${file}.new`);
  const environment = { USER_NAME: "deploy", ROLE: "operator", PASSWORD_GENERATE: "true" };

  const { code, stdout } = await run("create-user", {
    environment: { ...environment, PASSWORD_GENERATE_FILE: file },
  });

  expect(code).toBe(2);
  expect(stdout).toContain(`${file}.new exists and is not a file`);
  expect(await readFile(other, "utf8")).toBe("other-secret");
  expect(bmc.accounts.find("deploy")).toBeUndefined();
});

it.each([
  [{ environment: { BMC_CONNECTION_FILE: "ALLOWED/x" } }, "BMC_CONNECTION_FILE"],
  [{ environment: { BMC_PASSWORD_FILE: "ALLOWED/x" } }, "BMC_PASSWORD_FILE"],
  [{ command: ["--ipmitool-program", "ALLOWED/x"] }, "IPMITOOL_PROGRAM"],
  [{ environment: { NODE_OPTIONS: "--require=ALLOWED/x" } }, "NODE_OPTIONS"],
])(
  "what loads code or replaces the connection is refused in an allowed folder, too: %j",
  async (asked, name) => {
    const moved: Record<string, unknown> = JSON.parse(
      JSON.stringify(asked).replaceAll("ALLOWED", join(folder, "allowed")),
    );

    const { code, stdout, stderr } = await run("power-status", moved);

    expect(code).not.toBe(0);
    expect(stdout).toBe("");
    expect(stderr).toContain(name);
    expect(bmc.requests).toEqual([]);
  },
);

import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execa } from "execa";
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { startIronic } from "../../../simulators/ironic/server.ts";
import { type RedfishBmc, startRedfishBmc } from "../../../simulators/redfish/bmc.ts";
import { PROGRAM, runProgram } from "../../cli/program.ts";
import { startSilentPort } from "../../support/proxy/silent-port.ts";

const SELF_SIGNED = "ab".repeat(32);

let folder: string;
let file: string;
let bmc: RedfishBmc;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "pbnj-inventory-"));
  file = join(folder, "inventory.yaml");
  bmc = await startRedfishBmc();
});
afterEach(async () => {
  await bmc.close();
  rmSync(folder, { recursive: true });
});

/** One machine per line, each with a comment. */
function inventory(...machines: readonly string[]): string {
  const text = `machines:\n${machines.map((machine) => `  - {${machine}} # mine\n`).join("")}`;
  writeFileSync(file, text);
  return text;
}

const at = (name: string, port = bmc.port) => `name: ${name}, host: 127.0.0.1, redfish: {port: ${port}}`;
const changed = (name: string) => `${at(name)}, tls: {fingerprint: ${SELF_SIGNED}}`;
const pin = (...argv: readonly string[]) => runProgram(["inventory", "pin", "--inventory", file, ...argv]);
const content = () => readFileSync(file, "utf8");

describe("pbnj-worker inventory pin", () => {
  it("shows fingerprints and records them with --yes, after which the machine's actions succeed", async () => {
    const before = inventory(
      `${at("node-1")}, providers: [redfish], credentials: {username: admin, passwordEnv: PW}`,
    );
    chmodSync(file, 0o640);
    const act = () =>
      runProgram(["action", "power-status", "--inventory", file, "--all"], { PW: bmc.password });

    const refused = await act();
    const { exitCode, stdout, stderr } = await pin("--yes");
    const accepted = await act();

    expect([refused.exitCode, accepted.exitCode]).toEqual([12, 0]);
    expect(stdout).toMatch(
      new RegExp(
        `^machine +address .*\\n-+.*\\nnode-1 +127\\.0\\.0\\.1:${bmc.port} +new .* ${bmc.fingerprint}$`,
      ),
    );
    expect(stderr).toBe(`pbnj-worker inventory pin: recorded 1 fingerprint in ${file}`);
    expect(exitCode).toBe(0);
    expect(content()).toBe(
      before.replace("127.0.0.1,", `127.0.0.1, tls: {fingerprint: "${bmc.fingerprint}"},`),
    );
    expect(statSync(file).mode & 0o777).toBe(0o640);
  });

  it("only shows them without a terminal and without --yes", async () => {
    const before = inventory(at("node-1"), at("node-2"));

    const { exitCode, stdout, stderr } = await pin();

    expect(stdout).toContain(bmc.fingerprint);
    expect(stderr).toBe(
      "pbnj-worker inventory pin: nothing was recorded: pass --yes to record 2 fingerprints",
    );
    expect(exitCode).toBe(2);
    expect(content()).toBe(before);
  });

  it.each([
    ["y", 1],
    ["", 0],
  ])("asks on a terminal: %j", async (answer, recorded) => {
    inventory(at("node-1"));

    const { stdout, exitCode } = await onTerminal(["pin", "--inventory", file], `${answer}\n`);

    expect(stdout).toContain("Record 1 fingerprint in inventory.yaml? [y/N]");
    expect(content().split(bmc.fingerprint)).toHaveLength(recorded + 1);
    expect(exitCode).toBe(0);
  });

  it("prints the certificates for programs", async () => {
    inventory(at("node-1"));

    const { stdout } = await pin("--output", "json");

    expect(JSON.parse(stdout)).toEqual([
      expect.objectContaining({ machine: "node-1", state: "new", fingerprint: bmc.fingerprint }),
    ]);
  });

  it("records a changed fingerprint only if its machine is named with --replace", async () => {
    inventory(changed("node-1"), changed("node-2"), at("node-3"));

    const refused = await pin("--all", "--yes");
    const afterRefusal = content();
    const replaced = await pin("--yes", "--replace", "node-1");

    expect(refused.exitCode).toBe(12);
    expect(refused.stdout).toMatch(
      new RegExp(`node-1 .* CHANGED .* ${bmc.fingerprint}, the inventory has ${SELF_SIGNED}\n`),
    );
    expect(refused.stderr).toMatch(/may be an attacker's; .* then pass --replace node-1,node-2\n/);
    expect(afterRefusal.match(/fingerprint: \w+|"\w+"/g)).toEqual([
      `fingerprint: ${SELF_SIGNED}`,
      `fingerprint: ${SELF_SIGNED}`,
      `"${bmc.fingerprint}"`,
    ]);
    expect(replaced.exitCode).toBe(0);
    expect(content()).toBe(afterRefusal.replace(SELF_SIGNED, `"${bmc.fingerprint}"`));
  });

  it("records the others if a BMC is unreachable, and exits with the reason's code", async () => {
    const gone = await startRedfishBmc();
    await gone.close();
    inventory(at("node-1"), at("node-2", gone.port), `${at("node-3")}, providers: [ipmi]`);

    const { exitCode, stdout } = await pin("--yes");

    expect(stdout).toMatch(/\nnode-2 .* failed .* cannot connect to .*: connection refused\n/);
    expect(stdout).toMatch(/\nnode-3 .* skipped .* uses no TLS$/);
    expect(exitCode).toBe(11);
    expect(content()).toContain(bmc.fingerprint);
  });

  it("writes nothing after Ctrl+C", async () => {
    await using silent = await startSilentPort();
    const before = inventory(at("node-1"), at("node-2", silent.port));
    const child = execa(process.execPath, [PROGRAM, "inventory", "pin", "--inventory", file, "--yes"], {
      reject: false,
      stdin: "ignore",
    });
    await expect.poll(() => bmc.connections).toBe(1);
    child.kill("SIGINT");

    const { exitCode, stderr } = await child;

    expect(stderr).toBe("pbnj-worker inventory pin: cancelled, nothing was recorded");
    expect(exitCode).toBe(130);
    expect(content()).toBe(before);
    expect(readdirSync(folder)).toEqual(["inventory.yaml"]);
  });

  it("lists every problem, and connects to nothing", async () => {
    inventory(at("node-1"));
    const flags = ["--machine", "node-2", "--replace", "x", "--all", "--concurrency", "0", "--timeout", "5x"];

    const { exitCode, stderr } = await pin(...flags);

    expect(stderr.split("\n").map((line) => line.replace("pbnj-worker inventory pin: ", ""))).toEqual([
      "--concurrency is not a whole number from 1 to 1000",
      "--timeout is not a duration from 100ms to 10m, such as 5s",
      "--all cannot be combined with --machine",
      `--machine "node-2" matches no machine of ${file}, did you mean node-1?`,
      `--replace "x" matches no machine of ${file}`,
      "See pbnj-worker inventory pin --help.",
    ]);
    expect(exitCode).toBe(2);
    expect(bmc.connections).toBe(0);
  });
});

describe("pbnj-worker inventory import", () => {
  const csv = "hostname,bmc ip,user,password,protocol\nnode-1,192.0.2.1,admin,canary-77,redfish\n";
  const importFile = (...argv: readonly string[]) => runProgram(["inventory", "import", ...argv]);

  it("writes passwords to files of their owner, and an inventory that refers to them", async () => {
    const list = join(folder, "list.csv");
    const secrets = join(folder, "secrets");
    writeFileSync(list, csv.replace("192.0.2.1", "127.0.0.1").replace("canary-77", bmc.password));

    const { exitCode, stdout, stderr } = await importFile(list, "--output", file, "--secrets", secrets);

    expect(stdout).toBe("");
    expect(stderr).toBe("pbnj-worker inventory import: imported 1 machine, skipped 0");
    expect(exitCode).toBe(0);
    expect(content()).toContain("passwordFile: secrets/{machine}/password");
    expect(readFileSync(join(secrets, "node-1", "password"), "utf8")).toBe(`${bmc.password}\n`);
    const modes = ["", "node-1", "node-1/password"].map((path) => statSync(join(secrets, path)).mode & 0o777);
    expect(modes).toEqual([0o700, 0o700, 0o600]);
  });

  it("prints the inventory without secrets, and says what is missing", async () => {
    const list = join(folder, "list.csv");
    writeFileSync(list, csv);

    const { exitCode, stdout, stderr } = await importFile(list);

    expect(stdout).toContain("- name: node-1\n");
    expect(stderr).toContain("left out 1 secret: pass --secrets <folder>");
    expect(stdout + stderr).not.toContain("canary-77");
    expect(exitCode).toBe(0);
  });

  it("lists the nodes of an Ironic", async () => {
    const ironic = await startIronic({ tls: "http" });
    onTestFinished(() => ironic.close());
    const env = { IRONIC_URL: ironic.http.url };

    const { exitCode, stdout } = await runProgram(["inventory", "import", "--from", "ironic"], env);
    const confused = await importFile("--from", "ironic", "list.csv");

    expect(stdout).toContain(`url: ${ironic.http.url}`);
    expect(exitCode).toBe(0);
    expect(confused.stderr).toContain("--from ironic reads no file");
    expect(confused.exitCode).toBe(2);
  });

  it("overwrites nothing without --force", async () => {
    const list = join(folder, "list.csv");
    const secrets = join(folder, "secrets");
    const argv = [list, "--output", file, "--secrets", secrets];
    writeFileSync(list, csv);
    writeFileSync(file, "mine\n", { mode: 0o600 });

    const refused = await importFile(...argv);
    const [kept, folders] = [content(), readdirSync(folder)];
    const forced = await importFile(...argv, "--force");

    expect(refused.exitCode).toBe(2);
    expect(refused.stderr).toContain(`${file} would be overwritten: pass --force to do that`);
    expect({ kept, folders: folders.toSorted() }).toEqual({
      kept: "mine\n",
      folders: ["inventory.yaml", "list.csv"],
    });
    expect(forced.exitCode).toBe(0);
    expect(content()).toContain("- name: node-1\n");
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  it("reads stdin in the format that it finds, and lists skipped machines", async () => {
    const maas = JSON.stringify([{ system_id: "a", hostname: "kvm", power_type: "virsh" }]);
    const rufio = `apiVersion: bmc.tinkerbell.org/v1alpha1
kind: Machine
metadata: {name: node-1}
spec: {connection: {host: 192.0.2.1, authSecretRef: {name: bmc}}}
`;

    const [one, other] = await Promise.all([onStdin(maas), onStdin(rufio)]);

    expect(one.stderr).toContain("skipped kvm: power type virsh is not supported");
    expect(one.stderr).toContain("has no machine that can be imported");
    expect(one.exitCode).toBe(2);
    expect(other.stdout).toContain("- name: node-1\n");
    expect(other.stderr).toContain("1 machine without credentials");
    expect(other.exitCode).toBe(0);
  });

  it("lists every problem with its line, and writes nothing", async () => {
    const list = join(folder, "list.csv");
    writeFileSync(
      list,
      "name,bmc,password,type\nnode_1,192.0.2.1,,\nnode-2,http://x,,redfsh\nnode-3,x,canary-77,\n",
    );

    const { exitCode, stdout, stderr } = await importFile(list, "--output", file);

    expect(stderr.split("\n").map((line) => /import: (list\.csv:\d)/.exec(line)?.[1])).toEqual([
      ...["list.csv:2", "list.csv:3", "list.csv:3", "list.csv:4"],
    ]);
    expect(stdout + stderr).not.toContain("canary-77");
    expect(exitCode).toBe(2);
    expect(readdirSync(folder)).toEqual(["list.csv"]);
  });
});

function onStdin(input: string) {
  return execa(process.execPath, [PROGRAM, "inventory", "import", "-"], { input, reject: false });
}

/** Runs a subcommand with a terminal, into which `input` is typed. */
async function onTerminal(argv: readonly string[], input: string) {
  const command = [process.execPath, PROGRAM, "inventory", ...argv].join(" ");
  return execa("script", ["-qec", command, "/dev/null"], { input, reject: false });
}

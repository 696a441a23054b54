import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { startRack } from "../../cli/discover/discover-lab.ts";
import { runProgram } from "../../cli/program.ts";
import { testFolder } from "../../support/test-folder.ts";

let folder: string;
beforeEach(async () => {
  ({ folder } = await testFolder());
});

const file = (name: string, text?: string) => {
  const path = join(folder, name);
  if (text !== undefined) writeFileSync(path, text, { mode: 0o600 });
  return path;
};

describe("pbnj-worker discover", () => {
  it("finds BMCs, logs in, and writes an inventory with which the machines' actions succeed", async () => {
    await using rack = await startRack();
    const redfish = await rack.redfish(2);
    await rack.ipmi(3);
    const amt = await rack.amt(4, { password: "calvin" });
    file("first", "wrong\n");
    file("second", "calvin\n");
    const credentials = file(
      "credentials.yaml",
      "credentials:\n  - {username: admin, passwordFile: first}\n  - {username: admin, passwordFile: second}\n",
    );
    const leases = file("dnsmasq.leases", `0 52:54:00:12:34:56 ${rack.at(4)} * *\n`);
    const ports = [
      ...["--redfish-port", `${rack.ports.redfish}`, "--ipmi-port", `${rack.ports.ipmi}`],
      ...["--amt-port", `${rack.ports.amt}`, "--amt-tls-port", "1"],
    ];
    const inventory = file("inventory.yaml");
    const scan = [`${rack.at(1)}-${rack.at(3)}`, "--from-leases", leases, ...ports];

    const { exitCode, stdout, stderr } = await runProgram([
      ...["discover", ...scan, "--credentials", credentials, "--trust-on-first-use", "--write", inventory],
    ]);

    const told = stderr.split("\n");
    expect(told[0]).toBe("discover: probing 4 addresses");
    expect(told.filter((line) => line.startsWith(rack.at(2)))).toEqual([
      `${rack.at(2)}: trying credentials 1 of 2 with redfish`,
      `${rack.at(2)}: trying credentials 2 of 2 with redfish`,
    ]);
    expect(told.slice(-2)).toEqual([
      "pbnj-worker discover: found 3 BMCs",
      `pbnj-worker discover: wrote 3 machines to ${inventory}`,
    ]);
    expect(exitCode).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject([
      {
        host: rack.at(2),
        redfish: { certificate: { fingerprint: redfish.fingerprint } },
        login: { state: "accepted", credentials: 2 },
        machine: { macs: ["52:54:00:aa:bb:01", "52:54:00:aa:bb:02"] },
      },
      { host: rack.at(3), ipmi: { version: "2.0" }, login: { state: "accepted", provider: "ipmi" } },
      { host: rack.at(4), amt: { version: "16.1.25" }, login: { state: "accepted", provider: "amt" } },
    ]);
    expect([redfish.refusedCredentials, amt.guard.refused]).toEqual([1, 1]);
    const written = readFileSync(inventory, "utf8");
    expect(`${stdout}${stderr}${written}`).not.toContain("calvin");

    const again = await runProgram(["discover", ...scan, "--write", inventory]);
    const acted = await runProgram(["action", "power-status", "--inventory", inventory, "--all"]);

    expect([again.exitCode, again.stderr]).toEqual([
      2,
      expect.stringContaining("exists, and is not overwritten"),
    ]);
    expect(readFileSync(inventory, "utf8")).toBe(written);
    expect([acted.exitCode, acted.stdout.split("\n").length], acted.stdout).toEqual([0, 3]);
  });

  it("lists all problems at once and probes nothing", async () => {
    const credentials = file(
      "credentials.yaml",
      "credentials:\n  - {username: admin, password: calvin}\n  - {username: admin, passwordFile: missing}\n  - {}\n",
    );
    const { exitCode, stderr } = await runProgram([
      ...[
        "discover",
        "10.0.0.0/8",
        "192.0.2.300",
        "--rate",
        "0",
        "--output",
        "tabel",
        "--credentials",
        credentials,
      ],
      ...["--from-leases", credentials, "--format", "objects", "--redfish-prot", "hunter2"],
    ]);

    expect(exitCode).toBe(2);
    expect(stderr).toBe(
      `${[
        "unknown flag --redfish-prot, did you mean --redfish-port?",
        `--from-leases: ${credentials} is not a leases file of ISC dhcpd, Kea or dnsmasq`,
        '"192.0.2.300" is not an IPv4 address',
        "the ranges have 16777214 addresses: name at most 65536",
        "--rate is not a whole number from 1 to 10000",
        "--redfish-port is not a whole number from 1 to 65535",
        "--output is not one of auto, table, json, yaml, rufio, did you mean table?",
        "credentials.yaml:2: password is a secret and must not be in this file: put it into a file and name that with passwordFile, or a variable with passwordEnv",
        "credentials.yaml:2: the entry names a user but no password: add passwordFile or passwordEnv",
        `credentials.yaml:3: passwordFile ${file("missing")} does not exist`,
        "credentials.yaml:4: has no user name and password",
      ]
        .map((problem) => `pbnj-worker discover: ${problem}\n`)
        .join("")}See pbnj-worker discover --help.`,
    );
  });
});

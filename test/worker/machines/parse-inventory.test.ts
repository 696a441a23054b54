import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { Connection } from "../../../shared/contract/connection.ts";
import { formatProblem } from "../../../shared/document/problem.ts";
import { readTextFile } from "../../../shared/read-text-file.ts";
import { createCertificate } from "../../../simulators/certificate.ts";
import type { Inventory } from "../../../worker/machines/inventory.ts";
import { parseInventory } from "../../../worker/machines/parse-inventory.ts";
import { SecretCommands } from "../../../worker/machines/secret-commands.ts";
import { startLimitsOf } from "../../../worker/machines/start-limits-of.ts";
import { fileFolder } from "../../support/test-folder.ts";

const { folder } = await fileFolder();
const never = new AbortController().signal;
const SECRETS = { USER: "admin", PASS: "secret" };

function parse(text: string, env: Readonly<Record<string, string>> = SECRETS) {
  return parseInventory({ path: join(folder, "inventory.yaml"), text, env, readFile: readTextFile });
}

function inventory(text: string, env?: Readonly<Record<string, string>>): Inventory {
  const parsed = parse(text, env);
  if (!parsed.ok) throw new Error(parsed.problems.map(formatProblem).join("\n"));
  return parsed.value;
}

function problems(text: string): readonly string[] {
  const parsed = parse(text);
  return parsed.ok ? [] : parsed.problems.map(formatProblem);
}

function connect(from: Inventory, name: string): Promise<Connection> {
  const machine = from.find(name);
  if (!machine) throw new Error(`no machine ${name}`);
  return from.resolveConnection(machine, { commands: new SecretCommands(), signal: never });
}

describe("an inventory", () => {
  it("lists its machines in their order and finds them by name", () => {
    const parsed = inventory(
      "machines:\n  - {name: b, host: 192.0.2.2}\n  - {name: a, host: '[2001:db8::1]'}\n",
    );

    expect(parsed.machines()).toEqual([
      { name: "b", lockKey: "192.0.2.2" },
      { name: "a", lockKey: "2001:db8::1" },
    ]);
    expect(parsed.find("a")?.lockKey).toBe("2001:db8::1");
    expect(parsed.find("c")).toBeUndefined();
  });

  it("gives a machine that says nothing the connection's own defaults", async () => {
    const parsed = inventory("machines: [{name: a, host: bmc.example.org}]");

    expect(await connect(parsed, "a")).toEqual(Connection.parse({ machine: "a", host: "bmc.example.org" }));
  });

  it("knows every option of a connection under its own name, durations with units", async () => {
    const ca = createCertificate({ commonName: "ca" }).cert;
    writeFileSync(join(folder, "ca.pem"), ca);
    const parsed = inventory(`
machines:
  - name: a
    host: 192.0.2.1
    providers: [ipmitool, redfish]
    bootMode: uefi
    tls: {caFile: ca.pem, fallback: true}
    connectTimeout: 1s
    requestTimeout: 1m30s
    headStart: 0
    redfish: {port: 8443, scheme: http, system: "1", auth: session}
    ipmi: {port: 6230, cipherSuite: 3, privilege: user, kgEnv: PASS}
    ipmitool: {port: 6231, cipherSuite: 17, allowSuite3: true, privilege: administrator, kgEnv: USER, program: /opt/ipmitool}
    amt: {port: 16994, scheme: https}
    credentials: {usernameEnv: USER, passwordEnv: PASS}
`);

    const { password, ipmi, ipmitool, ...rest } = await connect(parsed, "a");

    expect(rest).toEqual({
      machine: "a",
      host: "192.0.2.1",
      providers: ["ipmitool", "redfish"],
      bootMode: "uefi",
      tls: { verify: true, ca, fallback: true },
      connectTimeoutMs: 1_000,
      requestTimeoutMs: 90_000,
      headStartMs: 0,
      redfish: { port: 8443, scheme: "http", system: "1", auth: "session" },
      amt: { port: 16_994, scheme: "https" },
      username: "admin",
    });
    expect(password?.reveal()).toBe("secret");
    expect({ ...ipmi, kg: ipmi.kg?.reveal() }).toEqual({
      port: 6230,
      cipherSuite: 3,
      allowSuite3: false,
      privilege: "user",
      kg: "secret",
    });
    expect({ ...ipmitool, kg: ipmitool.kg?.reveal() }).toEqual({
      port: 6231,
      cipherSuite: 17,
      allowSuite3: true,
      privilege: "administrator",
      kg: "admin",
      program: "/opt/ipmitool",
    });
  });

  it("holds a thousand machines", () => {
    const machines = Array.from(
      { length: 1_000 },
      (_, n) => `  - {name: node-${n}, host: 10.0.${n >> 8}.${n & 255}}`,
    );

    expect(inventory(`machines:\n${machines.join("\n")}\n`).machines()).toHaveLength(1_000);
  });
});

describe("machines behind a service", () => {
  it("have their secrets read, and nothing that the service does not need", async () => {
    writeFileSync(join(folder, "hook.key"), "file-secret\n");
    const parsed = inventory(`
defaults:
  providers: [redfish]
  credentials: {usernameFile: "{machine}/user", passwordFile: "{machine}/password"}
machines:
  - name: hooked
    host: "rack 3 / node 7"
    rpc:
      url: https://hooks.example/bmc
      naming: rufio
      headers: {X-Team: [a]}
      signature:
        secrets:
          sha256: [{file: hook.key}, {env: PASS}]
  - name: plugged
    host: shelf
    homeassistant: {url: "http://ha.example", entity: switch.node_1, powerOperationDelay: 5s}
    credentials: {passwordEnv: PASS}
`);

    const hooked = await connect(parsed, "hooked");
    const plugged = await connect(parsed, "plugged");

    expect(hooked).toMatchObject({ host: "rack 3 / node 7", providers: ["rpc"], rpc: { naming: "rufio" } });
    expect([hooked.username, hooked.password]).toEqual([undefined, undefined]);
    expect(hooked.rpc?.signature.secrets.sha256.map((secret) => secret.reveal())).toEqual([
      "file-secret",
      "secret",
    ]);
    expect(hooked.rpc?.headers["X-Team"]?.[0]?.reveal()).toBe("a");
    expect(plugged).toMatchObject({
      providers: ["homeassistant"],
      homeassistant: { entity: "switch.node_1", powerOperationDelayMs: 5_000 },
    });
    expect(plugged.password?.reveal()).toBe("secret");
    expect(parsed.machines().map(({ lockKey }) => lockKey)).toEqual([
      "rpc https://hooks.example/bmc rack 3 / node 7",
      "homeassistant http://ha.example switch.node_1",
    ]);
  });

  it("are nodes of one Ironic by its defaults, without hosts", async () => {
    const parsed = inventory(`defaults:
  ironic: {url: "https://ironic.example:6385", auth: token, allow: [instance]}
  credentials: {passwordEnv: PASS}
machines:
  - name: node-1
  - name: node-2
    ironic: {node: 0c2f, allow: []}
`);

    const [first, second] = [await connect(parsed, "node-1"), await connect(parsed, "node-2")];

    expect(first).toMatchObject({ host: "node-1", providers: ["ironic"], ironic: { allow: ["instance"] } });
    expect(first.password?.reveal()).toBe("secret");
    expect(second).toMatchObject({ host: "0c2f", ironic: { node: "0c2f", auth: "token", allow: [] } });
    expect(parsed.bmcAddress?.("node-1")?.url).toBe("https://ironic.example:6385");
    expect(parsed.machines().map(({ lockKey }) => lockKey)).toEqual([
      "ironic https://ironic.example:6385 node-1",
      "ironic https://ironic.example:6385 0c2f",
    ]);
  });

  it("are warned of where a secret is missing, and refused where the entry is wrong", () => {
    const rpc = (rest: string) => `machines:\n  - {name: a, host: h, rpc: {url: "http://x", ${rest}}}\n`;
    const secrets = (list: string) => rpc(`signature: {secrets: {sha256: ${list}}}`);
    const missing = parse(secrets("[{env: ABSENT}]"));

    expect(missing.ok && missing.warnings.map(formatProblem)).toEqual([
      "inventory.yaml:2: machine a: rpc.signature.secrets.sha256 env ABSENT is not set",
    ]);
    expect(problems(secrets("[canary-4]")).join()).toMatch(/must be a map of keys, not text$/);
    expect(problems(secrets("[{file: f, env: E}]"))).toEqual([
      "inventory.yaml:2: machine a: rpc.signature.secrets.sha256.0 must have one of file, env, directory and command",
    ]);
    expect(problems("machines: [{name: a, host: h, providers: [rpc]}]")).toEqual([
      "inventory.yaml:1: machine a: rpc.url is missing",
    ]);
  });
});

describe("defaults", () => {
  const DEFAULTS = `
defaults:
  providers: [ipmi]
  connectTimeout: 2s
  ipmi: {cipherSuite: 3, privilege: administrator}
  credentials: {username: admin, passwordEnv: PASS}
machines:
`;

  it("hold where a machine says nothing, key by key", async () => {
    const parsed = inventory(
      `${DEFAULTS}  - {name: a, host: h, connectTimeout: 3s, ipmi: {privilege: user}}\n`,
    );

    expect(await connect(parsed, "a")).toMatchObject({
      providers: ["ipmi"],
      connectTimeoutMs: 3_000,
      ipmi: { cipherSuite: 3, privilege: "user" },
      username: "admin",
    });
  });

  it("give way to another way of giving the same credential", async () => {
    writeFileSync(join(folder, "own-password"), "own\n");
    const parsed = inventory(
      `${DEFAULTS}  - {name: a, host: h, credentials: {usernameEnv: PASS, passwordFile: own-password}}\n`,
    );

    const { username, password } = await connect(parsed, "a");

    expect([username, password?.reveal()]).toEqual(["secret", "own"]);
  });

  it.each([
    ["a directory", "directory: d", "directory: d"],
    [
      "a command",
      "command: [c, '{machine}'], timeout: 3s, environment: [E]",
      "command: [c, a], timeout: 3s, environment: [E]",
    ],
    ["a directory of its own", "command: [c], timeout: 3s, environment: [E]", "directory: d", "directory: d"],
    ["a command of its own", "directory: d", "command: [c]", "command: [c]"],
    [
      "another command with the same terms",
      "command: [b], timeout: 3s",
      "command: [c], timeout: 3s",
      "command: [c]",
    ],
    [
      "user and password of its own",
      "command: [c], timeout: 3s, environment: [E]",
      "username: u, passwordEnv: PASS",
      "username: u, passwordEnv: PASS",
    ],
  ])("leave a machine %s as if it stood there alone", (_, defaults, alone, own = "") => {
    const warningsOf = (text: string) => {
      const parsed = parse(text);
      return parsed.ok ? parsed.warnings.map(({ message }) => message) : parsed.problems.map(formatProblem);
    };

    const merged = warningsOf(
      `defaults: {credentials: {${defaults}}}\nmachines:\n  - {name: a, host: h, credentials: {${own}}}\n`,
    );

    expect(merged).toEqual(warningsOf(`machines:\n  - {name: a, host: h, credentials: {${alone}}}\n`));
  });

  it("fill the machine's name into paths", async () => {
    writeFileSync(join(folder, "node-7.pass"), "seven");
    const parsed = inventory(
      "defaults: {credentials: {username: u, passwordFile: '{machine}.pass'}}\nmachines: [{name: node-7, host: h}]\n",
    );

    expect((await connect(parsed, "node-7")).password?.reveal()).toBe("seven");
  });

  it("report each problem once, whatever the number of machines", () => {
    expect(
      problems(
        "defaults:\n  connectTimeout: never\n  host: x\n  ipmi: {port: 0}\nmachines:\n  - {name: a, host: h}\n  - {name: b, host: i}\n",
      ),
    ).toEqual([
      "inventory.yaml:2: connectTimeout must be a duration such as 45s or 1m30s, from 1ms to 10m",
      "inventory.yaml:3: host belongs to one machine, not to all",
      expect.stringMatching(/^inventory.yaml:4: ipmi.port /),
    ]);
  });
});

describe("the desired state", () => {
  it("is the entry's own over the defaults', and no part of the connection", async () => {
    const parsed = inventory(`
defaults: {desired: {bootDevice: disk, ntp: [a.example], bios: {Turbo: true, Cores: 4}}}
machines:
  - {name: a, host: h, desired: {power: "off", ntp: [b.example, "2001:db8::1"], bios: {Cores: 8}, firmware: {BIOS: "2.10"}}}
`);

    expect(parsed.desiredState?.("a")).toEqual({
      power: "off",
      bootDevice: "disk",
      ntp: ["b.example", "2001:db8::1"],
      bios: { Turbo: true, Cores: 8 },
      firmware: { BIOS: "2.10" },
    });
    expect(parsed.machines()).toEqual([{ name: "a", lockKey: "h" }]);
    expect(await connect(parsed, "a")).toEqual(Connection.parse({ machine: "a", host: "h" }));
    expect(inventory("machines: [{name: a, host: h}]").desiredState?.("a")).toBeUndefined();
  });

  it("is strict and bounded, and holds no passwords", () => {
    const many = (most: number) =>
      Array.from({ length: most + 1 }, (_, index) => `A${index}: "1"`).join(", ");
    const found = problems(`machines:
  - {name: a, host: h, desired: {power: cycle, bootDevice: dsk, bootdevice: pxe}}
  - {name: b, host: i, desired: {ntp: [], bios: {A: [1]}, firmware: {BIOS: 2.10, NIC: {version: "1", image: "https://me:hunter2@h/x"}}}}
  - {name: c, host: j, desired: {ntp: ["a b"], bios: {SetupPassword: hunter2}, firmware: {"": "1"}}}
  - {name: d, host: k, desired: {ntp: [${"a, ".repeat(17)}], bios: {${many(500)}}, firmware: {${many(200)}}}}
`);

    expect(found.map((line) => line.replace(/^inventory.yaml:\d: machine ./, ""))).toEqual([
      ": desired.power must be one of on, off",
      expect.stringMatching(/^: desired.bootDevice .*disk/),
      expect.stringMatching(/^: desired.bootdevice is not known, did you mean bootDevice/),
      ": desired.ntp is empty",
      expect.stringMatching(/^: desired.bios.A must be one line of text/),
      ": desired.firmware.BIOS must be text: put it in quotes",
      ": desired.firmware.NIC.image must be the URI of an image, without credentials",
      ": desired.ntp.0 must be the name or address of a time server",
      expect.stringMatching(/^: desired.bios has a password/),
      ": desired.firmware must have names of 1 to 200 printable characters",
      ": desired.ntp must have at most 16 servers",
      ": desired.bios must have at most 500 names",
      ": desired.firmware must have at most 200 names",
    ]);
    expect(found.join()).not.toContain("hunter2");
  });
});

describe("problems of an inventory", () => {
  it("are all found at once, with the machine and the line", () => {
    const text = `machines:
  - name: Node_1
    host: https://192.0.2.1
    provider: [redfish]
  - name: node-2
    host: 192.0.2.2:443
    providers: [redfsh]
    redfish:
      prot: 443
      scheme: ftp
    connectTimeout: 5 parsecs
    ipmi: {cipherSuite: 4}
  - host: 192.0.2.3
  - name: 4
    host: 192.0.2.4
  - name: node-5
    host: 192.0.2.5
    providers: [ipmi, ipmi]
    tls: {fingerprint: abc}
`;

    expect(problems(text)).toEqual([
      "inventory.yaml:2: machine Node_1: name must be a name such as node-1 or node-1.rack-2: lower-case letters, digits, hyphens and dots",
      "inventory.yaml:3: machine Node_1: host must not have a scheme: use only the name or address",
      "inventory.yaml:4: machine Node_1: provider is not known, did you mean providers?",
      "inventory.yaml:6: machine node-2: host must not contain a port: use the provider's port option",
      "inventory.yaml:7: machine node-2: providers.0 must be one of redfish, ipmi, ipmitool, amt, rpc, homeassistant, ironic, did you mean redfish?",
      "inventory.yaml:9: machine node-2: redfish.prot is not known, did you mean port?",
      "inventory.yaml:10: machine node-2: redfish.scheme must be one of https, http",
      "inventory.yaml:11: machine node-2: connectTimeout must be a duration such as 45s or 1m30s, from 1ms to 10m",
      "inventory.yaml:12: machine node-2: ipmi.cipherSuite must be one of 3, 17",
      "inventory.yaml:13: name is missing",
      "inventory.yaml:14: name must be text: put it in quotes",
      "inventory.yaml:18: machine node-5: providers names ipmi twice",
      "inventory.yaml:19: machine node-5: tls.fingerprint is not a SHA-256 in hex",
    ]);
  });

  it("are only warned of where a secret has quotes around it", () => {
    const text = "machines: [{name: a, host: h, credentials: {username: u, passwordEnv: PASS}}]\n";
    const parsed = parseInventory({ path: "inventory.yaml", text, env: { PASS: "'x'" }, readFile: () => "" });

    expect(parsed.ok && parsed.warnings.map(formatProblem)).toEqual([
      "inventory.yaml:1: machine a: passwordEnv PASS has quotes around it, which count as part of it",
    ]);
  });

  it("include a name that is taken, also by a machine that has problems", () => {
    expect(
      problems("machines:\n  - {name: a, host: h}\n  - {name: b, host: i}\n  - {name: a, host: 'x y'}\n"),
    ).toEqual([
      "inventory.yaml:4: machine a: host must be only a name or address",
      "inventory.yaml:4: machine a: the name is taken by the machine at inventory.yaml:2",
    ]);
  });

  it("include secrets in the file, which are explained and never repeated", () => {
    const found = problems(`machines:
  - name: a
    host: h
    password: canary-1
    credentials: {username: u, password: canary-2}
    ipmi: {kg: canary-3}
`);

    expect(found).toEqual([
      expect.stringMatching(/^inventory.yaml:4: machine a: password is a secret .* passwordFile/),
      expect.stringMatching(/^inventory.yaml:5: machine a: credentials.password is a secret .* passwordFile/),
      "inventory.yaml:5: machine a: credentials names a user but no password: add passwordFile or passwordEnv",
      expect.stringMatching(/^inventory.yaml:6: machine a: ipmi.kg is a secret .* kgFile/),
    ]);
    expect(found.join()).not.toContain("canary");
  });

  it.each([
    [
      "credentials: {username: u, usernameFile: f, passwordEnv: P}",
      "credentials.usernameFile and username are both set: set only one of them",
    ],
    [
      "credentials: {username: u, passwordFile: f, passwordEnv: P}",
      "credentials.passwordEnv and passwordFile are both set: set only one of them",
    ],
    [
      "credentials: {username: u}",
      "credentials names a user but no password: add passwordFile or passwordEnv",
    ],
    [
      "credentials: {usernameEnv: A-B, passwordEnv: P}",
      "credentials.usernameEnv must be the name of an environment variable",
    ],
    [
      "credentials: {passwordEnv: P}",
      "credentials names a password but no user: add username, usernameFile or usernameEnv",
    ],
    [
      "credentials: {directory: d, passwordFile: f}",
      "credentials.directory provides user and password, and passwordFile is set too: set only one of them",
    ],
    [
      "credentials: {username: u, directory: d, command: [c]}",
      "credentials.command provides user and password, and directory, username is set too: set only one of them",
    ],
    ["credentials: {command: []}", "credentials.command is empty"],
    ["credentials: {command: vault bmc}", "credentials.command must be a list, not text"],
    ["credentials: {command: ['']}", "credentials.command.0 is empty"],
    ["credentials: {command: [c, 1]}", "credentials.command.1 must be text: put it in quotes"],
    [
      "credentials: {command: [c], timeout: 1h}",
      "credentials.timeout must be a duration such as 45s or 1m30s, from 100ms to 10m",
    ],
    [
      "credentials: {command: [c], timeoutMs: 5}",
      "credentials.timeoutMs is not known: write timeout with a unit, such as 10s",
    ],
    ["credentials: {directory: d, timeout: 5s}", "credentials.timeout has no meaning without command"],
    ["credentials: {environment: [A]}", "credentials.environment has no meaning without command"],
    [
      "credentials: {command: [c], environment: [A=b]}",
      "credentials.environment.0 must be the name of an environment variable",
    ],
    ["ipmi: {kgFile: f, kgEnv: P}", "ipmi.kgEnv and kgFile are both set: set only one of them"],
    [
      "tls: {verify: false, caFile: f}",
      "tls.verify is false, which accepts any certificate and so would not look at caFile: remove one of them",
    ],
    ["tls: {ca: text}", "tls.ca is not known: put the certificates into a file and name that with caFile"],
    ["insecureTLS: true", "insecureTLS is not known: to accept any certificate write tls: {verify: false}"],
    ["connectTimeoutMs: 5", "connectTimeoutMs is not known: write connectTimeout with a unit, such as 5s"],
  ])("include %s", (line, expected) => {
    expect(problems(`machines:\n  - name: a\n    host: h\n    ${line}\n`)).toEqual([
      `inventory.yaml:4: machine a: ${expected}`,
    ]);
  });

  it("include a CA bundle that is not there or none", () => {
    writeFileSync(join(folder, "no-ca.pem"), "nothing");
    const text =
      "machines:\n  - {name: a, host: h, tls: {caFile: absent.pem}}\n  - {name: b, host: i, tls: {caFile: no-ca.pem}}\n";

    expect(problems(text)).toEqual([
      `inventory.yaml:2: machine a: caFile ${join(folder, "absent.pem")} does not exist`,
      `inventory.yaml:3: machine b: caFile ${join(folder, "no-ca.pem")} holds no valid PEM certificate`,
    ]);
  });

  it.each([
    ["", "inventory.yaml: machines is missing"],
    ["machine: []\n", "inventory.yaml:1: machine is not known, did you mean machines?"],
    ["machines: {a: b}\n", "inventory.yaml:1: machines must be a list, not a map of keys"],
    ["machines: [a]\n", "inventory.yaml:1: the entry must be a map of keys, not text"],
    ["machines:\n  -\n", "inventory.yaml:2: name is missing"],
    ["- a\n", "inventory.yaml:1: the inventory must be a map of keys, not a list"],
    ["machines: !!js/function x\n", /^inventory.yaml:1: unresolved tag/],
  ])("include a file of the wrong shape: %j", (text, expected) => {
    const matcher = typeof expected === "string" ? expected : expect.stringMatching(expected);

    expect(problems(text)).toContainEqual(matcher);
  });

  it("include aliases that would multiply beyond all bounds", () => {
    const levels = Array.from({ length: 9 }, (_, n) => `  a${n + 1}: &a${n + 1} [${`*a${n}, `.repeat(9)}]`);

    expect(problems(`machines: []\ndefaults:\n  a0: &a0 [x]\n${levels.join("\n")}\n`)).toEqual([
      expect.stringContaining("alias"),
    ]);
  });
});

describe("warnings of an inventory", () => {
  it("name machines that share a BMC, however its address is written", () => {
    const parsed = parse(
      "machines:\n  - {name: a, host: BMC.example.org}\n  - {name: b, host: bmc.example.org.}\n  - {name: c, host: '2001:db8:0::1'}\n  - {name: d, host: '2001:DB8::1'}\n",
    );

    expect(parsed.ok && parsed.warnings.map(formatProblem)).toEqual([
      "inventory.yaml:3: machine b: has the BMC of a; their actions will wait for each other",
      "inventory.yaml:5: machine d: has the BMC of c; their actions will wait for each other",
    ]);
  });
});

describe("labels of an inventory", () => {
  it("are the entry's over the defaults', and take machines out of service", async () => {
    const found = inventory(`
defaults: {labels: {row: b, rack: r12}}
paused: [{selector: "rack=r13", reason: power work}]
machines:
  - {name: a, host: 192.0.2.1, labels: {role: spare}}
  - {name: b, host: 192.0.2.2, labels: {rack: r13}}
  - {name: c, host: 192.0.2.3, labels: {rack: r13}, paused: fan}
`);

    expect(found.find("a")).toMatchObject({ labels: { row: "b", rack: "r12", role: "spare" } });
    expect(["a", "b", "c"].map((name) => found.find(name)?.paused?.reason)).toEqual([
      undefined,
      "power work",
      "fan",
    ]);
    expect(await connect(found, "a")).not.toHaveProperty("labels");
    await expect(connect(found, "b")).rejects.toThrow("machine b is paused: power work");
  });

  it("limit the actions of machines that share one", () => {
    const found = inventory(
      "limits: [{per: rack, actions: [power-on], atOnce: 2, every: 5s}]\nmachines: [{name: a, host: 192.0.2.1, labels: {rack: r12}}]\n",
    );
    const limitsOf = (action: string, labels = found.find("a")?.labels) =>
      startLimitsOf(found.limits?.() ?? [], labels, action);

    expect(limitsOf("power-on")).toEqual([
      { key: "rack power-on r12", of: "rack=r12", atOnce: 2, everyMs: 5_000 },
    ]);
    expect(limitsOf("power-off")).toEqual([]);
    expect(limitsOf("power-on", { row: "b" })).toEqual([]);
  });

  it("finds misspelt actions of limits, and accepts those of other projects", () => {
    const text =
      "limits:\n  - {per: rack, actions: [power-on, pwer-off, burn-in], atOnce: 2}\nmachines: [{name: a, host: 192.0.2.1}]\n";
    const input = { path: "inventory.yaml", text, env: SECRETS, readFile: readTextFile };

    expect(parseInventory({ ...input, actions: ["power-on", "power-off"] })).toMatchObject({
      problems: [
        {
          source: "inventory.yaml:2",
          message: "limits.0.actions.1 pwer-off is not an action of this release, did you mean power-off?",
        },
      ],
    });
  });

  it.each([
    ["{rack: 12}", /labels.rack must be text, in quotes if it looks like a number/],
    ["{row: 'a b'}", /labels.row must have at most 63 letters/],
    ["{'b c': x}", /labels.b c must be the key of a label/],
  ])("are refused with what is wrong: %s", (labels, message) => {
    expect(problems(`machines: [{name: a, host: 192.0.2.1, labels: ${labels}}]\n`)).toEqual([
      expect.stringMatching(message),
    ]);
  });

  it("have rules that are checked", () => {
    expect(problems("limits: [{per: rack, actions: [power-on]}]\nmachines: []\n")).toEqual([
      "inventory.yaml:1: limits.0 limits nothing: add atOnce, every or both",
    ]);
    expect(
      problems(
        "limits:\n  - {per: rack, actions: [a, b], atOnce: 2}\n  - {per: rack, actions: [b, a], every: 5s}\nmachines: []\n",
      ),
    ).toEqual([
      "inventory.yaml:3: limits.1 has the label and the actions of limits.0: write atOnce and every into one limit",
    ]);
    expect(problems("paused: [{selector: '=', reason: x}]\nmachines: []\n")[0]).toContain(
      "paused.0.selector must be a selector such as rack=r12",
    );
  });
});

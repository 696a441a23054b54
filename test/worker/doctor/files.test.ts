import { chmod } from "node:fs/promises";
import { userInfo } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createCertificate } from "../../../simulators/certificate.ts";
import { doctorLab } from "./doctor-lab.ts";

/** Nothing listens there, which is another check's matter. */
const SERVER = ["--grpc-server", "127.0.0.1:1"];
const node = (number: number, more: object = {}) => ({
  name: `node-${number}`,
  host: `192.0.2.${number}`,
  ...more,
});
const known = { username: "admin", passwordEnv: "BMC_PASSWORD" };
const secret = { BMC_PASSWORD: "canary-7" };

describe("the settings", () => {
  it("are all reported at once, each at its place, and the other checks continue", async () => {
    await using lab = await doctorLab();
    const config = await lab.write("worker.yaml", "grpcSever: tink\nmaxActions: many\n");

    const report = await lab.report(["--config", config, "--runtime", "dokcer"], { PBNJ_GRPC_TLS: "maybe" });

    expect(report.of("settings")).toMatchObject(
      expect.arrayContaining([
        expect.objectContaining({ subject: "worker.yaml:1", cause: "setting-wrong" }),
        expect.objectContaining({ subject: "worker.yaml:2" }),
        expect.objectContaining({ subject: "--runtime" }),
        expect.objectContaining({ subject: "PBNJ_GRPC_TLS" }),
        expect.objectContaining({ subject: "--grpc-server", detail: expect.stringContaining("is missing") }),
      ]),
    );
    expect(report.of("tink-server")).toMatchObject([{ state: "skipped" }]);
    expect(report.of("runtime")).toMatchObject([{ state: "skipped" }]);
    expect(report.of("state-directory")).toMatchObject([{ state: "ok" }]);
    expect(report).toMatchObject({ ok: false, exitCode: 2 });
  });

  it("keep a server from being asked whose certificate file cannot be read", async () => {
    await using lab = await doctorLab();

    const report = await lab.report([
      ...SERVER,
      ...["--agent-id", "a", "--grpc-tls", "--grpc-ca-file", join(lab.folder, "nowhere.pem")],
    ]);

    expect(report.of("settings")).toMatchObject([{ subject: "--grpc-ca-file", cause: "setting-wrong" }]);
    expect(report.of("tink-server")).toMatchObject([{ state: "skipped" }]);
    expect(report.of("runtime")).toMatchObject([{ state: "ok" }]);
  });
});

describe("the inventory and the policy", () => {
  it("show which machines are paused, and why, which is no problem", async () => {
    await using lab = await doctorLab();
    const machines = [
      node(1, { credentials: known, paused: "fan replacement" }),
      node(2, { credentials: known }),
    ];
    const inventory = await lab.write("rack.yaml", { machines });

    const report = await lab.report([...SERVER, "--inventory", inventory], secret);

    expect(report.of("inventory")).toMatchObject([
      { state: "ok", detail: `${inventory}: 2 machines` },
      { state: "skipped", subject: "node-1", detail: "paused: fan replacement (inventory rack.yaml)" },
    ]);
    expect(report.of("secrets")).toMatchObject([{ state: "ok" }]);
  });

  it("are judged by themselves, every problem with its line", async () => {
    await using lab = await doctorLab();
    const inventory = await lab.write(
      "rack.yaml",
      "machines:\n  - name: node-1\n    hots: 192.0.2.1\n  - name: Node_2\n    host: 192.0.2.2\n",
    );
    const policy = await lab.write("policy.yaml", "images: []\npull: never\n");

    const report = await lab.report([...SERVER, "--inventory", inventory, "--policy", policy]);

    expect(report.of("inventory").map(({ subject }) => subject)).toEqual(
      expect.arrayContaining(["rack.yaml:3", "rack.yaml:4"]),
    );
    expect(report.of("policy").map(({ subject }) => subject)).toEqual(["policy.yaml:1", "policy.yaml:2"]);
    expect(report.of("inventory").every(({ cause }) => cause === "inventory-wrong")).toBe(true);
    expect(report.of("agent-ids")).toMatchObject([{ state: "skipped" }]);
    expect(report.of("secrets")).toMatchObject([{ state: "skipped" }]);
    expect(report.of("tink-server")).toMatchObject([{ cause: "server-refuses-connections" }]);
    expect(report.exitCode).toBe(2);
  });

  it("are well, and say what is doubtful", async () => {
    await using lab = await doctorLab();
    const inventory = await lab.write("rack.yaml", {
      defaults: { credentials: known },
      machines: [node(1), { name: "node-2", host: "192.0.2.1" }],
    });
    const policy = await lab.write("policy.yaml", { digestOnly: true });

    const report = await lab.report([...SERVER, "--inventory", inventory, "--policy", policy], secret);

    expect(report.of("inventory")).toMatchObject([
      {
        state: "warning",
        cause: "inventory-doubtful",
        detail: expect.stringContaining("has the BMC of node-1"),
      },
      { state: "ok", detail: `${inventory}: 2 machines` },
    ]);
    expect(report.of("policy")).toMatchObject([
      { state: "warning", cause: "policy-doubtful", subject: "policy digestOnly" },
      {
        state: "ok",
        detail: `${policy}: only this installation's actions run, and receive BMC connections`,
      },
    ]);
    expect(report.of("secrets")).toMatchObject([{ state: "ok" }]);
  });

  it("need a policy that names the trusted images for containers, and none without containers", async () => {
    await using lab = await doctorLab();
    const engine = ["--docker-socket", join(lab.folder, "engine.sock")];

    const [docker, own] = await Promise.all([
      lab.report([...SERVER, "--agent-id", "a", "--runtime", "docker", ...engine]),
      lab.report([...SERVER, "--agent-id", "a"]),
    ]);

    expect(docker.of("policy")).toMatchObject([
      {
        state: "problem",
        cause: "trust-missing",
        remedy: expect.stringContaining("trustedImages: [registry.example/pbnj-worker/*]"),
      },
    ]);
    expect(own.of("policy")).toMatchObject([{ state: "ok" }]);
  });

  it("decide whether requests of PBnJ's API may bring a BMC's credentials", async () => {
    await using lab = await doctorLab();
    const policy = await lab.write("policy.yaml", { ownConnections: "deny" });
    const served = ["--pbnj-address", "127.0.0.1:50051"];

    const [any, named] = await Promise.all([lab.report(served), lab.report([...served, "--policy", policy])]);

    expect(any.of("policy")[0]?.detail).toMatch(/; requests of PBnJ's API may bring a BMC's credentials$/);
    expect(named.of("policy")[0]?.detail).toMatch(/; requests of PBnJ's API must name a machine$/);
  });
});

describe("agent IDs", () => {
  it("know of the machines, and the policy's rules of both", async () => {
    await using lab = await doctorLab();
    const inventory = await lab.write("rack.yaml", {
      defaults: { credentials: known },
      machines: [node(1), node(2), node(3)],
    });
    const policy = await lab.write("policy.yaml", {
      tenants: [{ namespaces: ["a"], machines: ["node-1", "node-2", "nod-3"], images: ["reg.example/x/*"] }],
      agents: [{ agentIds: ["pbnj-*"], machines: ["node-1"] }],
    });

    const report = await lab.report(
      [
        ...[...SERVER, "--inventory", inventory, "--policy", policy],
        ...["--agent-id", "pbnj-node-11", "--agent-id", "rack-1"],
      ],
      secret,
    );

    expect(report.of("agent-ids")).toMatchObject([
      {
        cause: "agent-id-without-machine",
        subject: "pbnj-node-11",
        detail: "belongs to a machine node-11, which the inventory does not have, did you mean node-1?",
      },
      { cause: "machine-without-tenant", detail: "no tenant may use node-3" },
      {
        cause: "machine-without-agent",
        detail: "their own agent IDs may not act on node-2, node-3",
        remedy: expect.stringContaining(policy),
      },
      {
        cause: "pattern-without-machine",
        detail:
          "tenants.0.machines names nod-3, which is not a machine in the inventory, did you mean node-3?",
      },
      { cause: "agent-id-without-rule", subject: "rack-1" },
    ]);
    expect(report.of("agent-ids").every(({ state }) => state === "warning")).toBe(true);
  });
});

describe("secrets", () => {
  it("are read as for an action, and each that cannot be is a problem of its machine", async () => {
    await using lab = await doctorLab();
    const two = await lab.write("two-lines", "one\ntwo\n");
    const inventory = await lab.write("rack.yaml", {
      machines: [
        node(1, { credentials: known }),
        node(2, { credentials: { username: "admin", passwordFile: "nowhere" } }),
        node(3, { credentials: { username: "admin", passwordFile: "two-lines" } }),
        node(4, { credentials: { username: "admin", passwordEnv: "NOT_SET" } }),
      ],
    });

    const report = await lab.report([...SERVER, "--inventory", inventory], secret);

    expect(report.of("secrets")).toMatchObject([
      {
        cause: "secret-unreadable",
        detail: `machine node-2: passwordFile ${lab.folder}/nowhere does not exist`,
      },
      { detail: `machine node-3: passwordFile ${two} holds more than one line` },
      { detail: "machine node-4: passwordEnv NOT_SET is not set", class: "usage" },
    ]);
    expect(report.of("secrets")[0]?.remedy).toContain(`readable by ${userInfo().username}, the user `);
    expect(report.of("inventory")).toMatchObject([{ state: "ok" }]);
    expect(report.exitCode).toBe(2);
  });

  it("with quotes or spaces around them are warned of, before a BMC is asked with them", async () => {
    await using lab = await doctorLab();
    await lab.write("quoted", '"canary-7"\n');
    const inventory = await lab.write("rack.yaml", {
      machines: [
        node(1, { credentials: known }),
        node(2, { credentials: { username: "admin", passwordFile: "quoted" } }),
        node(3, { credentials: { username: " admin", passwordEnv: "BMC_PASSWORD" } }),
      ],
    });

    const report = await lab.report([...SERVER, "--inventory", inventory], secret);

    expect(report.of("secrets")).toMatchObject([
      {
        cause: "secret-odd",
        subject: "node-2",
        detail: "the password has quotes around it, which count as part of it",
      },
      {
        cause: "secret-odd",
        subject: "node-3",
        detail: expect.stringContaining("the user name has a space"),
      },
      { state: "ok" },
    ]);
  });

  it("from commands are not asked for, only whether the command is there", async () => {
    await using lab = await doctorLab();
    const program = await lab.write("vault", `#!/bin/sh\ntouch ${lab.folder}/asked\n`, 0o755);
    const inventory = await lab.write("rack.yaml", {
      machines: [
        node(1, { credentials: { command: [program] } }),
        node(2, { credentials: { command: [join(lab.folder, "nowhere")] } }),
        node(3, { credentials: { command: [program], environment: ["VAULT_TOKEN"] } }),
      ],
    });

    const report = await lab.report([...SERVER, "--inventory", inventory]);

    expect(report.of("secrets")).toMatchObject([
      {
        cause: "secret-command-doubtful",
        detail: expect.stringMatching(/^machine node-2: .*does not exist$/),
      },
      { cause: "secret-command-doubtful", detail: expect.stringContaining("VAULT_TOKEN is not set") },
      { state: "ok", detail: expect.stringContaining("3 machines have them from a command") },
    ]);
    await expect(chmod(join(lab.folder, "asked"), 0o600)).rejects.toThrow("ENOENT");
  });

  it("that every user of the host can read are named, those in a closed folder are not", async () => {
    await using lab = await doctorLab();
    const open = await lab.write("open", "canary-8", 0o644);
    await lab.write("closed", "canary-9", 0o600);
    const inventory = await lab.write("rack.yaml", {
      machines: [
        node(1, { credentials: { username: "admin", passwordFile: "open" } }),
        node(2, { credentials: { username: "admin", passwordFile: "closed" } }),
      ],
    });
    const asked = [...SERVER, "--inventory", inventory];

    const inside = await lab.report(asked);
    await chmod(lab.folder, 0o755);
    const outside = await lab.report(asked);

    expect(inside.of("secrets")).toMatchObject([{ state: "ok" }]);
    expect(outside.of("secrets")).toMatchObject([
      {
        state: "warning",
        cause: "secret-readable-by-all",
        detail: `every user of this host can read ${open}`,
        remedy: expect.stringContaining("chmod o-rwx"),
      },
      { state: "ok", detail: "all can be read, 2 files with one each" },
    ]);
  });

  it("are also the worker's own key and its HTTP tokens, and no certificate is one", async () => {
    await using lab = await doctorLab();
    const { cert, key } = createCertificate({ commonName: "worker" });
    const certificate = await lab.write("worker.crt", cert, 0o644);
    const both = await lab.write("worker.pem", `${cert}${key}`, 0o644);
    const token = await lab.write("token", "canary-0123456789abcdef\n", 0o644);
    await chmod(lab.folder, 0o755);

    const report = await lab.report([
      ...["--http-token-file", token],
      ...[...SERVER, "--agent-id", "a", "--grpc-tls", "--grpc-ca-file", certificate],
      ...["--grpc-client-cert-file", certificate, "--grpc-client-key-file", both],
    ]);

    for (const file of [both, token]) expect(report.of("secrets")[0]?.detail).toContain(file);
    expect(report.of("secrets")[0]?.detail).not.toContain(certificate);
    expect(report.of("secrets")).toMatchObject([
      {
        cause: "secret-readable-by-all",
        detail: expect.stringMatching(/^every user of this host can read /),
      },
      { state: "ok" },
    ]);
  });
});

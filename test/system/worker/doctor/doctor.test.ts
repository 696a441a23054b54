import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdir } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { exitCodeOf } from "../../../../shared/contract/exit-code.ts";
import { DoctorReport } from "../../../../worker/doctor/report.ts";
import { eventually } from "../../../actions/lab.ts";
import { runProgram } from "../../../cli/program.ts";
import { bundledProgram } from "../../../support/bundled-program.ts";

import { wholeLab } from "../../../worker/doctor/doctor-lab.ts";

describe("pbnj-worker doctor", () => {
  it("prints one line per valid item, and exits with 0", async () => {
    await using lab = await wholeLab();

    const { exitCode, stdout, stderr } = await lab.run([...lab.flags, "--bmc"]);

    const lines = stdout.split("\n");
    expect(lines.map((line) => /^(\w+) +([\w-]+) +\S/.exec(line)?.slice(1))).toEqual([
      ["ok", "settings"],
      ["ok", "inventory"],
      ["ok", "policy"],
      ["ok", "agent-ids"],
      ["ok", "secrets"],
      ["ok", "state-directory"],
      ["ok", "tink-server"],
      ["ok", "runtime"],
      ["ok", "action-image"],
      ["ok", "bmc"],
      undefined,
    ]);
    expect(lines.at(-1)).toBe("no problem, 10 ok");
    expect(stderr).toBe("");
    expect(exitCode).toBe(0);
    expect(lab.server.polls).toEqual([]);
    expect(await readdir(lab.folder)).toEqual(["inventory.yaml", "password"]);
  });

  it("continues after a problem, prints how to fix it, and exits with the code of the first", async () => {
    await using lab = await wholeLab();

    const { exitCode, stdout } = await lab.run([
      ...["--grpc-server", "127.0.0.1:1", "--inventory", lab.inventoryFile],
      ...["--bmc", "node-01", "nod-01"],
    ]);

    const lines = stdout.split("\n");
    const at = lines.findIndex((line) => line.startsWith("problem  tink-server      127.0.0.1:1: "));
    expect(lines[at]).toMatch(/: connection refused$/);
    expect(lines[at + 1]).toMatch(
      /^ {26}fix: (inside a container, .* Otherwise )?start the tink server, or correct the port/,
    );
    expect(stdout).toMatch(/^problem {2}bmc {14}nod-01: there is no such machine.*did you mean node-01\?$/m);
    expect(stdout).toMatch(/^ok {7}bmc {14}node-01: power /m);
    expect(lines.at(-1)).toBe("2 problems, 9 ok");
    expect(exitCode).toBe(exitCodeOf("unreachable"));
  });

  it("rejects invalid arguments with 2, all at once, and checks nothing", async () => {
    const argv = ["--bcm", "node-1", "--output", "jsn", "--timeout", "soon", "--image", " "];
    const { exitCode, stdout, stderr } = await runProgram(["doctor", ...argv]);

    for (const problem of [
      "unknown flag --bcm, did you mean --bmc?",
      "--output: must be one of text, json, yaml, did you mean json?",
      "--timeout: must be a duration such as 30s or 5m",
      "--image: must name an image",
    ]) {
      expect(stderr).toContain(problem);
    }
    expect(stdout).toBe("");
    expect(exitCode).toBe(2);
  });

  it("ends at once at a signal, logs out and leaves nothing", async () => {
    await using lab = await wholeLab();
    lab.bmc.latencyMs = 200;
    const { file } = await bundledProgram();
    const argv = [file, "doctor", "--state-directory", lab.state, ...lab.flags, "--bmc"];
    const child = spawn(process.execPath, argv, {
      env: { HOME: lab.folder },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let stderr = "";
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      stderr += text;
    });
    child.stdout.resume();
    const ended = once(child, "close");
    await eventually(() => lab.bmc.log.some((line) => line.startsWith("POST ")));

    child.kill("SIGINT");
    const [exitCode] = await ended;

    expect(exitCode).toBe(130);
    expect(stderr).toBe(`pbnj-worker doctor: stopped by SIGINT\n`);
    await eventually(() => lab.bmc.log.at(-1)?.startsWith("DELETE ") ?? false);
    expect((await readdir(lab.folder)).filter((name) => name.startsWith("state"))).toEqual([]);
  });
});

it("no secret is in what the doctor prints, whatever goes wrong", async () => {
  await using lab = await wholeLab();
  const canaries = ["cn1-password", "cn2-variable", "cn3-command", "cn4-registry", "cn5-webhook"] as const;
  const command = await lab.write(
    "vault",
    `#!/bin/sh\necho '{"username":"admin","password":"${canaries[2]}"}'\necho ${canaries[2]} >&2\n`,
    0o755,
  );
  const broken = await lab.write(
    "broken",
    `#!/bin/sh\necho '"${canaries[2]}'\necho ${canaries[2]} >&2\nexit 1\n`,
    0o755,
  );
  const { machine, bmc } = lab;
  const inventory = await lab.write("all.yaml", {
    machines: [
      {
        ...machine,
        name: "a",
        credentials: { username: "admin", passwordFile: await lab.write("p", canaries[0], 0o644) },
      },
      {
        ...machine,
        name: "b",
        host: "localhost",
        credentials: { username: "admin", passwordEnv: "VARIABLE" },
      },
      { ...machine, name: "c", host: "127.0.0.2", credentials: { command: [command] } },
      { ...machine, name: "d", host: "127.0.0.3", credentials: { command: [broken] } },
      {
        ...machine,
        name: "e",
        host: "127.0.0.4",
        credentials: { username: "admin", passwordFile: await lab.write("q", `${canaries[0]}\n2`) },
      },
      {
        name: "f",
        host: "webhook-host",
        rpc: {
          url: `http://127.0.0.1:${bmc.port}/hook`,
          signature: { secrets: { sha256: [{ file: await lab.write("w", canaries[4]) }] } },
        },
      },
    ],
  });
  const env = { VARIABLE: canaries[1], PBNJ_REGISTRY_PASS: canaries[3], PBNJ_REGISTRY_USER: "anna" };
  const argv = ["--grpc-server", "127.0.0.1:1", "--inventory", inventory, "--bmc", "--timeout", "10s"];

  const json = await lab.run([...argv, "--output", "json"], env);
  const text = await lab.run(argv, env);

  const { findings } = DoctorReport.parse(JSON.parse(json.stdout));
  const causes = findings
    .filter(({ check }) => check === "bmc")
    .map(({ subject, cause }) => [subject, cause]);
  expect(causes).toEqual(
    expect.arrayContaining([
      ["a", "bmc-auth"],
      ["b", "bmc-auth"],
      ["d", "bmc-secret"],
      ["e", "bmc-secret"],
    ]),
  );
  const all = [json.stdout, json.stderr, text.stdout, text.stderr].join("\n");
  for (const canary of canaries) {
    const forms = [
      canary,
      Buffer.from(canary).toString("base64").replace(/=+$/, ""),
      Buffer.from(canary).toString("hex"),
    ];
    for (const form of forms) expect(all).not.toContain(form);
  }
});

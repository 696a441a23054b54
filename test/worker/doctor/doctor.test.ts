import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import manifest from "../../../package.json" with { type: "json" };
import { exitCodeOf } from "../../../shared/contract/exit-code.ts";
import { findingOf, okFinding, skippedFinding } from "../../../worker/doctor/finding.ts";
import { lineStyleFor, renderCounts, renderFinding } from "../../../worker/doctor/render.ts";
import { DoctorReport, reportOf } from "../../../worker/doctor/report.ts";
import { eventually, tcpBlackHole } from "../../actions/lab.ts";
import { PROGRAM, runProgram } from "../../cli/program.ts";
import { startRedfishBmc } from "../../simulators/redfish/bmc.ts";
import { startTinkServer } from "../../simulators/tink/server.ts";
import { doctorLab } from "./doctor-lab.ts";

/** A tink server, a BMC and the files that name both. */
async function wholeLab() {
  const lab = await doctorLab();
  const server = await startTinkServer();
  const bmc = await startRedfishBmc({ tls: "http", basic: false });
  const password = await lab.write("password", "calvin");
  const machine = {
    name: "node-1",
    host: "127.0.0.1",
    providers: ["redfish"],
    redfish: { port: bmc.port, scheme: "http" },
    credentials: { username: "admin", passwordFile: password },
  };
  const inventory = await lab.write("rack.yaml", { machines: [machine] });
  return {
    ...lab,
    server,
    bmc,
    machine,
    flags: ["--grpc-server", server.address, "--inventory", inventory],
    async [Symbol.asyncDispose]() {
      await Promise.all([server.close(), bmc.close()]);
      await lab[Symbol.asyncDispose]();
    },
  };
}

describe("pbnj-worker doctor", () => {
  it("says of all that is well a line each, and ends with 0", async () => {
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
    expect(await readdir(lab.folder)).toEqual(["password", "rack.yaml"]);
  });

  it("takes its settings from the environment and the file of `start`", async () => {
    await using lab = await wholeLab();
    const config = await lab.write("worker.yaml", { inventory: "rack.yaml", grpcServer: "127.0.0.1:1" });

    const report = await lab.report(["--config", config], { TINKERBELL_GRPC_AUTHORITY: lab.server.address });

    expect(report).toMatchObject({ ok: true, exitCode: 0, version: manifest.version });
    expect(report.of("tink-server")).toMatchObject([{ subject: lab.server.address }]);
    expect(report.of("inventory")).toMatchObject([{ detail: `${lab.folder}/rack.yaml: 1 machine` }]);
  });

  it("goes on after a problem, says how to mend it below, and ends with the code of the first", async () => {
    await using lab = await wholeLab();

    const { exitCode, stdout } = await lab.run([
      ...["--grpc-server", "127.0.0.1:1", "--inventory", join(lab.folder, "rack.yaml")],
      ...["--bmc", "node-1", "nod-1"],
    ]);

    const lines = stdout.split("\n");
    const at = lines.findIndex((line) => line.startsWith("problem  tink-server      127.0.0.1:1: "));
    expect(lines[at]).toMatch(/: connection refused$/);
    expect(lines[at + 1]).toMatch(/^ {26}fix: start the tink server, or correct the port/);
    expect(stdout).toMatch(/^problem {2}bmc {14}nod-1: there is no such machine.*did you mean node-1\?$/m);
    expect(stdout).toMatch(/^ok {7}bmc {14}node-1: power /m);
    expect(lines.at(-1)).toBe("2 problems, 9 ok");
    expect(exitCode).toBe(exitCodeOf("unreachable"));
  });

  it.each<[string, readonly string[], string]>([
    ["an unknown flag", ["--bcm", "node-1"], "unknown flag --bcm, did you mean --bmc?"],
    ["an unknown output", ["--output", "jsn"], "--output: must be one of text, json, did you mean json?"],
    ["a time that is none", ["--timeout", "soon"], "--timeout: must be a duration such as 30s or 5m"],
    ["an image without a name", ["--image", " "], "--image: must name an image"],
  ])("refuses %s with 2, and looks at nothing", async (_, argv, words) => {
    const { exitCode, stdout, stderr } = await runProgram(["doctor", ...argv]);

    expect(stderr).toContain(words);
    expect(stdout).toBe("");
    expect(exitCode).toBe(2);
  });

  it.each<[NodeJS.Signals, number]>([
    ["SIGINT", 130],
    ["SIGTERM", 143],
  ])("ends at once with its code at %s, logs out and leaves nothing", async (signal, code) => {
    await using lab = await wholeLab();
    lab.bmc.latencyMs = 200;
    const argv = [PROGRAM, "doctor", "--state-directory", lab.state, ...lab.flags, "--bmc"];
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

    child.kill(signal);
    const [exitCode] = await ended;

    expect(exitCode).toBe(code);
    expect(stderr).toBe(`pbnj-worker doctor: stopped by ${signal}\n`);
    await eventually(() => lab.bmc.log.at(-1)?.startsWith("DELETE ") ?? false);
    expect((await readdir(lab.folder)).filter((name) => name.startsWith("state"))).toEqual([]);
  });

  it("gives a check that comes to no end its time and no more", async () => {
    await using lab = await wholeLab();
    await using hole = await tcpBlackHole();

    const report = await lab.report([
      ...["--inventory", join(lab.folder, "rack.yaml"), "--timeout", "1s"],
      ...["--grpc-server", `127.0.0.1:${hole.port}`],
    ]);

    expect(report.of("tink-server")).toMatchObject([{ cause: "server-silent", class: "timeout" }]);
    expect(report.endedWith).toBe(exitCodeOf("timeout"));
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

  const [json, text] = [await lab.report(argv, env), await lab.run(argv, env)];

  const causes = json.of("bmc").map(({ subject, cause }) => [subject, cause]);
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

describe("the report", () => {
  const problem = findingOf("bmc-unreachable", "no answer", { subject: "node-1" });
  const local = findingOf("engine-forbidden", "no permission", { facts: { how: "join the group" } });

  it.each([
    ["nothing is wrong", [okFinding("policy", "all is well"), skippedFinding("bmc", "not asked")], 0],
    ["a warning is no failure", [findingOf("deprecated-api", "old")], 0],
    ["the first problem decides", [problem, local], 11],
    ["a problem without a class is 1", [local, problem], 1],
  ])("ends with the right code: %s", (_, findings, exitCode) => {
    const report = reportOf(findings);

    expect(report.exitCode).toBe(exitCode);
    expect(report.ok).toBe(exitCode === 0);
    expect(DoctorReport.parse(report)).toEqual(report);
  });

  it("has a schema that says what everything is", () => {
    const schema = z.toJSONSchema(DoctorReport);

    expect(schema).toMatchObject({ type: "object", additionalProperties: false });
    expect(JSON.stringify(schema)).toContain("How to fix it, in one line");
  });
});

describe("lines for people", () => {
  const wrong = findingOf("deprecated-api", "an old \u001b[2Jserver", { subject: "tink:42113" });

  it("are plain where nobody looks on", () => {
    expect(renderFinding(wrong, "plain")).toBe(
      "warning  tink-server      tink:42113: an old [2Jserver\n" +
        "                          fix: upgrade to Tinkerbell 0.17 or later\n",
    );
  });

  it("have marks and colour on a terminal, and nothing of what a server sent to it", () => {
    const text = renderFinding(wrong, "coloured");

    const [first] = text.split("\n");
    expect(first).toBe("\u001b[33m! warning\u001b[0m  tink-server      tink:42113: an old [2Jserver");
    expect(text.split("\n")[1]).toMatch(/^ {28}fix: /);
  });

  it.each([
    [{ isTTY: true }, {}, "coloured"],
    [{ isTTY: true }, { NO_COLOR: "1" }, "plain"],
    [{ isTTY: true }, { NO_COLOR: "" }, "coloured"],
    [{ isTTY: true }, { TERM: "dumb" }, "plain"],
    [{}, {}, "plain"],
  ] as const)("look for %j with %j: %s", (stream, env, look) => {
    expect(lineStyleFor(stream, env)).toBe(look);
  });

  it("count in words", () => {
    expect(renderCounts({ problem: 0, warning: 1, skipped: 2, ok: 3 })).toBe(
      "no problem, 1 warning, 3 ok, 2 skipped\n",
    );
    expect(renderCounts({ problem: 1, warning: 0, skipped: 0, ok: 0 })).toBe("1 problem, 0 ok\n");
  });
});

import { execFile, spawnSync } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it, type TestContext } from "vitest";
import { loadConfig } from "../../../worker/main/load-config.ts";
import { settings } from "../../../worker/main/settings.ts";
import { commandProblems } from "../../docs/command-line.ts";
import { Stage } from "../../docs/failures/stage.ts";
import { codeBlocks } from "../../docs/markdown.ts";
import { shellCommands } from "../../docs/shell-words.ts";
import { timeSpanMs, unitLines, valuesOf } from "../../docs/unit-file.ts";
import { openFolder } from "../../support/folder.ts";

const FOLDER = "deploy/systemd";
const unitText = await readFile(`${FOLDER}/pbnj-worker.service`, "utf8");
const unit = unitLines(unitText);
const dropInText = await readFile(`${FOLDER}/docker.conf`, "utf8");
const dropIn = unitLines(dropInText);
const run = promisify(execFile);

/** Tests that need a program of the system: skipped with a notice where it is not installed. */
function itWith(
  programs: readonly string[],
  title: string,
  test: (context: TestContext) => Promise<void>,
): void {
  const missing = programs.filter((program) => spawnSync(program, ["--version"]).error !== undefined);
  if (missing.length > 0) {
    process.stderr.write(`skipped, ${missing.join(" and ")} is not installed: the unit ${title}\n`);
  }
  it.skipIf(missing.length > 0)(title, { timeout: 120_000 }, test);
}

describe("the unit", () => {
  it("starts the worker with flags and variables that it knows", async () => {
    const [start = ""] = valuesOf(unit, "ExecStart");
    const [command = []] = shellCommands(start.replace(/^\S+\//, ""));
    const variables = [...valuesOf(unit, "Environment"), ...valuesOf(dropIn, "Environment")].map(
      (value) => value.split("=", 1)[0] ?? "",
    );

    expect(await commandProblems(command)).toEqual([]);
    expect(command.slice(0, 2)).toEqual(["pbnj-worker", "start"]);
    const known = [...settings.map(({ env }) => env), "NODE_ENV", "XDG_CACHE_HOME"];
    expect(known).toEqual(expect.arrayContaining(variables));
  });

  it("has settings that the worker takes, with the files of the manual", async () => {
    const blocks = codeBlocks(
      "docs/how-to/install-with-systemd.md",
      await readFile("docs/how-to/install-with-systemd.md", "utf8"),
    );
    const files = new Map(
      blocks.flatMap(({ file, text }) => (file ? [[`/etc/pbnj-worker/${file}`, text]] : [])),
    );
    const readFileOf = (path: string) => {
      const text = files.get(path) ?? (path.startsWith("/run/credentials/") ? "admin\n" : undefined);
      if (text === undefined) throw Object.assign(new Error(path), { code: "ENOENT" });
      return text;
    };
    const given = [...valuesOf(unit, "Environment"), ...valuesOf(dropIn, "Environment")].map((value) =>
      value.replace("%S", "/var/lib").replace("%C", "/var/cache").split("=", 2),
    );

    const [start = ""] = valuesOf(unit, "ExecStart");
    const config = /--config (\S+)/.exec(start)?.[1];
    const loaded = loadConfig({ flags: { config }, env: Object.fromEntries(given), readFile: readFileOf });

    expect(loaded).toMatchObject({ ok: true, warnings: [] });
    if (!loaded.ok) return;
    expect(loaded.config.stateDirectory).toBe("/var/lib/pbnj-worker");
    expect(loaded.config.runtime.kind).toBe("docker");
    expect(valuesOf(unit, "StateDirectory")).toEqual(["pbnj-worker"]);
  });

  it("waits longer than the worker takes to stop", () => {
    const loaded = loadConfig({ flags: { grpcServer: "192.0.2.1", agentId: ["a"] }, env: {} });
    if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems));
    const { shutdownGraceMs, stopGraceMs } = loaded.config;
    const [stop = ""] = valuesOf(unit, "TimeoutStopSec");

    expect(timeSpanMs(stop)).toBeGreaterThanOrEqual(shutdownGraceMs + stopGraceMs + 30_000);
    expect(valuesOf(unit, "KillMode")).toEqual(["process"]);
  });

  it("hands over each password under the name that the manual's inventory reads", async () => {
    const manual = await readFile("docs/how-to/install-with-systemd.md", "utf8");
    const [credential = ""] = valuesOf(unit, "LoadCredential");
    const [name, folder] = credential.split(":");

    const written = [...manual.matchAll(/> (\/etc\/pbnj-worker\/bmc\/\S+?)'/g)].map(([, path = ""]) => path);
    const given = written.map((path) => path.replace(`${folder}/`, `${name}_`).replaceAll("/", "_"));

    expect(given).toEqual(["bmc_node-01_password"]);
    for (const file of given) {
      const inInventory = file.replace("node-01", "{machine}");
      expect(manual).toContain(`/run/credentials/pbnj-worker.service/${inInventory}`);
    }
  });

  it("runs as the user that the sysusers file makes", async () => {
    const sysusers = await readFile(`${FOLDER}/pbnj-worker.sysusers`, "utf8");

    const [user] = valuesOf(unit, "User");
    expect(sysusers).toMatch(new RegExp(`^u ${user} - "[^"]+" /var/lib/pbnj-worker$`, "m"));
    expect(valuesOf(unit, "DynamicUser")).toEqual([]);
  });

  it("leaves a worker able to see what the one before it launched", () => {
    expect(valuesOf(unit, "KillMode")).toEqual(["process"]);
    // Each start has a user namespace of its own with it, or processes of its own to see.
    expect([...valuesOf(unit, "PrivateUsers"), ...valuesOf(unit, "PrivatePIDs")]).toEqual([]);
    expect(["invisible", "default"]).toEqual(expect.arrayContaining([...valuesOf(unit, "ProtectProc")]));
  });

  itWith(["systemd-analyze"], "passes systemd-analyze verify, by itself and with the drop-in", async () => {
    await using place = await openFolder();
    const { folder } = place;
    const there = unitText.replace(/^ExecStart=\S+/m, `ExecStart=${process.execPath}`);
    const user = there.replaceAll(/^(User|Group)=.*$/gm, "$1=daemon");
    const both = `${user}\n${dropInText.replace(/^SupplementaryGroups=.*$/m, "SupplementaryGroups=daemon")}`;
    for (const [name, text] of [
      ["plain", user],
      ["docker", both],
    ] as const) {
      const path = join(folder, `pbnj-worker-${name}.service`);
      await writeFile(path, text);

      const { stdout, stderr } = await run("systemd-analyze", ["verify", "--man=no", path]);

      const about = `${stdout}${stderr}`.split("\n").filter((line) => line.includes("pbnj-worker"));
      expect(about).toEqual([]);
    }
  });

  itWith(["systemd-analyze"], "is as exposed as the manual says", async () => {
    const manual = await readFile("docs/how-to/install-with-systemd.md", "utf8");
    const path = `${FOLDER}/pbnj-worker.service`;

    const { stdout } = await run("systemd-analyze", ["security", "--offline=yes", "--no-pager", path]);

    const [, level] = /Overall exposure level for \S+: ([\d.]+)/.exec(stdout) ?? [];
    expect(Number(level)).toBeLessThanOrEqual(1.5);
    expect(manual).toContain(`\`systemd-analyze security pbnj-worker\` says ${level},`);
  });

  itWith(
    ["systemd-analyze", "strace"],
    "lets through what a worker and its actions ask of the system",
    async () => {
      const allowed = await allowedCalls();
      await using stage = await Stage.open();
      const trace = join(stage.folder, "trace");
      const server = await stage.tink();
      const bmc = await stage.redfish();
      const ipmi = await stage.ipmi();
      const machine = {
        providers: ["redfish", "ipmi"],
        ...{ redfish: { port: bmc.port, scheme: "http" }, ipmi: { port: ipmi.port } },
      };
      const inventory = await stage.inventory(machine);
      const argv = ["--grpc-server", server.address, "--inventory", inventory];
      const by = ["strace", "-f", "-qq", "-o", trace];
      const worker = stage.startProcess(argv, {}, by);
      const workflow = await stage.ending(server, { name: "power-off" }, { name: "check" });
      // A signal to strace would not be the worker's.
      const [, pid] = /^(\d+) /.exec(await readFile(trace, "utf8")) ?? [];
      process.kill(Number(pid), "SIGTERM");
      await worker.ended;

      const lines = (await readFile(trace, "utf8")).split("\n");
      const asked = new Set(lines.flatMap((line) => /^\d+ +([a-z]\w*)\(/.exec(line)?.[1] ?? []));
      const families = new Set(lines.flatMap((line) => /\bsocket\((AF_\w+)/.exec(line)?.[1] ?? []));

      expect(workflow.state).toBe("SUCCESS");
      expect(asked.size).toBeGreaterThan(20);
      expect([...asked].filter((call) => !allowed.has(call))).toEqual([]);
      const [permitted = ""] = valuesOf(unit, "RestrictAddressFamilies");
      expect(permitted.split(" ")).toEqual(expect.arrayContaining([...families]));
    },
  );
});

/** The system calls that the unit's filter lets through, with its sets taken apart. */
async function allowedCalls(): Promise<ReadonlySet<string>> {
  const allowed = new Set<string>();
  for (const filter of valuesOf(unit, "SystemCallFilter")) {
    const takesAway = filter.startsWith("~");
    for (const name of filter.replace(/^~/, "").split(" ")) {
      for (const call of await callsOf(name)) {
        if (takesAway) allowed.delete(call);
        else allowed.add(call);
      }
    }
  }
  return allowed;
}

async function callsOf(name: string): Promise<readonly string[]> {
  if (!name.startsWith("@")) return [name];
  const { stdout } = await run("systemd-analyze", ["syscall-filter", "--no-pager", name]);
  const members = stdout
    .split("\n")
    .slice(1)
    .map((line) => line.trim())
    .filter((line) => line !== "" && !line.startsWith("#"));
  return (await Promise.all(members.map(callsOf))).flat();
}

import { open } from "node:fs/promises";
import { execa } from "execa";
import { describe, expect, it } from "vitest";
import manifest from "../../../package.json" with { type: "json" };
import { projectRoot } from "../../../scripts/project-root.ts";
import { PROGRAM, runProgram } from "../../cli/program.ts";

describe("the command line", () => {
  it("lists its commands with one line each", async () => {
    const { exitCode, stdout, stderr } = await runProgram(["--help"]);

    const listed = stdout.split("\n").flatMap((line) => /^ {2}([a-z]+) .* {2}\w/.exec(line)?.[1] ?? []);
    expect(listed).toEqual([
      "start",
      "serve",
      "run",
      "doctor",
      "policy",
      "action",
      "actions",
      "machines",
      "inventory",
      "discover",
      "drift",
      "record",
      "lab",
      "completion",
      "version",
      "help",
    ]);
    expect(stderr).toBe("");
    expect(exitCode).toBe(0);
  });

  it("shows the same on stderr, as a mistake, when nothing was asked of it", async () => {
    const { exitCode, stdout, stderr } = await runProgram([]);

    expect(stdout).toBe("");
    expect(stderr).toContain("action <name> [options]");
    expect(stderr).toMatch(/\nStart here:\n {2}pbnj-worker lab\n/);
    expect(exitCode).toBe(2);
  });

  it("says in one line, with an exit code of its own, that a full disk does not take its output", async () => {
    const full = await open("/dev/full", "w");
    const { exitCode, stderr } = await execa(process.execPath, [PROGRAM, "actions"], {
      stdout: full.createWriteStream(),
      reject: false,
    });
    await full.close().catch(() => undefined);

    expect(stderr).toMatch(/^pbnj-worker: the output cannot be written: ENOSPC[^\n]*$/);
    expect(exitCode).toBe(74);
  });

  it("from sources, says in one line that this Node cannot load TypeScript", async () => {
    const { exitCode, stderr } = await execa(
      process.execPath,
      ["--no-strip-types", "cli/pbnj-worker.mjs", "--help"],
      { cwd: projectRoot, reject: false },
    );

    expect(stderr).toBe(
      `pbnj-worker: Node ${process.version} cannot run the sources: use npm run -s pbnj-worker -- <command>, which has its own Node`,
    );
    expect(exitCode).toBe(2);
  });

  it.each([[[]], [["action", "power-off"]]])(
    "wraps the help of %j at the terminal's width",
    async (words) => {
      const { stdout } = await runProgram([...words, "--help"], { COLUMNS: "60" });

      expect(stdout.split("\n").filter(({ length }) => length > 60)).toEqual([]);
    },
  );

  it("says what is expected in place of an argument too many, without repeating it", async () => {
    const { exitCode, stderr } = await runProgram(["inventory", "import", "csv", "hunter2"]);

    expect(stderr.split("\n")[0]).toBe(
      "pbnj-worker inventory import: an unexpected argument: name one file, and its format with --format, as in --format csv <file>",
    );
    expect(exitCode).toBe(2);
  });

  it.each([[["--version"]], [["version"]], [["lab", "-V"]]])("says its version with %j", async (argv) => {
    const { exitCode, stdout } = await runProgram(argv);

    // Tests bundle without a commit.
    expect(stdout).toBe(`${manifest.version} (commit unknown, Node ${process.versions.node})`);
    expect(exitCode).toBe(0);
  });

  it.each([
    [["action", "power-off"], "--selector <labels>"],
    [["start"], "--grpc-server <host:port>"],
    [["policy"], "test [options] [template]"],
    [["inventory", "pin"], "--replace <name,...>"],
    [["action", "power-off"], "--soft-timeout <duration>"],
  ])("shows the help of %j", async (words, expected) => {
    const { exitCode, stdout } = await runProgram([...words, "--help"]);

    expect(stdout).toContain(expected);
    expect(exitCode).toBe(0);
  });

  it.each([[["policy", "test"]], [["action", "power-off"]]])(
    "shows the same help of %j with the word first",
    async (words) => {
      const [asked, helped] = await Promise.all([
        runProgram([...words, "--help"]),
        runProgram(["help", ...words]),
      ]);

      expect(helped).toMatchObject({ stdout: asked.stdout, exitCode: 0 });
    },
  );
});

describe("a typo", () => {
  it.each([
    [["strat"], `unknown command "strat", did you mean start?`],
    [["power-off"], `unknown command "power-off", did you mean action power-off?`],
    [["nonsense"], `unknown command "nonsense"\n`],
    [["--verison"], "unknown flag --verison, did you mean --version?"],
    [["action", "power-of"], `there is no action "power-of", did you mean power-off?`],
    [["action", "power-off", "--mod", "soft"], "unknown flag --mod, did you mean --mode?"],
    [["inventory", "imprt"], `unknown command "imprt", did you mean import?`],
    [["completion", "bsah"], `"bsah" is not one of bash, zsh, fish, did you mean bash?`],
    [["start", "--runtim", "process"], "unknown flag --runtim, did you mean --runtime?"],
  ])("%j is a usage error that says what was probably meant", async (argv, expected) => {
    const { exitCode, stderr } = await runProgram(argv);

    expect(`${stderr}\n`).toContain(expected);
    expect(exitCode).toBe(2);
  });

  it.each([[["completion"]], [["completion", "bash", "zsh"]]])("%j asks for one shell", async (argv) => {
    const { exitCode, stdout, stderr } = await runProgram(argv);

    expect(stderr).toContain("name one shell: bash, zsh, fish");
    expect(stdout).toBe("");
    expect(exitCode).toBe(2);
  });

  it.each([
    [["--bmc-password=canary-77", "action"]],
    [["action", "--bmc-password=canary-77", "power-off"]],
    [["action", "--bmc-password", "canary-77"]],
    [["actions", "--bmc-password", "canary-77"]],
    [["policy", "--bmc-password=canary-77"]],
    [["inventory", "--bmc-password", "canary-77"]],
    [["inventory", "pin", "--bmc-password", "canary-77"]],
    [["inventory", "import", "--bmc-password=canary-77", "m.csv"]],
  ])("%j does not repeat what may be a secret", async (argv) => {
    const { exitCode, stdout, stderr } = await runProgram(argv);

    expect(stdout + stderr).not.toContain("canary-77");
    expect(stderr).not.toBe("");
    expect(exitCode).toBe(2);
  });
});

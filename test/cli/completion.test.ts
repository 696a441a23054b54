import { execa } from "execa";
import { describe, expect, it } from "vitest";
import { catalogue } from "../../actions/catalogue.ts";
import { completionHome } from "../support/completion.ts";
import { runProgram } from "./program.ts";

/** Calls the completion function as bash does, and prints what it would offer, one a line. */
const CALL = `set -u
source <(pbnj-worker completion bash)
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_pbnj_worker
printf '%s\\n' "\${COMPREPLY[@]}"`;

type Home = Awaited<ReturnType<typeof completionHome>>;

function complete({ home, env }: Home, words: readonly string[]) {
  return execa("bash", ["--norc", "-c", CALL, "bash", "pbnj-worker", ...words], {
    cwd: home,
    env,
    extendEnv: false,
    timeout: 25_000,
  });
}

const COMMANDS = ["start", "run", "doctor", "policy", "action", "actions", "completion", "help"];

describe("bash completion", () => {
  it.each<[readonly string[], readonly string[]]>([
    [[""], COMMANDS],
    [["act"], ["action", "actions"]],
    [["--"], ["--help", "--version"]],
    [["help", ""], COMMANDS.slice(0, -1)],
    [
      ["help", "action", "power-o"],
      ["power-on", "power-off"],
    ],
    [["action", ""], catalogue],
    [
      ["action", "power-o"],
      ["power-on", "power-off"],
    ],
    [["action", "power-off", "--mo"], ["--mode"]],
    [
      ["action", "power-off", "--mode", ""],
      ["hard", "soft", "soft-then-hard"],
    ],
    [
      ["action", "power-off", "--mode", "=", "so"],
      ["soft", "soft-then-hard"],
    ],
    [
      ["action", "power-off", "--mode", "="],
      ["hard", "soft", "soft-then-hard"],
    ],
    [["action", "power-off", "--dry-run", "=", "t"], ["true"]],
    [["action", "power-off", "--bmc-providers", "redfish,ipmit"], ["redfish,ipmitool"]],
    [["action", "power-off", "--bmc-pass"], ["--bmc-password-file"]],
    [
      ["actions", "--output", ""],
      ["table", "json"],
    ],
    [["start", "--runtime", "d"], ["docker"]],
    [["start", "--grpc-tls", "t"], ["true"]],
    [["run", "t.yaml", "--ta"], ["--task"]],
    [
      ["doctor", "--output", ""],
      ["text", "json"],
    ],
    [["doctor", "--bm"], ["--bmc"]],
    [["doctor", "--runtime", "d"], ["docker"]],
    [["policy", ""], ["test"]],
    [["policy", "test", "t.yaml", "--name"], ["--namespace"]],
    [["policy", "test", "--pull-policy", "n"], ["never"]],
    [
      ["completion", ""],
      ["bash", "zsh", "fish"],
    ],
  ])("offers for %j: %j", async (words, expected) => {
    await using home = await completionHome();

    const { stdout, stderr } = await complete(home, words);

    expect(stdout.split("\n")).toEqual(expected);
    expect(stderr).toBe("");
  });

  it.each([[["nonsense", ""]], [["action", "nonsense", "--"]], [["action", "power-off", "--bmc-host", ""]]])(
    "offers nothing for %j",
    async (words) => {
      await using home = await completionHome();

      const { stdout, stderr } = await complete(home, words);

      expect(stdout).toBe("");
      expect(stderr).toBe("");
    },
  );

  it("prints nothing into the prompt when the program fails", async () => {
    await using home = await completionHome();
    await home.setProgram('[ "$1" = completion ] && exec cat "$HOME/script"; echo broken >&2; exit 1');
    const { stdout: script } = await runProgram(["completion", "bash"]);
    await execa("tee", [`${home.home}/script`], { input: `${script}\n`, stdout: "ignore" });

    const { stdout, stderr } = await complete(home, ["act"]);

    expect(stdout).toBe("");
    expect(stderr).toBe("");
  });
});

describe("the words for completion scripts", () => {
  it("come with descriptions where the shell shows them", async () => {
    const { stdout } = await runProgram(["complete", "fish", "--", "action", ""]);

    const [kind, ...lines] = stdout.split("\n");
    expect(kind).toBe("none");
    expect(lines).toHaveLength(catalogue.length);
    expect(lines[1]).toMatch(/^power-off\tPower a machine off, g/);
  });

  it.each([
    [["action", "power-off", "--bmc-password-file", ""], "files"],
    [["action", "power-off", "--bmc-password-file="], "files"],
    [["run", ""], "files"],
    [["policy", "test", ""], "files"],
    [["start", "--actions-directory", ""], "folders"],
    [["start", "--docker-socket", ""], "files"],
    [["start", "--grpc-server", ""], "none"],
  ])("leave paths to the shell: %j", async (words, expected) => {
    const { stdout, stderr } = await runProgram(["complete", "zsh", "--", ...words]);

    expect(stdout).toBe(expected);
    expect(stderr).toBe("");
  });

  it.each([[[]], [["bash"]], [["nonsense", "--"]], [["bash", "--", "action", "nonsense", ""]]])(
    "are no error, whatever was asked: %j",
    async (argv) => {
      const { exitCode, stderr } = await runProgram(["complete", ...argv]);

      expect(stderr).toBe("");
      expect(exitCode).toBe(0);
    },
  );
});

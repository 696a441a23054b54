import { execa } from "execa";
import { describe, expect, it } from "vitest";
import { runProgram } from "../../cli/program.ts";
import { completionHome } from "../../support/completion.ts";

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

describe("bash completion", () => {
  it.each<[readonly string[], readonly string[]]>([
    [
      ["action", "power-o"],
      ["power-off", "power-on"],
    ],
    [
      ["action", "power-off", "--mode", "=", "so"],
      ["soft", "soft-then-hard"],
    ],
    [["nonsense", ""], [""]],
  ])("offers for %j: %j", async (words, expected) => {
    await using home = await completionHome();

    const { stdout, stderr } = await complete(home, words);

    expect(stdout.split("\n")).toEqual(expected);
    expect(stderr).toBe("");
  });

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
  it.each([[[]], [["bash", "--", "action", "nonsense", ""]]])(
    "are no error, whatever was asked: %j",
    async (argv) => {
      const { exitCode, stderr } = await runProgram(["complete", ...argv]);

      expect(stderr).toBe("");
      expect(exitCode).toBe(0);
    },
  );
});

import { Command } from "commander";
import { expect, it } from "vitest";
import { readWords, unknownFlagProblem } from "../../shared/unknown-arguments.ts";

const UNEXPECTED = "an unexpected argument: every value follows its flag";

async function read(words: readonly string[], most = 1) {
  const command = new Command("any")
    .option("--inventory <file>", "")
    .option("--machine <name>", "", (value: string, earlier: readonly string[] = []) => [...earlier, value])
    .option("--bmc [machine...]", "")
    .option("--password-file <file>", "")
    .option("--dry-run", "")
    .allowUnknownOption()
    .allowExcessArguments();
  let found = {};
  command.action(() => {
    found = { ...readWords(command, { most }), options: command.opts() };
  });
  await command.parseAsync([...words], { from: "user" });
  return found;
}

it.each<readonly [string, readonly string[], { operands?: string[]; options?: object; problems?: string[] }]>(
  [
    [
      "known flags and an operand",
      ["t.yaml", "--dry-run"],
      { operands: ["t.yaml"], options: { dryRun: true } },
    ],
    [
      "a misspelt flag, whose option is set",
      ["--inventry", "x", "t.yaml"],
      {
        operands: ["t.yaml"],
        options: { inventory: "x" },
        problems: ["unknown flag --inventry, did you mean --inventory?"],
      },
    ],
    [
      "misspelt flags with several values and without one",
      ["--machnie=a", "--machine", "b", "--bcm", "c", "--dry-rnu", "t.yaml"],
      {
        operands: ["t.yaml"],
        options: { machine: ["b"], bmc: ["c"], dryRun: true },
        problems: [
          "unknown flag --machnie, did you mean --machine?",
          "unknown flag --bcm, did you mean --bmc?",
          "unknown flag --dry-rnu, did you mean --dry-run?",
        ],
      },
    ],
    [
      "a secret in place of its file, which is not read",
      ["--pasword", "hunter2"],
      { problems: ["unknown flag --pasword, did you mean --password-file?"] },
    ],
    [
      "an unknown flag, whose value is no operand",
      ["--other", "hunter2"],
      { problems: ["unknown flag --other"] },
    ],
    ["a misspelt --help", ["--hlep"], { problems: ["unknown flag --hlep, did you mean --help?"] }],
    ["too many operands", ["a", "b"], { operands: ["a", "b"], problems: [UNEXPECTED] }],
  ],
)("reads %s", async (_, words, expected) => {
  expect(await read(words)).toEqual({ operands: [], options: {}, problems: [], ...expected });
});

it("suggests the flag of a file for the secret in it, and nothing for names that are not similar", () => {
  const known = ["--http-password-file", "--user-file", "--user"];
  expect(unknownFlagProblem("--http-password", known)).toBe(
    "unknown flag --http-password, did you mean --http-password-file?",
  );
  expect(unknownFlagProblem("--usre", known)).toBe("unknown flag --usre, did you mean --user?");
  expect(unknownFlagProblem("--nonsense", known)).toBe("unknown flag --nonsense");
});

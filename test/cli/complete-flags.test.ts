import { expect, it } from "vitest";
import { completeFlags } from "../../cli/completion/complete-flags.ts";
import type { Flag } from "../../cli/completion/flag.ts";

const plain = { description: "", choices: [], list: false, repeatable: false } as const;
const flags: readonly Flag[] = [
  { ...plain, name: "--mode", value: "required", choices: ["hard", "soft"], fallback: "soft" },
  { ...plain, name: "--dry-run", value: "optional", choices: ["true", "false"] },
  { ...plain, name: "--names", value: "required", choices: ["a", "b", "c"], list: true },
  { ...plain, name: "--ca", value: "required", paths: "files" },
  { ...plain, name: "--host", value: "required" },
  { ...plain, name: "--map", value: "required", repeatable: true },
  { ...plain, name: "--help", value: "none" },
];
const all = flags.map(({ name }) => name);
const without = (...names: string[]) => all.filter((name) => !names.includes(name));

const values = (earlier: readonly string[], current: string) =>
  completeFlags(flags, earlier, current).candidates.map(({ value }) => value);

it.each([
  ["every flag at first", [], "", all],
  ["every flag after a dash", [], "-", all],
  ["no flag twice", ["--mode", "hard"], "", without("--mode")],
  ["no flag twice, given with =", ["--mode=hard"], "", without("--mode")],
  ["a repeatable flag again", ["--map", "a=b"], "", all],
  ["the choices of the flag before", ["--mode"], "", ["hard", "soft"]],
  ["the choices in the same word", [], "--mode=", ["--mode=hard", "--mode=soft"]],
  [
    "the values of a flag that may go without, and what else may come",
    ["--dry-run"],
    "",
    ["true", "false", ...without("--dry-run")],
  ],
  ["only flags after such a flag when one was begun", ["--dry-run"], "--", without("--dry-run")],
  ["flags after such a flag's value", ["--dry-run", "true"], "", without("--dry-run")],
  ["the items of a list that are left", ["--names"], "b,", ["b,a", "b,c"]],
  ["the same in one word", [], "--names=b,", ["--names=b,a", "--names=b,c"]],
  ["nothing where any text may stand", ["--host"], "", []],
  ["a value that looks like a flag as a value", ["--host", "--mode"], "", without("--host")],
  ["nothing for a flag that takes no value", [], "--help=", []],
  ["nothing for an unknown flag's value", [], "--nonsense=", []],
])("offers %s", (_, earlier, current, expected) => {
  expect(values(earlier, current)).toEqual(expected);
});

it("leaves paths to the shell", () => {
  expect(completeFlags(flags, ["--ca"], "x")).toEqual({ candidates: [], paths: "files" });
  expect(completeFlags(flags, [], "--ca=x")).toEqual({ candidates: [], paths: "files" });
});

it("says which choice is the default", () => {
  expect(completeFlags(flags, ["--mode"], "").candidates).toEqual([
    { value: "hard", description: "" },
    { value: "soft", description: "the default" },
  ]);
});

it("offers what the command takes besides flags until it is there", () => {
  const operand = { candidates: [], paths: "files" } as const;

  expect(completeFlags(flags, [], "", operand)).toEqual(operand);
  expect(completeFlags(flags, ["--mode", "hard"], "x", operand)).toEqual(operand);
  expect(completeFlags(flags, [], "--m", operand).paths).toBeUndefined();
  expect(completeFlags(flags, ["t.yaml"], "", operand).candidates).toHaveLength(all.length);
});

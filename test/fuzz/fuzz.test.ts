import { describe, expect, test } from "vitest";
import { pastFailures } from "./corpus/past-failures.ts";
import { type Finding, inputOf, problemOf, TargetFuzz } from "./fuzz.ts";
import { growthOf } from "./growth.ts";
import { readOptions } from "./options.ts";
import { corpusFindings } from "./run-fuzz.ts";
import type { Target } from "./target.ts";
import { targets } from "./targets.ts";

const SEED = 7;
const RUNS = 15;
/** `npm run fuzz` goes further; this is to be quick. */
const LONGEST = 4 * 1_024;

function findingsOf(target: Target, work: (fuzz: TargetFuzz) => void): readonly Finding[] {
  const findings: Finding[] = [];
  work(new TargetFuzz(target, SEED, (finding) => findings.push(finding)));
  return findings;
}

const broken = (call: Target["call"]): Target => ({ name: "broken", seeds: ["a"], call });

/** A seed cut off at each of its first lengths, none included, where a parser may read beyond the end. */
const cutsOf = (seed: string) =>
  Array.from({ length: Math.min(seed.length, 64) }, (_, length) => seed.slice(0, length));

describe.each(targets)("$name", (target) => {
  test("gives an answer or its own kind of error for its seeds, cut off as well, and for random inputs", () => {
    const given = target.seeds.flatMap((seed) => [...cutsOf(seed), seed]);
    expect(given.flatMap((input) => problemOf(target, input) ?? [])).toEqual([]);
    const findings = findingsOf(target, (fuzz) => {
      for (let run = 0; run < RUNS; run += 1) fuzz.run(run);
    });

    expect(findings).toEqual([]);
  });

  test("gives one for repeated and nested text, and does not fail as it did in the past", () => {
    const findings = findingsOf(target, (fuzz) => {
      for (const shape of fuzz.shapeNumbers().slice(0, 6))
        fuzz.grow(shape, Math.min(LONGEST, target.longest ?? LONGEST));
    });

    expect([...findings, ...corpusFindings(target)]).toEqual([]);
  });
});

test("targets have names of their own, and past failures name one of them", () => {
  const names = targets.map(({ name }) => name);

  expect(new Set(names).size).toBe(names.length);
  expect(pastFailures.filter(({ target }) => !names.includes(target))).toEqual([]);
});

test("a run has the same input for the same seed, and another one for another seed or number", () => {
  const [target] = targets;
  const inputs = [
    inputOf(target as Target, 1, 1),
    inputOf(target as Target, 1, 1),
    inputOf(target as Target, 1, 2),
  ];

  expect(inputs[0]).toBe(inputs[1]);
  expect(inputs[2]).not.toBe(inputs[0]);
  expect(inputOf(target as Target, 2, 1)).not.toBe(inputs[0]);
});

test("a parser that throws is found, with a short input and the command that shows it again", () => {
  const fails = broken((input) => {
    if (input.includes("%")) throw new TypeError("a percent sign");
  });

  const [finding] = findingsOf(fails, (fuzz) => {
    for (let run = 0; run < 500; run += 1) fuzz.run(run);
  });

  expect(finding).toMatchObject({
    target: "broken",
    input: "%",
    what: expect.stringContaining("a percent sign"),
  });
  expect(finding?.again).toMatch(/^npm run fuzz -- --target broken --seed 7 --run \d+$/);
});

test("a parser whose time grows with the square of the length is found, one of n log n is not", () => {
  const shape = { name: "spaces", make: (length: number) => `${" ".repeat(length)}x` };

  const search = (input: string) => void / +$/.test(input);
  // Compiled before it is measured.
  for (let time = 0; time < 3; time += 1) search(shape.make(4_096));

  const square = growthOf(shape, 16 * 1_024, search);
  const sorted = growthOf(shape, 32 * 1_024, (input) => {
    for (let time = 0; time < 8; time += 1)
      Array.from(input, (_, at) => (at * 7919) % 10_007).sort((a, b) => a - b);
  });

  expect(square.tooFast).toBe(true);
  expect(sorted.tooFast).toBe(false);
});

test.each([
  [["--seconds", "x"], "--seconds must be a whole number"],
  [["--run", "1"], "--run and --shape need --target"],
  [["--tagret", "a"], /Unknown option/],
])("the flags %j are refused", (argv, message) => {
  expect(() => readOptions(argv, () => 1)).toThrow(message);
});

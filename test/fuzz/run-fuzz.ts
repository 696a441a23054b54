import { pastFailures } from "./corpus/past-failures.ts";
import { type Finding, problemOf, TargetFuzz, type TargetReport } from "./fuzz.ts";
import { cpuMs } from "./growth.ts";
import type { Target } from "./target.ts";

export interface FuzzInput {
  readonly targets: readonly Target[];
  readonly seed: number;
  readonly run: number | undefined;
  readonly shape: number | undefined;
  /** When to end, by `performance.now`. */
  readonly deadline: number;
  /** Called before each call that may never return. */
  readonly onStep: (step: string) => void;
}

export interface FuzzResult {
  readonly findings: readonly Finding[];
  readonly reports: readonly TargetReport[];
  /** Growth checks that there was no time for. */
  readonly unchecked: number;
}

/** Two findings of one target say the same as twenty. */
const MOST_FINDINGS = 2;
/** A past failure took longer, or for ever. A busy machine doubles the time of a reader that is right. */
const PAST_FAILURE_MS = 6_000;
const RUNS_IN_A_ROW = 20;

/**
 * First the past failures, then each growth check once, in an order that the seed decides, and then runs until the time is
 * over. The growth checks get two thirds of the time at most.
 */
export function runFuzz({ targets, seed, run, shape, deadline, onStep }: FuzzInput): FuzzResult {
  const findings: Finding[] = [];
  const onFinding = (finding: Finding) => {
    if (findings.filter(({ target }) => target === finding.target).length < MOST_FINDINGS)
      findings.push(finding);
  };
  const fuzzes = targets.map((target) => ({ target, fuzz: new TargetFuzz(target, seed, onFinding) }));
  const only = run ?? shape;
  if (only !== undefined) {
    for (const { target, fuzz } of fuzzes) {
      onStep(`--target ${target.name} ${run === undefined ? "--shape" : "--run"} ${only}`);
      if (run === undefined) fuzz.grow(only);
      else fuzz.run(only);
    }
    return { findings, reports: fuzzes.map(({ fuzz }) => fuzz.report), unchecked: 0 };
  }
  for (const { target } of fuzzes) {
    onStep(`--target ${target.name}`);
    for (const finding of corpusFindings(target)) onFinding(finding);
  }

  const growthDeadline = performance.now() + ((deadline - performance.now()) * 2) / 3;
  const waiting = fuzzes.map((each) => ({ ...each, numbers: each.fuzz.shapeNumbers(), spentMs: 0 }));
  for (;;) {
    // A slow parser does not take the time of the others.
    const next = waiting
      .filter(({ numbers }) => numbers.length > 0)
      .reduce<(typeof waiting)[number] | undefined>(
        (least, each) => (least && least.spentMs <= each.spentMs ? least : each),
        undefined,
      );
    const number = next?.numbers.pop();
    if (!next || number === undefined) break;
    if (performance.now() >= growthDeadline) {
      next.numbers.push(number);
      break;
    }
    onStep(`--target ${next.target.name} --shape ${number}`);
    next.spentMs += cpuMs(() => void next.fuzz.grow(number));
  }
  const unchecked = waiting.reduce((sum, { numbers }) => sum + numbers.length, 0);

  for (let first = 0; performance.now() < deadline; first += RUNS_IN_A_ROW) {
    for (const { target, fuzz } of fuzzes) {
      for (let number = first; number < first + RUNS_IN_A_ROW; number += 1) {
        onStep(`--target ${target.name} --seed ${seed} --run ${number}`);
        fuzz.run(number);
      }
      if (performance.now() >= deadline) break;
    }
  }
  return { findings, reports: fuzzes.map(({ fuzz }) => fuzz.report), unchecked };
}

/** What is wrong with the inputs that failed in the past. */
export function corpusFindings(target: Target): readonly Finding[] {
  return pastFailures
    .filter((past) => past.target === target.name)
    .flatMap(({ why, input }) => {
      let problem: string | undefined;
      const call = () => {
        problem = problemOf(target, input);
      };
      let ms = cpuMs(call);
      if (ms > PAST_FAILURE_MS) ms = Math.min(cpuMs(call), cpuMs(call));
      if (ms > PAST_FAILURE_MS) problem ??= `takes ${Math.round(ms)} ms`;
      const again = `npm run fuzz -- --target ${target.name}`;
      return problem === undefined ? [] : [{ target: target.name, what: `${why}: ${problem}`, again }];
    });
}

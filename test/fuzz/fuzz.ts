import { textOf } from "../../shared/text-of.ts";
import { dice } from "../support/dice.ts";
import { cpuMs, growthOf, shapesOf } from "./growth.ts";
import { mutated, shrunk } from "./mutate.ts";
import type { Target } from "./target.ts";

/** Something that went wrong, with the command that shows it again. */
export interface Finding {
  readonly target: string;
  readonly what: string;
  readonly again: string;
  /** The shortest input that was found for it. */
  readonly input?: string;
}

export interface TargetReport {
  readonly target: string;
  readonly runs: number;
  readonly slowestMs: number;
  /** The largest that was measured. */
  readonly exponent: number | undefined;
  readonly shapes: number;
}

/** A run's input is a few kilobytes: nothing takes so long for it. */
const SLOW_MS = 500;
const LONGEST_SHOWN = 2_000;

/** What is wrong with one call; undefined when nothing is. */
export function problemOf(target: Target, input: string): string | undefined {
  let result: unknown;
  try {
    result = target.call(input);
  } catch (thrown) {
    if (target.throws?.(thrown)) return undefined;
    return `throws ${thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown)}`;
  }
  try {
    target.holds?.(result, input);
    return undefined;
  } catch (thrown) {
    return `breaks a promise: ${textOf(thrown)}`;
  }
}

/** The input of a run is the same for the same seed, target and number. */
export function inputOf(target: Target, seed: number, run: number): string {
  const name = [...target.name].reduce((sum, letter) => (Math.imul(sum, 31) + letter.charCodeAt(0)) | 0, 7);
  return mutated(target, dice((Math.imul(seed, 0x9e3779b1) ^ Math.imul(run, 0x85ebca6b) ^ name) | 0));
}

/** One target under test: runs and growth checks, as many as there is time for. */
export class TargetFuzz {
  readonly #target: Target;
  readonly #seed: number;
  readonly #onFinding: (finding: Finding) => void;
  #runs = 0;
  #shapes = 0;
  #slowestMs = 0;
  #exponent: number | undefined;

  constructor(target: Target, seed: number, onFinding: (finding: Finding) => void) {
    this.#target = target;
    this.#seed = seed;
    this.#onFinding = onFinding;
  }

  get report(): TargetReport {
    return {
      target: this.#target.name,
      runs: this.#runs,
      slowestMs: this.#slowestMs,
      exponent: this.#exponent,
      shapes: this.#shapes,
    };
  }

  /** The numbers of its growth checks, in an order that the seed decides. */
  shapeNumbers(): number[] {
    const roll = dice(this.#seed);
    return shapesOf(this.#target)
      .map((_, number) => ({ number, rank: roll() }))
      .toSorted((a, b) => a.rank - b.rank)
      .map(({ number }) => number);
  }

  /** One run with the input of this number. */
  run(number: number): void {
    const target = this.#target;
    const input = inputOf(target, this.#seed, number);
    let problem: string | undefined;
    const call = () => {
      problem = problemOf(target, input);
    };
    let ms = cpuMs(call);
    // The first calls compile the parser, and a collection of garbage may fall into any.
    if (ms > SLOW_MS) ms = Math.min(cpuMs(call), cpuMs(call));
    this.#runs += 1;
    this.#slowestMs = Math.max(this.#slowestMs, ms);
    const again = `npm run fuzz -- --target ${target.name} --seed ${this.#seed} --run ${number}`;
    if (problem !== undefined) {
      const least = shrunk(input, (shorter) => problemOf(target, shorter) !== undefined);
      this.#found({ target: target.name, what: problem, again, input: least });
    } else if (ms > SLOW_MS) {
      const what = `takes ${Math.round(ms)} ms for ${input.length} characters`;
      this.#found({ target: target.name, what, again, input });
    }
  }

  /** Whether time grows too fast with inputs of one shape, by its number; false when there is no such shape. */
  grow(number: number, longest = this.#target.longest ?? 128 * 1_024): boolean {
    const target = this.#target;
    const shape = shapesOf(target)[number];
    if (!shape) return false;
    let problem: { readonly what: string; readonly input: string } | undefined;
    const growth = growthOf(shape, longest, (input) => {
      const what = problemOf(target, input);
      if (what !== undefined) problem ??= { what, input };
    });
    this.#shapes += 1;
    this.#slowestMs = Math.max(this.#slowestMs, growth.ms);
    if (growth.exponent !== undefined) this.#exponent = Math.max(this.#exponent ?? 0, growth.exponent);
    const again = `npm run fuzz -- --target ${target.name} --shape ${number}`;
    if (problem) this.#found({ target: target.name, ...problem, again });
    if (growth.tooFast) {
      const { ms, length, exponent = 0 } = growth;
      const what = `${shape.name}: ${Math.round(ms)} ms for ${length} characters, which grow with n^${exponent.toFixed(1)}`;
      this.#found({ target: target.name, what, again });
    }
    return true;
  }

  #found(finding: Finding): void {
    const { input } = finding;
    const short = input !== undefined && input.length <= LONGEST_SHOWN;
    const { input: _input, ...rest } = finding;
    this.#onFinding(short ? finding : rest);
  }
}

import type { Problem } from "../../shared/document/problem.ts";
import { type GivenSetting, nameOf, settingProblem } from "./given-values.ts";
import type { ConfigCommand, Setting } from "./setting.ts";

/** A rule that involves several settings. */
export interface CrossCheck<Given> {
  /** The setting that the problem is reported for, then the others that the rule reads. */
  readonly settings: readonly [keyof Given & string, ...(keyof Given & string)[]];
  readonly broken: (settings: Given) => boolean;
  /** Commands to which the rule does not apply. */
  readonly not?: readonly ConfigCommand[];
  /** Follows the source of the reported setting; `{name}` is replaced by the name under which that setting was given. */
  readonly message: string;
}

/** A rule that a setting needs another one. */
export function needs<Name extends string, Other extends string>(
  name: Name,
  other: Other,
  message: string,
): CrossCheck<Readonly<Record<Name | Other, unknown>>> {
  return {
    settings: [name, other],
    broken: (settings) => isGiven(settings[name]) && !isGiven(settings[other]),
    message,
  };
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== false;
}

export interface CrossCheckInput<Given> {
  /** All settings. Invalid ones have their default. */
  readonly settings: Given;
  readonly invalid: ReadonlySet<string>;
  readonly given: ReadonlyMap<string, GivenSetting>;
  readonly table: readonly Setting[];
  readonly command: ConfigCommand;
}

/** Finds problems between settings. Skips rules with an invalid setting until it is fixed. */
export function crossProblems<Given>(
  checks: readonly CrossCheck<Given>[],
  input: CrossCheckInput<Given>,
): readonly Problem[] {
  const { given, table } = input;
  const called = (name: string): string => given.get(name)?.called ?? nameOf(name, table);
  return checks
    .filter(({ not }) => !not?.includes(input.command))
    .filter(({ settings }) => !settings.some((name) => input.invalid.has(name)))
    .filter((check) => check.broken(input.settings))
    .map(({ settings: [blamed], message }) => {
      const text = message.replace(/\{(\w+)\}/g, (_, name: string) => called(name));
      return settingProblem(blamed, text, given, table);
    });
}

import type { Command, Option } from "commander";
import { nearestName } from "./nearest-name.ts";

const EVERY_VALUE = "every value follows its flag";
const FILE_END = "-file";
/** Flags of every command, which commander keeps apart from the others. */
const HELP = ["--help", "-h"];

/** A known flag that a misspelt one probably means. */
export interface MeantFlag {
  readonly flag: string;
  /** Whether the word after the misspelt flag can be read as the value. False if it may be a secret instead of the file with it. */
  readonly takesWord: boolean;
}

/** Returns the flag among `known` that `name` probably means. `--password` means `--password-file`. */
export function meantFlag(name: string, known: readonly string[]): MeantFlag | undefined {
  const files = new Map(
    known.filter((flag) => flag.endsWith(FILE_END)).map((flag) => [flag.slice(0, -FILE_END.length), flag]),
  );
  const nearest = nearestName(name, [...known, ...files.keys()]);
  if (nearest === undefined) return undefined;
  if (known.includes(nearest)) return { flag: nearest, takesWord: true };
  const flag = files.get(nearest);
  return flag === undefined ? undefined : { flag, takesWord: false };
}

export function unknownFlagProblem(name: string, known: readonly string[]): string {
  const meant = meantFlag(name, known);
  return `unknown flag ${name}${meant ? `, did you mean ${meant.flag}?` : ""}`;
}

/** Arguments that a command does not take are not repeated in the problem, because any of them may be a secret. */
export function unexpectedArgument(expected = EVERY_VALUE): string {
  return `an unexpected argument: ${expected}`;
}

/** The words of a command line that are neither a known flag nor its value. */
export interface CommandWords {
  readonly operands: readonly string[];
  readonly problems: string[];
}

interface Expected {
  /** How many operands the command takes. */
  readonly most?: number;
  /** What the command takes besides flags, for the problem. */
  readonly expected?: string;
  /** Other flags that the command line may have. */
  readonly others?: readonly string[];
}

/**
 * Reads what commander has left of a command line that allows unknown options. A misspelt flag is a problem. It also sets the
 * option that it probably means, so that the command does not call that option missing; because of the problem, nothing is done
 * with it. The word after an unknown flag is probably its value and may be a secret, so it is never an operand.
 */
export function readWords(
  command: Command,
  { most = 0, expected, others = [] }: Expected = {},
): CommandWords {
  const known = [...command.options.flatMap(({ long }) => long ?? []), ...others, ...HELP];
  const words = [...command.args];
  const operands: string[] = [];
  const problems: string[] = [];
  while (words.length > 0) {
    const word = words.shift() ?? "";
    if (word === "--") operands.push(...words.splice(0));
    else if (!/^-./.test(word)) operands.push(word);
    else {
      const [name = word] = word.split("=", 1);
      problems.push(unknownFlagProblem(name, known));
      const meant = meantFlag(name, known);
      const option = command.options.find(({ long }) => long !== undefined && long === meant?.flag);
      const hasWord = words[0] !== undefined && !/^-./.test(words[0]);
      const takesValue = !option || option.required || option.optional;
      const value = word.includes("=") ? word.slice(name.length + 1) : undefined;
      const given = value ?? (takesValue && hasWord ? words.shift() : undefined);
      if (option && meant?.takesWord) setOption(command, option, given);
    }
  }
  if (operands.length > most) problems.push(unexpectedArgument(expected));
  return { operands, problems };
}

function setOption(command: Command, option: Option, value: string | undefined): void {
  const isGiven = command.getOptionValueSource(option.attributeName()) === "cli";
  if (isGiven || (option.required && value === undefined)) return;
  const flag = String(option.long);
  command.parseOptions([
    value !== undefined && (option.required || option.optional) ? `${flag}=${value}` : flag,
  ]);
}

import { suggestion } from "./nearest-name.ts";

/**
 * The problems with unknown arguments, in the form in which commander returns them.
 * What follows an unknown flag is most likely its value and may be a secret, as may any stray word: neither is
 * repeated. `expected` says what the command expects besides flags.
 */
export function unknownArgumentProblems(
  left: readonly string[],
  known: readonly string[],
  expected = "every value follows its flag",
): readonly string[] {
  const isFlag = (argument: string | undefined) =>
    argument !== undefined && /^-./.test(argument) && argument !== "--";
  return left.flatMap((argument, index) => {
    const [name = argument] = argument.split("=");
    if (isFlag(argument)) return [`unknown flag ${name}${suggestion(name, known)}`];
    const before = left[index - 1];
    return argument === "--" || (isFlag(before) && !before?.includes("="))
      ? []
      : [`an unexpected argument: ${expected}`];
  });
}

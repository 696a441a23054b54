import { suggestion } from "./nearest-name.ts";

/**
 * Returns the problems with unknown arguments, given in the form of commander. What follows an unknown flag is probably its
 * value and may be a secret, as any other word may be, so neither is repeated. `expected` says what the command expects
 * besides flags.
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

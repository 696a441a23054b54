import { defined } from "../../shared/defined.ts";
import { type Candidate, type Completion, type Flag, nothing } from "./flag.ts";

/**
 * Returns the candidates for `current`: a flag, the value of the flag before it, or the command's argument, of which there
 * is at most one.
 */
export function completeFlags(
  flags: readonly Flag[],
  earlier: readonly string[],
  current: string,
  operand: Completion = nothing,
): Completion {
  const { given, operands, pending } = read(flags, earlier);
  const [name, text] = splitFlag(current);
  if (text !== undefined) {
    const flag = flags.find((candidate) => candidate.name === name && candidate.value !== "none");
    return flag ? valuesOf(flag, text, `${name}=`) : nothing;
  }
  if (pending?.value === "required") return valuesOf(pending, current);
  const values = pending && !current.startsWith("-") ? valuesOf(pending, current) : nothing;
  if (!current.startsWith("-") && operands === 0 && operand !== nothing) return operand;
  const left = flags.filter((flag) => flag.repeatable || !given.has(flag.name));
  const named = left.map(({ name: value, description }) => ({ value, description }));
  return { candidates: [...values.candidates, ...named] };
}

/** Returns the flags given so far and the flag that expects a value next. */
function read(flags: readonly Flag[], earlier: readonly string[]) {
  const given = new Set<string>();
  let operands = 0;
  let pending: Flag | undefined;
  for (const word of earlier) {
    const taken = pending?.value === "required" || (pending && !word.startsWith("-"));
    pending = undefined;
    if (taken) continue;
    const [name, text] = splitFlag(word);
    if (!name.startsWith("-")) operands += 1;
    given.add(name);
    if (text === undefined) pending = flags.find((flag) => flag.name === name && flag.value !== "none");
  }
  return { given, operands, pending };
}

/** Splits `--mode=soft`. The value is undefined without `=`. */
function splitFlag(word: string): readonly [string, string | undefined] {
  const at = word.startsWith("--") ? word.indexOf("=") : -1;
  return at < 0 ? [word, undefined] : [word.slice(0, at), word.slice(at + 1)];
}

function valuesOf(flag: Flag, text: string, prefix = ""): Completion {
  const { choices, list, paths, fallback } = flag;
  const before = list ? text.split(",").slice(0, -1) : [];
  const left = choices.filter((choice) => !before.includes(choice));
  const candidates = left.map((choice): Candidate => {
    const value = `${prefix}${[...before, choice].join(",")}`;
    return { value, description: choice === fallback ? "the default" : "" };
  });
  return { candidates, ...defined({ paths }) };
}

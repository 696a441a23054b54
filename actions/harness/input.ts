import * as z from "zod/mini";
import { formatSeconds, parseDurationMs } from "../../shared/duration.ts";

/** How a field is shown in `--help`, README tables and registry metadata. */
export type InputType = "text" | "integer" | "boolean" | "duration" | "choice" | "list" | "file";

/** One input of an action: its environment name, from which the flag follows, and how its text is read. */
export interface InputField<T = unknown> {
  /** UPPER_SNAKE; the flag is the same in `--kebab-case`. */
  readonly env: string;
  readonly type: InputType;
  readonly description: string;
  readonly schema: z.ZodMiniType<T, string>;
  /** As the user would write it. */
  readonly default?: string;
  readonly required?: boolean;
  readonly choices?: readonly string[];
  /** A secret is never offered as a flag: command lines are public. */
  readonly secret?: boolean;
}

export type InputFields = Readonly<Record<string, InputField>>;

/** The parsed values: those with a default or required are always there. */
export type InputOf<Fields extends InputFields> = {
  readonly [Name in keyof Fields]: Fields[Name] extends { default: string } | { required: true }
    ? z.output<Fields[Name]["schema"]>
    : z.output<Fields[Name]["schema"]> | undefined;
};

export function flagOf(field: Pick<InputField, "env">): string {
  return `--${field.env.toLowerCase().replaceAll("_", "-")}`;
}

interface Common {
  readonly env: string;
  readonly description: string;
}

/** Text to a value by `read`, whose undefined means that the text is not one. */
function textAs<T>(read: (text: string) => T | undefined, expected: string): z.ZodMiniType<T, string> {
  const schema = z.pipe(
    z.string(),
    z.transform((text: string, context) => {
      const value = read(text);
      if (value === undefined) context.issues.push({ code: "custom", message: expected, input: text });
      return value;
    }),
  );
  // A pass means that `read` gave a value, which the schema's type cannot express.
  return schema as unknown as z.ZodMiniType<T, string>;
}

export const BOOLEAN_PROBLEM = "is neither true nor false";
const TRUE = ["true", "1", "yes", "on"];
const FALSE = ["false", "0", "no", "off"];

export function readBoolean(text: string): boolean | undefined {
  const word = text.trim().toLowerCase();
  if (TRUE.includes(word)) return true;
  return FALSE.includes(word) ? false : undefined;
}

export function readInteger(text: string): number | undefined {
  return /^-?\d{1,15}$/.test(text.trim()) ? Number(text) : undefined;
}

export const duration = <const O extends Common & { readonly default?: string; readonly minMs?: number }>(
  options: O,
) => ({
  ...options,
  type: "duration" as const,
  schema: textAs((text) => {
    const ms = parseDurationMs(text);
    return ms === undefined || ms < (options.minMs ?? 0) ? undefined : ms;
  }, durationExpectation(options.minMs)),
});

function durationExpectation(minMs = 0): string {
  const least = minMs > 0 ? ` of at least ${formatSeconds(minMs)}` : "";
  return `is not a duration${least}, such as 90, 90s or 1m30s`;
}

export const boolean = <const O extends Common & { readonly default?: string }>(options: O) => ({
  ...options,
  type: "boolean" as const,
  schema: textAs(readBoolean, BOOLEAN_PROBLEM),
});

export const choice = <
  const V extends string,
  const O extends Common & { readonly default?: NoInfer<V>; readonly required?: true },
>(
  choices: readonly V[],
  options: O,
) => ({
  ...options,
  type: "choice" as const,
  choices,
  schema: textAs(
    (text) => choices.find((value) => value === text.trim().toLowerCase()),
    `is not one of ${choices.join(", ")}`,
  ),
});

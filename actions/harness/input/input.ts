import * as z from "zod/mini";
import { flagOfVariable } from "../../../shared/contract/given.ts";
import { formatSeconds, parseDurationMs } from "../../../shared/duration.ts";
import { Secret } from "../../../shared/secret.ts";

/** How a field is shown in `--help`, README tables and registry metadata. */
export type InputType = "text" | "integer" | "boolean" | "duration" | "choice" | "list" | "file";

/** One input of an action: the environment variable, from which the flag is derived, and how its text is read. */
export interface InputField<T = unknown> {
  /** The variable in UPPER_SNAKE. The flag has the same name in `--kebab-case`. */
  readonly env: string;
  readonly type: InputType;
  readonly description: string;
  readonly schema: z.ZodMiniType<T, string>;
  /** The default in the form in which a user would write it. */
  readonly default?: string;
  readonly required?: boolean;
  readonly choices?: readonly string[];
  /** Whether the value is secret. A secret has no flag, because command lines are public. */
  readonly secret?: boolean;
  /** Whether the value names a file with the content. The content is never shown for `secret` and may be quoted for `text`. */
  readonly fromFile?: "secret" | "text";
  /** Whether the value names a file that the action writes. */
  readonly written?: boolean;
}

export type InputFields = Readonly<Record<string, InputField>>;

/** The parsed values. Required fields and fields with a default are always present. */
export type InputOf<Fields extends InputFields> = {
  readonly [Name in keyof Fields]: Fields[Name] extends { default: string } | { required: true }
    ? z.output<Fields[Name]["schema"]>
    : z.output<Fields[Name]["schema"]> | undefined;
};

/**
 * Names an input in the form that the user chose: `--mode` for users of flags, otherwise `MODE`. With a value, returns how
 * to set it: `--mode uefi`, `MODE=uefi`. Not for secrets, which are never flags.
 */
export type NameInput = (variable: string, value?: string) => string;

/** The name, properties and inputs of an action. `Action` adds what it does. */
export interface ActionDescription<Fields extends InputFields = InputFields> {
  /** The name of the folder and the image. */
  readonly name: string;
  /** One line for `--help`, lists and the registry. */
  readonly summary: string;
  /** Whether a second run leaves the machine in the state that the first run left. */
  readonly idempotent: boolean;
  readonly input: Fields;
  /**
   * Returns the question that a user who runs the action by hand must confirm. Undefined if nothing needs confirmation or it
   * was given.
   */
  question?(input: InputOf<NoInfer<Fields>>): string | undefined;
  /** Checks rules that span several fields. Returns problems, which name fields with `nameInput`. */
  check?(input: InputOf<NoInfer<Fields>>, nameInput: NameInput): readonly string[];
}

export function flagOf(field: Pick<InputField, "env">): string {
  return flagOfVariable(field.env);
}

interface Common {
  readonly env: string;
  readonly description: string;
}

/** Makes a schema that converts text with `read`, which returns undefined for invalid text. */
function textAs<T>(read: (text: string) => T | undefined, expected: string): z.ZodMiniType<T, string> {
  const schema = z.pipe(
    z.string(),
    z.transform((text: string, context) => {
      const value = read(text);
      if (value === undefined) context.issues.push({ code: "custom", message: expected, input: text });
      return value;
    }),
  );
  // A value that passes came from `read`, which the schema's type cannot express.
  return schema as unknown as z.ZodMiniType<T, string>;
}

export const BOOLEAN_PROBLEM = "is not true or false";
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

export const integer = <
  const O extends Common & { readonly default?: string; readonly min: number; readonly max: number },
>(
  options: O,
) => ({
  ...options,
  type: "integer" as const,
  schema: textAs((text) => {
    const value = readInteger(text);
    return value === undefined || value < options.min || value > options.max ? undefined : value;
  }, `is not a whole number from ${options.min} to ${options.max}`),
});

/** The required form of a text. The message follows the name of the value. */
interface Pattern {
  readonly pattern: RegExp;
  readonly expected: string;
}

export const text = <
  const O extends Common & Pattern & { readonly default?: string; readonly required?: true },
>(
  options: O,
) => ({
  ...options,
  type: "text" as const,
  schema: textAs((given) => {
    const value = given.trim();
    return options.pattern.test(value) ? value : undefined;
  }, options.expected),
});

/** An input read by a parser that returns undefined for invalid text. */
export const parsedText = <
  T,
  const O extends Common & {
    readonly read: (text: string) => T | undefined;
    readonly expected: string;
    readonly required?: true;
  },
>(
  options: O & { readonly read: (text: string) => T | undefined },
) => ({
  ...options,
  type: "text" as const,
  schema: textAs(options.read, options.expected),
});

/** An input with a list of items that match a pattern. */
export const list = <
  const O extends Common & Pattern & { readonly default?: string; readonly required?: true },
>(
  options: O,
) => ({
  ...options,
  type: "list" as const,
  schema: textAs((given) => {
    const items = listItems(given);
    return items.every((item) => options.pattern.test(item)) ? items : undefined;
  }, options.expected),
});

/** An input with items of a fixed vocabulary, separated by commas. */
export const choiceList = <
  const V extends string,
  const O extends Common & { readonly default?: string; readonly required?: true },
>(
  choices: readonly V[],
  options: O,
) => ({
  ...options,
  type: "list" as const,
  choices,
  schema: textAs(
    (given) => {
      const items = listItems(given.toLowerCase());
      const known = items.filter((item): item is V => choices.some((choice) => choice === item));
      return known.length === items.length ? known : undefined;
    },
    `must hold only ${choices.join(", ")}`,
  ),
});

/** Splits at commas and leaves out empty items. */
export function listItems(given: string): readonly string[] {
  return given
    .split(",")
    .map((item) => item.trim())
    .filter((item) => item !== "");
}

/** The path of a file that the action reads, whatever its content. */
export const inputFile = <const O extends Common & { readonly required?: true }>(options: O) => ({
  ...options,
  type: "file" as const,
  schema: z.string().check(z.minLength(1, { error: "is empty" })),
});

/** The path of a file that the action writes. */
export const outputFile = <const O extends Common & { readonly required?: true }>(options: O) => ({
  ...options,
  type: "file" as const,
  written: true as const,
  schema: z.string(),
});

const SecretText = z.pipe(
  z.string().check(z.minLength(1, { error: "is empty" })),
  z.transform((given: string) => new Secret(given)),
);

/** A secret in the environment, which has no flag. */
export const secret = <const O extends Common>(options: O) => ({
  ...options,
  type: "text" as const,
  secret: true as const,
  schema: SecretText,
});

/** A secret in a file. A line break at the end of the file is not part of it. */
export const secretFile = <const O extends Common>(options: O) => ({
  ...options,
  type: "file" as const,
  fromFile: "secret" as const,
  schema: SecretText,
});

/** A document in a file, or on stdin for `-`. */
export const textFile = <const O extends Common>(options: O) => ({
  ...options,
  type: "file" as const,
  fromFile: "text" as const,
  schema: z.string(),
});

import { z } from "zod";
import { parseDurationMs } from "../../shared/duration.ts";

/** Non-empty text. A number in a file is not text, because `007` would lose its zeros. */
export const Text = z.string().trim().min(1);

const YES = new Set(["true", "t", "1", "yes", "on"]);
const NO = new Set(["false", "f", "0", "no", "off"]);

/** A YAML boolean, or one of the words that flags and environment variables use. */
export const Toggle = reading<boolean | string, boolean>(
  [z.boolean(), z.string()],
  "must be true or false",
  (given) => {
    if (typeof given === "boolean") return given;
    const word = given.trim().toLowerCase();
    return YES.has(word) ? true : NO.has(word) ? false : undefined;
  },
);

/** A duration as text or as a number of seconds, parsed to milliseconds. Bounds are in milliseconds, inclusive. */
export function Duration(leastMs: number, mostMs: number) {
  return measure(
    `must be a duration such as 45s or 1m30s, from ${words(leastMs)} to ${words(mostMs)}`,
    (text) => parseDurationMs(text) ?? Number.NaN,
    leastMs,
    mostMs,
  );
}

/** A decimal number with inclusive bounds. */
export function Amount(least: number, most: number) {
  return measure(`must be a number from ${least} to ${most}`, decimal, least, most);
}

/** A whole number with inclusive bounds. */
export function Count(least: number, most: number) {
  const whole = (text: string) => (Number.isInteger(decimal(text)) ? decimal(text) : Number.NaN);
  return measure(`must be a whole number from ${least} to ${most}`, whole, least, most);
}

const BYTE_UNITS: Readonly<Record<string, number>> = { "": 1, k: 1_024, m: 1_024 ** 2, g: 1_024 ** 3 };

/** A size in bytes, with units of 1024 as in container engines: `256Mi`, `256m`, `1g`. */
export function ByteSize(least: number, most: number) {
  const bytesOf = (text: string) => {
    const [, amount, unit = ""] = /^(\d+(?:\.\d+)?)([kmg]?)(?:i?b)?i?$/i.exec(text.trim()) ?? [];
    return Math.round(Number(amount) * (BYTE_UNITS[unit.toLowerCase()] ?? Number.NaN));
  };
  return measure("must be a size such as 256Mi or 1Gi", bytesOf, least, most);
}

/** A container's memory in bytes. Engines do not accept less than the minimum. */
export const ContainerMemory = ByteSize(6 * 1_024 ** 2, 1_024 ** 4);
/** A container's processors; fractions are allowed. */
export const ContainerCpus = Amount(0.01, 1_024);
/** A container's processes and threads. */
export const ContainerPids = Count(1, 4_194_304);

/** A list, or one text with commas between the items. Empty items are dropped. */
export function List<Item extends z.ZodType<unknown, string>>(item: Item) {
  return z
    .union([z.string(), z.array(z.string())], { error: "must be a list of text" })
    .transform((given) =>
      [given]
        .flat()
        .flatMap((text) => text.split(","))
        .map((text) => text.trim())
        .filter((text) => text !== ""),
    )
    .pipe(z.array(item))
    .transform((items) => [...new Set(items)]);
}

/** Text or a number with inclusive bounds; `read` returns NaN for invalid text. */
function measure(expectation: string, read: (text: string) => number, least: number, most: number) {
  return reading<string | number, number>([z.string(), z.number()], expectation, (given) => {
    const value = read(String(given));
    return value >= least && value <= most ? value : undefined;
  });
}

function reading<Input, Output>(
  inputs: readonly [z.ZodType<Input>, ...z.ZodType<Input>[]],
  expectation: string,
  read: (given: Input) => Output | undefined,
) {
  return z.union(inputs, { error: expectation }).transform((given, context) => {
    const value = read(given);
    if (value !== undefined) return value;
    context.issues.push({ code: "custom", message: expectation, input: given });
    return z.NEVER;
  });
}

function decimal(given: string): number {
  const text = given.trim();
  return /^\d+(\.\d+)?$/.test(text) ? Number(text) : Number.NaN;
}

function words(ms: number): string {
  const units = [
    ["h", 3_600_000],
    ["m", 60_000],
    ["s", 1_000],
  ] as const;
  const unit = units.find(([, size]) => ms >= size && ms % size === 0);
  return unit ? `${ms / unit[1]}${unit[0]}` : `${ms}ms`;
}

/** An image reference with `{action}` and optionally `{version}`. */
export const ActionImage = z
  .string()
  .trim()
  .regex(/^[^\s{}]*\{action\}([^\s{}]|\{version\})*$/, {
    error: "must be an image with {action} once, such as registry.example/pbnj/{action}:{version}",
  });

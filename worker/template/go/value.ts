/**
 * A value of Go's templates. Whole numbers of a template are bigint; those of JSON are number, because Go uses float64 for
 * them.
 */
export type Value =
  | string
  | boolean
  | bigint
  | number
  | null
  | undefined
  | readonly Value[]
  | { readonly [key: string]: Value };

export type ValueMap = Readonly<Record<string, Value>>;

/** An error in a template that appears when it is rendered. */
export class RenderProblem extends Error {
  override readonly name = "RenderProblem";
}

export function isMap(value: Value): value is ValueMap {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function isList(value: Value): value is readonly Value[] {
  return Array.isArray(value);
}

/** Whether Go's `if` treats a value as true. 0, false, nil and empty values are false. */
export function isTrue(value: Value): boolean {
  if (isList(value)) return value.length > 0;
  if (isMap(value)) return Object.keys(value).length > 0;
  return Boolean(value);
}

/** Formats a value like Go's `%v`. */
export function printed(value: Value): string {
  if (value === null || value === undefined) return "<no value>";
  if (typeof value === "number") return goFloat(value);
  if (isList(value)) return `[${value.map(nested).join(" ")}]`;
  if (isMap(value))
    return `map[${sortedKeys(value)
      .map((key) => `${key}:${nested(value[key])}`)
      .join(" ")}]`;
  return String(value);
}

function nested(value: Value): string {
  return value === null || value === undefined ? "<nil>" : printed(value);
}

export function sortedKeys(map: ValueMap): readonly string[] {
  return Object.keys(map).toSorted((a, b) => (a < b ? -1 : 1));
}

/**
 * Formats a number like `%g` with the fewest digits. JavaScript uses an exponent from 1e+21 on, Go from 1e+06 or the number
 * of digits on.
 */
function goFloat(value: number): string {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "NaN" : value > 0 ? "+Inf" : "-Inf";
  const [mantissa = "", exponentText = "0"] = value.toExponential().split("e");
  const exponent = Number(exponentText);
  if (value !== 0 && (exponent < -4 || exponent >= 21)) return exponential(mantissa, exponent);
  const digits = mantissa.replace(/[-.]/g, "").length;
  if (exponent >= Math.max(6, digits > exponent ? digits : 6)) return exponential(mantissa, exponent);
  return String(value);
}

function exponential(mantissa: string, exponent: number): string {
  return `${mantissa}e${exponent < 0 ? "-" : "+"}${String(Math.abs(exponent)).padStart(2, "0")}`;
}

/** Plain data from YAML or JSON. Dates and similar values become text. */
export function plainValue(data: unknown): Value {
  if (Array.isArray(data)) return data.map(plainValue);
  if (typeof data === "object" && data !== null) {
    return Object.fromEntries(Object.entries(data).map(([key, inner]) => [key, plainValue(inner)]));
  }
  const isPlain = typeof data === "string" || typeof data === "boolean" || typeof data === "number";
  return isPlain || data === null || data === undefined ? data : String(data);
}

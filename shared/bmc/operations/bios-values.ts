import { isBiosPassword } from "../../contract/bios-attributes.ts";
import { BmcError } from "../../contract/bmc-error.ts";
import { suggestion } from "../../nearest-name.ts";
import {
  attributeValue,
  type BiosAttributes,
  type BiosProperty,
  type BiosRegistry,
  type BiosRegistryAttribute,
  type BiosType,
  type BiosValue,
  type EffectiveProperty,
  effectiveProperties,
} from "./bios-registry.ts";

/** The largest number of values of an enumeration to list in an error. */
const MOST_LISTED = 16;

/** The largest number of suggestions, each of which compares a name with all names of the BIOS. */
const MOST_SUGGESTIONS = 8;

/** Describes unknown attributes, the first of them with the nearest known name. */
export function unknownBiosAttribute(
  given: string,
  names: readonly string[],
  problemsBefore: number,
): string {
  return `the BIOS has no ${given}${problemsBefore < MOST_SUGGESTIONS ? suggestion(given, names) : ""}`;
}

/** The description of an attribute that is not in the registry. */
const UNDESCRIBED = { values: [], properties: {} } as const;

/**
 * Converts the requested values to those of the BMC's BIOS: names in the BIOS's case, values by name or display name, text
 * as a number if the attribute is numeric. Throws `usage` with all problems. What the registry lacks is taken from `next`,
 * the values from the next boot on; `inForce` has the current values.
 */
export function checkBiosValues(
  asked: BiosAttributes,
  next: BiosAttributes,
  registry: BiosRegistry | undefined,
  inForce: BiosAttributes = next,
): BiosAttributes {
  const problems: string[] = [];
  const names = [...new Set([...(registry?.attributes.keys() ?? []), ...Object.keys(next)])];
  const checked = new Map<string, BiosValue>();
  for (const [given, value] of Object.entries(asked)) {
    const name = nameIn(names, given);
    if (name === undefined) {
      problems.push(unknownBiosAttribute(given, names, problems.length));
      continue;
    }
    const described = registry?.attributes.get(name) ?? { ...UNDESCRIBED, type: typeIn(next, name) };
    const typed = typedValue(name, value, described);
    if (typeof typed === "object") problems.push(`${name} ${typed.problem}`);
    else if (checked.has(name)) problems.push(`${name} is given twice`);
    else checked.set(name, typed);
  }
  const values = Object.fromEntries(checked);
  if (registry) problems.push(...limitProblems(values, { next, inForce }, registry));
  if (problems.length > 0) throw new BmcError("usage", problems.join("; "));
  return values;
}

/** Returns the name itself, or the only one that differs only in case. */
export function nameIn(names: readonly string[], given: string): string | undefined {
  if (names.includes(given)) return given;
  const similar = names.filter((name) => name.toLowerCase() === given.toLowerCase());
  return similar.length === 1 ? similar[0] : undefined;
}

function typeIn(attributes: BiosAttributes, name: string): BiosType {
  const value = attributeValue(attributes, name);
  if (typeof value === "boolean") return "Boolean";
  return typeof value === "number" ? "Integer" : "String";
}

interface Problem {
  readonly problem: string;
}

function typedValue(
  name: string,
  value: BiosValue,
  { type, values }: BiosRegistryAttribute,
): BiosValue | Problem {
  if (type === "Password" || isBiosPassword(name)) {
    return {
      problem: "is a password, which a template must not hold: set it in the BIOS or with the vendor's tool",
    };
  }
  const text = String(value);
  switch (type) {
    case "Boolean":
      if (/^(true|false)$/i.test(text)) return text.toLowerCase() === "true";
      return { problem: `is true or false, not ${text}` };
    case "Integer":
      if (/^-?\d{1,15}$/.test(text)) return Number(text);
      return { problem: `is a whole number, not ${text}` };
    case "Enumeration":
      return enumerated(text, values);
    default:
      return text;
  }
}

function enumerated(text: string, values: BiosRegistryAttribute["values"]): BiosValue | Problem {
  const key = text.toLowerCase();
  const exact = values.find(({ name }) => name === text);
  const similar = values.filter(({ name, displayName }) =>
    [name, displayName].some((each) => each?.toLowerCase() === key),
  );
  const found = exact ?? (similar.length === 1 ? similar[0] : undefined);
  if (found) return found.name;
  // A registry without the list of values cannot tell what is wrong.
  if (values.length === 0) return text;
  const more = values.length > MOST_LISTED ? " and others" : "";
  const listed = values.slice(0, MOST_LISTED).map(({ name }) => name);
  return { problem: `is ${listed.join(", ")}${more}, not ${text}` };
}

/**
 * Returns problems with limits and read-only flags, as they apply once all requested values are set. Checks only values that
 * change.
 */
function limitProblems(
  values: BiosAttributes,
  { next, inForce }: { readonly next: BiosAttributes; readonly inForce: BiosAttributes },
  registry: BiosRegistry,
): readonly string[] {
  const propertyOf = effectiveProperties(registry, { ...next, ...values }, inForce);
  return Object.entries(values).flatMap(([name, value]) => {
    if (attributeValue(next, name) === value) return [];
    const isText = registry.attributes.get(name)?.type === "String";
    const problem =
      lockProblem((property) => propertyOf(name, property)) ??
      (isText ? lengthProblem : rangeProblem)(value, (property) => {
        const limit = propertyOf(name, property).value;
        return typeof limit === "number" ? limit : undefined;
      });
    return problem === undefined ? [] : [`${name} ${problem}`];
  });
}

function lockProblem(propertyOf: (property: BiosProperty) => EffectiveProperty): string | undefined {
  for (const property of ["Immutable", "ReadOnly", "Hidden"] as const) {
    const { value: isSet, because } = propertyOf(property);
    // Hidden by itself concerns user interfaces only (DSP0268), and what another value hides has no effect.
    if (isSet !== true || (property === "Hidden" && because === undefined)) continue;
    const kind = property === "Hidden" ? "without effect" : "read-only";
    return `is ${kind}${because === undefined ? "" : ` because of ${because}`}`;
  }
  return undefined;
}

/** Returns a numeric property if the registry has one. */
type LimitOf = (property: BiosProperty) => number | undefined;

function lengthProblem(value: BiosValue, limit: LimitOf): string | undefined {
  const { length } = String(value);
  const [low, high] = [limit("MinLength"), limit("MaxLength")];
  const isOutside = length < (low ?? length) || length > (high ?? length);
  return isOutside ? `has ${range(low, high)} characters` : undefined;
}

function rangeProblem(value: BiosValue, limit: LimitOf): string | undefined {
  if (typeof value !== "number") return undefined;
  const [low, high, step = 0] = [limit("LowerBound"), limit("UpperBound"), limit("ScalarIncrement")];
  if (value < (low ?? value) || value > (high ?? value)) return `is ${range(low, high)}, not ${value}`;
  if (step <= 1 || (value - (low ?? 0)) % step === 0) return undefined;
  return `is ${low ?? 0} plus a multiple of ${step}, not ${value}`;
}

function range(low: number | undefined, high: number | undefined): string {
  if (high === undefined) return `at least ${low}`;
  return low === undefined ? `at most ${high}` : `${low} to ${high}`;
}

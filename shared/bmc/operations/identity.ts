import { BmcError } from "../../contract/bmc-error.ts";

/** Fields with values that are unique among the machines, parts, keys or users of a BMC. */
const UNIQUE = ["SerialNumber", "UUID", "MACAddress", "UserName", "Fingerprint"] as const;
/** Fields that name a resource. BMCs reuse the name or ID of a resource that is gone. */
const NAMING = ["Id", "Name", "Subject", "MediaTypes"] as const;
const FIELDS = [...UNIQUE, ...NAMING];
type Field = (typeof FIELDS)[number];

/**
 * The fields that distinguish a resource from others, wherever the BMC lists it. A field that the BMC does not report is
 * absent.
 */
export type Identity = Readonly<Partial<Record<Field, string>>>;

/** Values of boards in which the manufacturer has not filled in a field. */
const PLACEHOLDER =
  /^([0f\W]*|n\/?a|null|none|unknown|not (specified|available|applicable)|default string|to be filled by o\.?e\.?m\.?|0?123456789)$/i;

/** Returns the fields of a resource that identify it. */
export function identityIn(body: unknown): Identity {
  const values = Object(body) as Readonly<Record<string, unknown>>;
  return Object.fromEntries(
    FIELDS.flatMap((field) => {
      const value = values[field];
      const text = typeof value === "string" ? value.trim() : "";
      const isNaming = (NAMING as readonly string[]).includes(field);
      return text === "" || (!isNaming && field !== "UserName" && PLACEHOLDER.test(text))
        ? []
        : [[field, text]];
    }),
  );
}

/**
 * Describes how the current resource differs from the one that was read before. Returns undefined if it is the same, or if
 * nothing is known about the earlier one. If a unique field is gone, the resource is unknown, which counts as different if
 * `strict`.
 */
export function differenceOf(before: Identity, now: Identity, strict = true): string | undefined {
  const known = FIELDS.filter((field) => before[field] !== undefined);
  const other = known.find((field) => now[field] !== undefined && !isEqual(field, before, now));
  if (other) return `${other} ${now[other]}, not ${before[other]}`;
  const unique = known.filter((field) => (UNIQUE as readonly string[]).includes(field));
  const telling = unique.length > 0 ? unique : known;
  const [missing] = telling;
  if (!strict || missing === undefined || telling.some((field) => now[field] !== undefined)) return undefined;
  return `no ${missing}, not ${before[missing]}`;
}

/** Compares values. Hex digits are compared without case, names with it. */
function isEqual(field: Field, before: Identity, now: Identity): boolean {
  const spelling = (text = "") => (field === "UserName" || field === "Name" ? text : text.toLowerCase());
  return spelling(before[field]) === spelling(now[field]);
}

/** The error if the target of a write has moved or was replaced. Nothing was sent. */
export class TargetMoved extends BmcError {
  constructor(what: string, place: string, difference: string) {
    super("verify", `${what} is no longer at ${place}, which has ${difference}: nothing was sent there`);
  }
}

/**
 * Finds the target and sends the write. If the target has moved since it was found, it is searched for once more; `again`
 * tells the search that the known place is outdated.
 */
export async function sendToTarget<T>(send: (again: boolean) => Promise<T>): Promise<T> {
  try {
    return await send(false);
  } catch (thrown) {
    if (!(thrown instanceof TargetMoved)) throw thrown;
    return await send(true);
  }
}

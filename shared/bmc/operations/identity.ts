import { BmcError } from "../../contract/bmc-error.ts";

/** Fields that no two machines, parts, keys or users of one BMC share. */
const UNIQUE = ["SerialNumber", "UUID", "MACAddress", "UserName", "Fingerprint"] as const;
/** Fields that name a resource. BMCs give the name or ID of one that is gone to another. */
const NAMING = ["Id", "Name", "Subject", "MediaTypes"] as const;
const FIELDS = [...UNIQUE, ...NAMING];
type Field = (typeof FIELDS)[number];

/** What tells a resource from others, wherever the BMC lists it. A field that the BMC does not report is absent. */
export type Identity = Readonly<Partial<Record<Field, string>>>;

/** What boards show whose maker has not filled a field in. */
const PLACEHOLDER =
  /^([0f\W]*|n\/?a|null|none|unknown|not (specified|available|applicable)|default string|to be filled by o\.?e\.?m\.?|0?123456789)$/i;

/** The fields of a resource that identify it. */
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
 * How the resource that is there now differs from the one that was read before; undefined if it is the same, or if nothing is
 * known of the one before. A unique field that is gone leaves the resource unknown, which counts as another one if `strict`.
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

/** Hex has no case, and names have. */
function isEqual(field: Field, before: Identity, now: Identity): boolean {
  const spelling = (text = "") => (field === "UserName" || field === "Name" ? text : text.toLowerCase());
  return spelling(before[field]) === spelling(now[field]);
}

/** What a write was meant for is not at its place any more, or is another one. Nothing was sent. */
export class TargetMoved extends BmcError {
  constructor(what: string, place: string, difference: string) {
    super("verify", `${what} is no longer at ${place}, which has ${difference}: nothing was sent there`);
  }
}

/**
 * Finds the target and sends the write. A target that has moved since it was found is searched for once more; `again` tells the
 * search that what was known of its place is out of date.
 */
export async function sendToTarget<T>(send: (again: boolean) => Promise<T>): Promise<T> {
  try {
    return await send(false);
  } catch (thrown) {
    if (!(thrown instanceof TargetMoved)) throw thrown;
    return await send(true);
  }
}

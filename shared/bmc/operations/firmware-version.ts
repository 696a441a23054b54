const MONTH = "(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\\.?";
/** A date after a version: `1.73 Jun 01 2026`, `2.83 2023-07-05`, `v2.20 (03/01/2024)`. */
const DATE = new RegExp(
  `[\\s(,]+(${MONTH} \\d{1,2},? \\d{4}|\\d{1,2} ${MONTH} \\d{4}|\\d{4}-\\d{2}-\\d{2}|\\d{2}/\\d{2}/\\d{4})\\)?$`,
  "i",
);

/**
 * Compares two versions part by part, with numbers as numbers: negative if `a` is older, 0 if they are equal. A missing
 * number counts as 0. A date after the version decides only if both have one. Returns undefined if they are not of the same
 * kind, such as `iLO 5 v2.72` and `2.73`.
 */
export function compareVersions(a: string, b: string): number | undefined {
  const [left, right] = [withoutDate(a), withoutDate(b)];
  const order = compareParts(partsOf(left.version), partsOf(right.version));
  if (order !== 0 || left.ms === undefined || right.ms === undefined) return order;
  return Math.sign(left.ms - right.ms);
}

function withoutDate(text: string): { readonly version: string; readonly ms: number | undefined } {
  const trimmed = text.trim();
  const date = DATE.exec(trimmed);
  const ms = Date.parse(date?.[1] ?? "");
  if (date === null || Number.isNaN(ms)) return { version: trimmed, ms: undefined };
  return { version: trimmed.slice(0, date.index), ms };
}

function compareParts(left: readonly string[], right: readonly string[]): number | undefined {
  for (let at = 0; at < Math.max(left.length, right.length); at += 1) {
    const order = comparePart(left[at] ?? "0", right[at] ?? "0", at);
    if (order !== 0) return order;
  }
  return 0;
}

const partsOf = (version: string) =>
  version
    .trim()
    .toLowerCase()
    .replace(/^v(?=\d)/, "")
    .match(/\d+|[a-z]+/g) ?? [];

function comparePart(a: string, b: string, at: number): number | undefined {
  const [isNumber, isOther] = [/^\d/.test(a), /^\d/.test(b)];
  if (isNumber !== isOther) return undefined;
  // Words at the beginning are the name of the product.
  if (!isNumber) return a === b ? 0 : at === 0 ? undefined : a < b ? -1 : 1;
  const [left, right] = [a.replace(/^0+/, ""), b.replace(/^0+/, "")];
  if (left === right) return 0;
  // Too long for a number, so compared as text.
  return left.length - right.length || (left < right ? -1 : 1);
}

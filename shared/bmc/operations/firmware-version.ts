/**
 * Orders two versions by their parts, numbers as numbers: negative if `a` is older, 0 if they are equal. A missing number
 * counts as 0. Undefined if they are not of one kind, such as `iLO 5 v2.72` and `2.73`.
 */
export function compareVersions(a: string, b: string): number | undefined {
  const [left, right] = [partsOf(a), partsOf(b)];
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
  // Words at the beginning name the product.
  if (!isNumber) return a === b ? 0 : at === 0 ? undefined : a < b ? -1 : 1;
  const [left, right] = [a.replace(/^0+/, ""), b.replace(/^0+/, "")];
  if (left === right) return 0;
  // Longer than a number can be: compared as text.
  return left.length - right.length || (left < right ? -1 : 1);
}

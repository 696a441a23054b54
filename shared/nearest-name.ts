/** Longer names are not compared: a typo is never that long, and the work grows with the square. */
const LONGEST_NAME = 128;

/**
 * The name in `known` that `name` probably means; undefined if none is similar. Case, hyphens and underscores do not count,
 * so `grpc-server` finds `grpcServer`. Among equally similar names, one that begins with `name` wins: `power-of` finds
 * `power-off`, not `power-on`.
 */
export function nearestName(name: string, known: Iterable<string>): string | undefined {
  const folded = fold(name);
  if (folded.length > LONGEST_NAME) return undefined;
  const furthest = Math.floor(folded.length / 3);
  let nearest: string | undefined;
  let least = Number.POSITIVE_INFINITY;
  for (const candidate of known) {
    const other = fold(candidate);
    if (Math.abs(other.length - folded.length) > furthest) continue;
    const distance = editDistance(folded, other);
    // Half a step decides between equal distances and cannot outweigh a whole one.
    const rank = distance - (other.startsWith(folded) ? 0.5 : 0);
    if (distance <= furthest && rank < least) {
      least = rank;
      nearest = candidate;
    }
  }
  return nearest;
}

/** The end of a sentence, `, did you mean x?`, or an empty text. */
export function suggestion(name: string, known: Iterable<string>): string {
  const nearest = nearestName(name, known);
  return nearest === undefined ? "" : `, did you mean ${nearest}?`;
}

function fold(name: string): string {
  return name.toLowerCase().replace(/[-_]/g, "");
}

/** The number of insertions, deletions, replacements and swaps of neighbours that turn `a` into `b`. */
function editDistance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row++) {
    const current = [row];
    for (let column = 1; column <= b.length; column++) {
      const same = a[row - 1] === b[column - 1];
      const choices = [
        at(last, column) + 1,
        at(current, column - 1) + 1,
        at(last, column - 1) + (same ? 0 : 1),
      ];
      if (row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1]) {
        choices.push(at(beforeLast, column - 2) + 1);
      }
      current.push(Math.min(...choices));
    }
    beforeLast = last;
    last = current;
  }
  return at(last, b.length);
}

function at(row: readonly number[], column: number): number {
  return row[column] ?? Number.POSITIVE_INFINITY;
}

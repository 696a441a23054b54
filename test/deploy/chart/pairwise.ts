import { dice } from "../../support/dice.ts";

/** The options of each dimension, by name. */
export type Dimensions<T> = Readonly<Record<string, Readonly<Record<string, T>>>>;

/** One option of each dimension, by the dimension's name. */
export type Row = Readonly<Record<string, string>>;

export interface Pairwise {
  readonly rows: readonly Row[];
  /** Pairs of options that no allowed row was found for. */
  readonly uncovered: readonly string[];
}

/** So many rows in turn bring nothing new: what is left cannot be, or is looked for pair by pair. */
const TRIES = 60;
const TRIES_FOR_A_PAIR = 3_000;

/** Few rows that hold every pair of options of two dimensions, among those that are allowed. Always the same ones. */
export function pairwise<T>(dimensions: Dimensions<T>, isAllowed: (row: Row) => boolean): Pairwise {
  const random = dice(20);
  const names = Object.keys(dimensions);
  const optionsOf = (name: string): readonly string[] => Object.keys(dimensions[name] ?? {});
  const randomRow = (fixed: Row = {}): Row =>
    Object.fromEntries(
      names.map((name) => [
        name,
        fixed[name] ?? optionsOf(name)[Math.floor(random() * optionsOf(name).length)] ?? "",
      ]),
    );
  const left = new Map<string, Row>();
  for (const [index, one] of names.entries()) {
    for (const other of names.slice(index + 1)) {
      for (const a of optionsOf(one)) {
        for (const b of optionsOf(other)) left.set(pairName(one, a, other, b), { [one]: a, [other]: b });
      }
    }
  }
  const gain = (row: Row): readonly string[] => pairsOf(row, names).filter((pair) => left.has(pair));
  const rows: Row[] = [];
  const take = (row: Row): void => {
    rows.push(row);
    for (const pair of pairsOf(row, names)) left.delete(pair);
  };

  for (;;) {
    const candidates = Array.from({ length: TRIES }, () => randomRow()).filter(isAllowed);
    const best = candidates.toSorted((a, b) => gain(b).length - gain(a).length)[0];
    if (!best || gain(best).length < names.length) break;
    take(best);
  }
  for (const [pair, fixed] of [...left]) {
    if (!left.has(pair)) continue;
    for (let tries = 0; tries < TRIES_FOR_A_PAIR; tries += 1) {
      const row = randomRow(fixed);
      if (!isAllowed(row)) continue;
      take(row);
      break;
    }
  }
  return { rows, uncovered: [...left.keys()] };
}

function pairsOf(row: Row, names: readonly string[]): readonly string[] {
  return names.flatMap((one, index) =>
    names.slice(index + 1).map((other) => pairName(one, row[one] ?? "", other, row[other] ?? "")),
  );
}

function pairName(one: string, a: string, other: string, b: string): string {
  return `${one}=${a} ${other}=${b}`;
}

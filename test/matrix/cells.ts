import { dice } from "../support/dice.ts";
import type { CellFault } from "./lab.ts";
import type { Way } from "./ways.ts";

/** One run of the matrix. */
export interface Cell {
  readonly action: string;
  readonly way: Way;
  readonly fault: CellFault;
}

/** An action by one way, with the faults that each of its answers can have; `problem` says why there are none. */
export interface Row {
  readonly action: string;
  readonly way: Way;
  readonly faults: readonly (readonly string[])[];
  /** The way cannot do the action, or nothing of it changes the machine. */
  readonly isLeftOut: boolean;
  readonly problem?: string | undefined;
}

export const nameOf = ({ action, way, fault: { at, name } }: Cell) => `${action}/${way}/${at}/${name}`;

export function cellsOf({ action, way, faults }: Row): readonly Cell[] {
  return faults.flatMap((names, index) =>
    names.map((name) => ({ action, way, fault: { at: index + 1, name } })),
  );
}

/** Whether a name begins with these parts. */
export function isMeant(name: string, only: string | undefined): boolean {
  return only === undefined || `${name}/`.startsWith(`${only.replace(/\/$/, "")}/`);
}

/** Whether anything below an action and way may be meant. */
export function mayBeMeant(row: string, only: string | undefined): boolean {
  return isMeant(row, only) || (only !== undefined && isMeant(only, row));
}

/** Shuffles a list, alike for equal seeds. */
export function shuffled<T>(all: readonly T[], seed: number): readonly T[] {
  const roll = dice(seed);
  return all
    .map((one) => ({ one, at: roll() }))
    .toSorted((a, b) => a.at - b.at)
    .map(({ one }) => one);
}

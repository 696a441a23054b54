import type { Cell } from "./cells.ts";
import type { ViolationKind } from "./judge.ts";

interface Exception {
  /** Names of actions, ways and faults; any when absent. */
  readonly actions?: readonly string[];
  readonly ways?: readonly string[];
  readonly faults?: readonly string[];
  /** What the faulty request is. */
  readonly request?: RegExp;
  readonly kinds: readonly ViolationKind[];
  /** Why no client can do better. */
  readonly reason: string;
}

/** What cannot be told from the answers, however they are read. */
export const EXCEPTIONS: readonly Exception[] = [];

/** The reason why this violation is allowed. */
export function exceptionFor(cell: Cell, hit: string | undefined, kind: ViolationKind): Exception | undefined {
  const has = (names: readonly string[] | undefined, name: string) => names?.includes(name) ?? true;
  return EXCEPTIONS.find(
    ({ actions, ways, faults, request, kinds }) =>
      has(actions, cell.action) &&
      has(ways, cell.way) &&
      has(faults, cell.fault.name) &&
      kinds.includes(kind) &&
      (request?.test(hit ?? "") ?? true),
  );
}

import { COMMON_INPUTS, ENTRIES } from "./catalogue-entries.ts";
import type { Action } from "./harness/action.ts";

/** What a program knows of an action without loading it. */
interface CatalogueEntry {
  /** Whether it is safe to run it twice. */
  readonly idempotent: boolean;
  /** Variables that are inputs of this action, beside the common ones. */
  readonly inputs: readonly string[];
  readonly load: () => Promise<{ readonly default: unknown }>;
}

const entries: ReadonlyMap<string, CatalogueEntry> = new Map(Object.entries(ENTRIES));

/** The names of all actions. */
export const catalogue: readonly string[] = [...entries.keys()];

/** The actions that a policy may let repeat themselves. */
export const idempotentNames: readonly string[] = catalogue.filter((name) => entries.get(name)?.idempotent);

/** The variables that are inputs of at least one action. */
export const inputNames: readonly string[] = [
  ...new Set([...COMMON_INPUTS, ...[...entries.values()].flatMap(({ inputs }) => inputs)]),
];

export async function loadAction(name: string): Promise<Action | undefined> {
  const loaded = await entries.get(name)?.load();
  return loaded?.default as Action | undefined;
}

import { readdir } from "node:fs/promises";
import type { Action } from "../actions/harness/action.ts";
import { commonNames } from "../actions/harness/input/environment.ts";
import type { ActionReference } from "../actions/harness/input/reference.ts";

export const CATALOGUE_FILE = "actions/catalogue-entries.ts";
const ACTIONS = new URL("../actions/", import.meta.url);

const entries = await readdir(ACTIONS, { withFileTypes: true });

/** The folders that hold an action. */
export const actionFolders: readonly string[] = entries
  .filter((entry) => entry.isDirectory() && entry.name !== "harness")
  .map(({ name }) => name)
  .toSorted();

export async function loadAction(name: string): Promise<Action> {
  const loaded: { readonly default: Action } = await import(`../actions/${name}/action.ts`);
  if (loaded.default.name !== name)
    throw new Error(`the action in actions/${name} names itself ${loaded.default.name}`);
  return loaded.default;
}

export async function loadReference(name: string): Promise<ActionReference> {
  const loaded: { readonly reference: ActionReference } = await import(`../actions/${name}/reference.ts`);
  return loaded.reference;
}

/** The module that lists the actions of all folders. */
export async function renderCatalogue(): Promise<string> {
  const loaded = await Promise.all(actionFolders.map(loadAction));
  const rows = loaded.map(({ name, idempotent, input }) => {
    const inputs = JSON.stringify(Object.values(input).map(({ env }) => env));
    return `  "${name}": { idempotent: ${idempotent}, inputs: ${inputs}, load: () => import("./${name}/action.ts") },`;
  });
  return `// Written by \`npm run docs\` from the folders of actions/.

/** Variables that every action takes. */
export const COMMON_INPUTS: readonly string[] = ${JSON.stringify(commonNames().toSorted())};

export const ENTRIES = {
${rows.join("\n")}
};
`;
}

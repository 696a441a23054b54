import { fieldGroups } from "../../actions/harness/input/flags.ts";
import { ProviderName } from "../../shared/contract/vocabulary.ts";
import { refreshBetweenMarks } from "../marked-part.ts";
import { fieldTable } from "./input-table.ts";

const START = "<!-- generated from the actions: npm run docs -->";
/** The options of a provider are on its page. */
const PREFIXES = ProviderName.options.map((name) => `${name.toUpperCase()}_`);

/** The page of the variables that every action has. */
export function refreshInputPage(current: string): string {
  const groups = fieldGroups({ input: {} }).map(([name, fields]) => {
    const shown = fields.filter(({ env }) => !PREFIXES.some((prefix) => env.startsWith(prefix)));
    return { name, shown };
  });
  const parts = groups
    .filter(({ shown }) => shown.length > 0)
    .map(({ name, shown }) => `## ${name}\n\n${fieldTable(shown)}`);
  return refreshBetweenMarks(current, START, parts.join("\n\n"));
}

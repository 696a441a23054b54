import { fieldGroups } from "../../actions/harness/input/flags.ts";
import { refreshBetweenMarks } from "../marked-part.ts";
import { fieldTable } from "./input-table.ts";

const START = "<!-- generated from the actions: npm run docs -->";

/** The page of the variables that every action has. */
export function refreshInputPage(current: string): string {
  const groups = fieldGroups({ input: {} }).filter(([, fields]) => fields.length > 0);
  const parts = groups.map(([name, fields]) => `## ${name}\n\n${fieldTable(fields)}`);
  return refreshBetweenMarks(current, START, parts.join("\n\n"));
}

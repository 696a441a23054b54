import stringify from "json-stringify-pretty-compact";
import { catalogue } from "../../actions/catalogue.ts";
import { fieldGroups } from "../../actions/harness/input/flags.ts";
import type { ActionReference } from "../../actions/harness/input/reference.ts";
import { refreshBetweenMarks } from "../marked-part.ts";
import { fieldTable } from "./input-table.ts";
import { outputTable } from "./output-table.ts";

const START = "<!-- generated from the actions: npm run docs -->";

/** The page of the variables that every action has. */
export function refreshInputPage(current: string): string {
  const groups = fieldGroups({ input: {} }).filter(([, fields]) => fields.length > 0);
  const parts = groups.map(([name, fields]) => `## ${name}\n\n${fieldTable(fields)}`);
  return refreshBetweenMarks(current, START, parts.join("\n\n"));
}

/** The page with the fields and an example of each action's result. */
export async function refreshResultPage(
  current: string,
  loadReference: (name: string) => Promise<ActionReference>,
): Promise<string> {
  const parts = await Promise.all(
    catalogue.map(async (name) => {
      const reference = await loadReference(name);
      const example = stringify(reference.result, { maxLength: 150 });
      return `## ${name}\n\n${outputTable(reference)}\n\n\`\`\`json\n${example}\n\`\`\``;
    }),
  );
  return refreshBetweenMarks(current, START, parts.join("\n\n"));
}

import type { Action } from "../actions/harness/action.ts";
import { fieldGroups } from "../actions/harness/flags.ts";
import type { InputField } from "../actions/harness/input.ts";
import { refreshBetweenMarks } from "./marked-part.ts";

const START = "<!-- generated from the action's input: npm run docs -->";

/** An action's README with its input tables made anew. */
export function refreshActionReadme(readme: string, action: Pick<Action, "input">): string {
  return refreshBetweenMarks(readme, START, inputTables(action));
}

/** The environment table that a hub action's README has: variable, type, default, required, description. */
function inputTables(action: Pick<Action, "input">): string {
  return fieldGroups(action)
    .filter(([, fields]) => fields.length > 0)
    .map(([group, fields]) => [`### ${group}`, "", INPUT_HEAD, ...fields.map(fieldRow)].join("\n"))
    .join("\n\n");
}

export const INPUT_HEAD =
  "| variable | type | default | required | description |\n| --- | --- | --- | --- | --- |";

export function fieldRow(field: InputField): string {
  const type = field.choices ? field.choices.map((choice) => `\`${choice}\``).join(", ") : field.type;
  const shown = field.default === undefined ? "" : `\`${field.default}\``;
  return `| \`${field.env}\` | ${type} | ${shown} | ${field.required ? "yes" : "no"} | ${field.description} |`;
}

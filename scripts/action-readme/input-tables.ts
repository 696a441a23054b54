import type { Action } from "../../actions/harness/action.ts";
import { fieldGroups } from "../../actions/harness/input/flags.ts";
import type { InputField } from "../../actions/harness/input/input.ts";

export const INPUT_HEAD =
  "| variable | type | default | required | description |\n| --- | --- | --- | --- | --- |";

/** Tables of the environment as in hub actions' READMEs: variable, type, default, required, description. */
export function inputTables(action: Pick<Action, "input" | "table">): string {
  return fieldGroups(action)
    .filter(([, fields]) => fields.length > 0)
    .map(([group, fields]) => [`### ${group}`, "", INPUT_HEAD, ...fields.map(fieldRow)].join("\n"))
    .join("\n\n");
}

export function fieldRow(field: InputField): string {
  const type = field.choices ? field.choices.map((choice) => `\`${choice}\``).join(", ") : field.type;
  const shown = field.default === undefined ? "" : `\`${field.default}\``;
  return `| \`${field.env}\` | ${type} | ${shown} | ${field.required ? "yes" : "no"} | ${field.description} |`;
}

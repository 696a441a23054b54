import type { Action } from "../actions/harness/action.ts";
import { fieldGroups } from "../actions/harness/flags.ts";
import type { InputField } from "../actions/harness/input.ts";

const START = "<!-- generated from the action's input: npm run docs -->";
const END = "<!-- end of the generated part -->";

/** A README with the part between the marks made anew; the rest is the author's. */
export function refreshActionReadme(readme: string, action: Pick<Action, "input">): string {
  const start = readme.indexOf(START);
  const end = readme.indexOf(END);
  if (start < 0 || end < start) throw new Error(`the README lacks the marks ${START} and ${END}`);
  return `${readme.slice(0, start)}${START}\n${inputTables(action)}\n${readme.slice(end)}`;
}

/** The environment table that a hub action's README has: variable, type, default, required, description. */
export function inputTables(action: Pick<Action, "input">): string {
  const tables = fieldGroups(action)
    .filter(([, fields]) => fields.length > 0)
    .map(([group, fields]) => [`### ${group}`, "", HEAD, ...fields.map(row)].join("\n"));
  return `\n${tables.join("\n\n")}\n`;
}

const HEAD = "| variable | type | default | required | description |\n| --- | --- | --- | --- | --- |";

function row(field: InputField): string {
  const type = field.choices ? field.choices.map((choice) => `\`${choice}\``).join(", ") : field.type;
  const shown = field.default === undefined ? "" : `\`${field.default}\``;
  return `| \`${field.env}\` | ${type} | ${shown} | ${field.required ? "yes" : "no"} | ${field.description} |`;
}

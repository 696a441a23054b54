import type { InputField } from "../../actions/harness/input/input.ts";
import { markdownTable } from "../markdown-table.ts";

const HEAD = ["variable", "type", "default", "description"];

/** A table of the environment as in hub actions' READMEs. */
export function fieldTable(fields: readonly InputField[]): string {
  return markdownTable(HEAD, fields.map(fieldRow));
}

function fieldRow(field: InputField): readonly string[] {
  const type = field.choices ? field.choices.map((choice) => `\`${choice}\``).join(", ") : field.type;
  return [`\`${field.env}\``, type, defaultOf(field), field.description];
}

function defaultOf({ default: value, required }: InputField): string {
  if (value !== undefined) return `\`${value}\``;
  return required ? "required" : "";
}

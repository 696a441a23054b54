import { printableLines } from "./printable.ts";

/** The formats for programs, beside the table or text of each command. */
export const DATA_FORMATS = ["json", "yaml"] as const;
export type DataFormat = (typeof DATA_FORMATS)[number];

export function isDataFormat(format: string): format is DataFormat {
  return DATA_FORMATS.some((known) => known === format);
}

/** Formats the whole output of a command as one value. It may quote a BMC, so it is made printable. */
export async function formatData(format: DataFormat, value: unknown): Promise<string> {
  const text = format === "json" ? `${JSON.stringify(value, undefined, 2)}\n` : await yamlOf(value);
  return printableLines(text);
}

/** Formats one value of an output that grows: a line of JSON, or a YAML document. */
export async function formatEntry(format: DataFormat, value: unknown): Promise<string> {
  const text = format === "json" ? `${JSON.stringify(value)}\n` : `---\n${await yamlOf(value)}`;
  return printableLines(text);
}

async function yamlOf(value: unknown): Promise<string> {
  const { stringify } = await import("yaml");
  return stringify(value, { lineWidth: 0, aliasDuplicateObjects: false });
}

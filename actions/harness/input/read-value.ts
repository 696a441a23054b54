import type { GivenValue } from "../../../shared/contract/given.ts";
import type { InputField } from "./input.ts";
import { readText, type TextSources } from "./read-text.ts";

/** The text of a field: its value, or the content of the file that it names. Undefined with a problem. */
export async function readValue(
  { fromFile }: Pick<InputField, "fromFile">,
  { text, from }: GivenValue,
  sources: TextSources,
  problems: string[],
): Promise<string | undefined> {
  if (!fromFile) return text;
  const read = await readText(text, sources);
  if (!read.ok) problems.push(`${from}: ${text} ${read.problem}`);
  return read.ok ? read.text.replace(/\r?\n$/, "") : undefined;
}

import { Help, type HelpConfiguration } from "commander";
import { outputWidth } from "./table.ts";

const WIDEST = 110;
const NARROWEST = 40;
/** If fewer columns remain next to a flag, its description goes below it. */
const LEAST_DESCRIPTION = 30;
const INDENT = "      ";

/** Lays out help for the width of the terminal, or of `COLUMNS`. */
export function helpLayout(): HelpConfiguration {
  const width = Math.max(NARROWEST, Math.min(WIDEST, outputWidth() ?? WIDEST));
  const beside = new Help();
  return {
    helpWidth: width,
    minWidthToWrap: LEAST_DESCRIPTION,
    formatItem(term, termWidth, description, helper) {
      if (width - termWidth - 4 >= LEAST_DESCRIPTION) {
        return beside.formatItem.call(helper, term, termWidth, description, helper);
      }
      const text = helper.boxWrap(description, width - INDENT.length);
      return `  ${term}\n${text.replace(/^/gm, INDENT)}`;
    },
  };
}

/** Text that is as wide as the help. */
export function wrapped(text: string): string {
  return new Help().boxWrap(text, helpLayout().helpWidth ?? WIDEST);
}

/** Names with commas between them, in lines as wide as the help. */
export function wrappedNames(names: readonly string[]): string {
  const { helpWidth = WIDEST } = helpLayout();
  const lines: string[] = [];
  for (const name of names) {
    const last = lines.at(-1);
    if (last === undefined || last.length + name.length + 4 > helpWidth) lines.push(`  ${name}`);
    else lines[lines.length - 1] = `${last}, ${name}`;
  }
  return lines.join(",\n");
}

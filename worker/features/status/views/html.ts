import { printableLine } from "../../../../shared/printable.ts";

/** Safe markup; other values are escaped. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

export type HtmlValue = Html | string | number | false | undefined | readonly HtmlValue[];

/** Markup with values in it. Attributes must be quoted; `false` and `undefined` render as nothing. */
export function html(strings: TemplateStringsArray, ...values: readonly HtmlValue[]): Html {
  return new Html(strings.reduce((before, string, index) => before + textOf(values[index - 1]) + string));
}

function textOf(value: HtmlValue): string {
  if (value === undefined || value === false) return "";
  if (value instanceof Html) return value.text;
  if (typeof value === "string") return escapeHtml(value);
  return typeof value === "number" ? String(value) : value.map(textOf).join("");
}

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** For text and for quoted attributes. */
export function escapeHtml(text: string): string {
  return printableLine(text).replace(/[&<>"']/g, (character) => ENTITIES[character] ?? "");
}

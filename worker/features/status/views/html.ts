import { printableLine, printableLines } from "../../../../shared/printable.ts";

/** Safe markup; other values are escaped. */
export class Html {
  readonly text: string;
  /** The markup without elapsed times, which pages update themselves. It changes when a page must be updated. */
  readonly version: string;

  constructor(text: string, version = text) {
    this.text = text;
    this.version = version;
  }
}

export type HtmlValue = Html | string | number | false | undefined | readonly HtmlValue[];

/** Creates markup with escaped values. Attributes must be quoted; `false` and `undefined` render as nothing. */
export function html(strings: TemplateStringsArray, ...values: readonly HtmlValue[]): Html {
  const parts = values.map(htmlOf);
  const joined = (of: (part: Html) => string) =>
    strings.reduce((before, string, index) => {
      const part = parts[index - 1];
      return before + (part ? of(part) : "") + string;
    });
  const text = joined((part) => part.text);
  const isTimeless = parts.every((part) => part.version === part.text);
  return new Html(text, isTimeless ? text : joined((part) => part.version));
}

function htmlOf(value: HtmlValue): Html {
  if (value instanceof Html) return value;
  if (typeof value === "string") return new Html(escapeHtml(value));
  if (typeof value === "number") return new Html(String(value));
  if (value === undefined || value === false) return new Html("");
  const parts = value.map(htmlOf);
  return new Html(parts.map(({ text }) => text).join(""), parts.map(({ version }) => version).join(""));
}

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** Escapes text for content and quoted attributes. */
export function escapeHtml(text: string): string {
  return withEntities(printableLine(text));
}

/** Formats text with several lines for `<pre>`. */
export function preformatted(text: string): Html {
  return new Html(withEntities(printableLines(text)));
}

function withEntities(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? "");
}

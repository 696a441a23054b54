import { ErrorClass } from "../../../../shared/contract/error-class.ts";
import { docsPage } from "../../../../shared/docs-page.ts";
import { type Html, html } from "./html.ts";

/** Longer texts are folded. */
const LONGEST_OPEN = 80;
const SUMMARY = 70;

/** Text of any length: the rest of a long one is behind a click. */
export function folded(text: string): Html {
  if (text.length <= LONGEST_OPEN) return html`${text}`;
  return html`<details><summary>${text.slice(0, SUMMARY)}…</summary>${text}</details>`;
}

/** A link to what the documentation says of an error class. */
export function fixLink(errorClass: ErrorClass | undefined): Html | undefined {
  if (errorClass === undefined || !ErrorClass.options.includes(errorClass)) return undefined;
  const address = docsPage(`reference/error-classes.md#${errorClass}`);
  return html` <a class="fix" href="${address}" rel="noreferrer" aria-label="How to fix ${errorClass}">How to fix</a>`;
}

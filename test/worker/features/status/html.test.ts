import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { escapeHtml, html } from "../../../../worker/features/status/views/html.ts";

const UNSAFE = /[<>"'\p{Cc}]|&(?!(amp|lt|gt|quot|#39);)/u;

describe("html", () => {
  test("escapes what is put into it, and not what is markup already", () => {
    const inner = html`<b>${"<script>"}</b>`;

    const page = html`<p title="${`"'&`}">${[inner, "a", 1]}${false}${undefined}</p>`;

    expect(page.text).toBe('<p title="&quot;&#39;&amp;"><b>&lt;script&gt;</b>a1</p>');
  });

  test.each([
    ["colours", "\u001b[31mred\u001b[0m", "red"],
    ["a link of a terminal", "\u001b]8;;http://evil.example\u0007text\u001b]8;;\u0007", "text"],
    ["line ends", "one\r\ntwo\u2028three", "one two three"],
    ["control characters", "a\u0000b\u0008c\u009bd", String.raw`a\u0000b\u0008c\u009bd`],
    ["text that runs backwards", "a\u202egpj.exe\u2066", String.raw`a\u202egpj.exe\u2066`],
    ["half a character", "a\ud800b", String.raw`a\ud800b`],
  ])("shows %s as plain text", (_, text, shown) => {
    expect(escapeHtml(text)).toBe(shown);
  });

  test("leaves nothing of any text that markup could be made of", () => {
    fc.assert(fc.property(fc.string({ unit: "binary" }), (text) => !UNSAFE.test(escapeHtml(text))));
  });
});

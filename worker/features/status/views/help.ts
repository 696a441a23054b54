import { ErrorClass } from "../../../../shared/contract/error-class.ts";
import { manuals } from "../assets.ts";
import { type Html, html, preformatted } from "./html.ts";
import type { View } from "./view.ts";

/**
 * The manual's text about an error class: its paragraph in `error-classes.md`, then the sections of `troubleshooting.md` that
 * it links to. Undefined for other names.
 */
export function helpView(name: string): View | undefined {
  if (!ErrorClass.safeParse(name).success) return undefined;
  const paragraph = sectionOf(manuals.classes, name);
  const links = [...paragraph.join("\n").matchAll(/\]\(troubleshooting\.md#([^)]+)\)/g)];
  const slugs = [...new Set(links.map(([, slug = ""]) => slug))];
  const sections = slugs.map((slug) => sectionOf(manuals.troubleshooting, slug));
  const shown = new Set(sections.flat().flatMap((line) => headingOf(line)?.slug ?? []));
  return {
    status: 200,
    title: `How to fix: ${name}`,
    blocks: [
      html`<h1><span class="kind">How to fix</span> ${name}</h1>`,
      html`<div class="help">${markup(paragraph.slice(1), shown)}${sections.map((lines) => markup(lines, shown))}</div>`,
    ],
  };
}

/** The lines of a section with its heading and subsections. */
function sectionOf(manual: string, slug: string): readonly string[] {
  const lines = manual.split("\n");
  const start = lines.findIndex((line) => headingOf(line)?.slug === slug);
  const { depth = 0 } = headingOf(lines[start] ?? "") ?? {};
  const end = lines.findIndex((line, index) => index > start && (headingOf(line)?.depth ?? 9) <= depth);
  return start < 0 ? [] : lines.slice(start, end < 0 ? undefined : end);
}

function headingOf(line: string) {
  const [, marks = "", text = ""] = /^(#{2,3}) (.+)$/.exec(line) ?? [];
  if (text === "") return undefined;
  // GitHub creates anchors in this way.
  const slug = text
    .toLowerCase()
    .replace(/[^\w\- ]/g, "")
    .replaceAll(" ", "-");
  return { depth: marks.length, text, slug };
}

/** The Markdown that these pages use: headings, paragraphs, lists, code and tables. */
function markup(lines: readonly string[], shown: ReadonlySet<string>): Html {
  const parts = lines
    .join("\n")
    .replace(/<!--.*?-->/gs, "")
    .split(/\n*^(```\w*\n.*?\n```)$\n*|\n{2,}/ms);
  return html`${parts.map((part = "") => {
    const heading = headingOf(part);
    if (part.trim() === "") return "";
    if (heading) return html`<h2 id="${heading.slug}">${heading.text}</h2>\n`;
    if (part.startsWith("```"))
      return html`<pre>${preformatted(part.replace(/^```.*\n|\n```$/g, ""))}</pre>\n`;
    if (/^(?:[-|]|\d+\.) /.test(part)) return listOrTable(part, shown);
    return html`<p>${inline(part, shown)}</p>\n`;
  })}`;
}

function listOrTable(text: string, shown: ReadonlySet<string>): Html {
  const items = text.split(/\n(?=[-|]|\d+\. )/).filter((item) => !/^\|[-| ]+$/.test(item));
  if (!text.startsWith("|"))
    return html`<ul>${items.map((item) => html`<li>${inline(item.replace(/^\S+ /, ""), shown)}</li>\n`)}</ul>\n`;
  const cells = (item: string) =>
    item
      .slice(1, -1)
      .split("|")
      .map((cell) => html`<td>${inline(cell, shown)}</td>`);
  return html`<div class="scroll"><table><tbody>${items.map((item) => html`<tr>${cells(item)}</tr>\n`)}</tbody></table></div>\n`;
}

/** Renders inline markup. Links lead to pages that exist here or to another error class; others become text. */
function inline(text: string, shown: ReadonlySet<string>): readonly Html[] {
  return text.split(/(`[^`]+`|\*\*.+?\*\*|\[[^\]]+\]\([^)]+\))/).map((part) => {
    const [, label = "", page = "", anchor = ""] = /^\[(.+)\]\(([^#)]*)#?(.*)\)$/s.exec(part) ?? [];
    if (label !== "") {
      const words = inline(label, shown);
      if (page === "error-classes.md") return html`<a href="/help/${anchor}">${words}</a>`;
      return shown.has(anchor) ? html`<a href="#${anchor}">${words}</a>` : html`${words}`;
    }
    if (part.startsWith("`")) return html`<code>${part.slice(1, -1)}</code>`;
    return part.startsWith("**") ? html`<b>${part.slice(2, -2)}</b>` : html`${part}`;
  });
}

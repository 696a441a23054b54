import { z } from "zod";
import { defined } from "../shared/defined.ts";

/** The kinds of Keep a Changelog, which Artifact Hub also uses. */
export const CHANGE_KINDS = ["added", "changed", "deprecated", "removed", "fixed", "security"] as const;
type ChangeKind = (typeof CHANGE_KINDS)[number];

export interface Change {
  readonly kind: ChangeKind;
  /** Plain text, one line. */
  readonly description: string;
  /** What is between backticks. */
  readonly code: readonly string[];
}

export interface Release {
  readonly version: string;
  /** `YYYY-MM-DD`; absent if unreleased. */
  readonly date?: string;
  readonly changes: readonly Change[];
}

/**
 * Parses a changelog in the format of Keep a Changelog 1.1.0: `## [1.2.3] - 2026-01-31`, then `### Added` and the other kinds
 * with their lists. Throws on anything else, with its line, so that no change is lost silently.
 */
export function parseChangelog(text: string): readonly Release[] {
  const releases: {
    version: string;
    date?: string;
    changes: { kind: ChangeKind; description: string; code: string[] }[];
  }[] = [];
  let kind: ChangeKind | undefined;
  for (const [index, line] of text.split("\n").entries()) {
    const fail = (problem: string) => new Error(`CHANGELOG line ${index + 1}: ${problem}: ${line}`);
    const release = releases.at(-1);
    if (line.startsWith("## ")) {
      const heading = /^## \[([^\]]+)\](?: - (?:(\d{4}-\d{2}-\d{2})|unreleased))?$/i.exec(line);
      const [, version, date] = heading ?? [];
      if (version === undefined) throw fail("not a release such as [1.2.3] - 2026-01-31");
      if (date !== undefined && !z.iso.date().safeParse(date).success) throw fail("no such date");
      releases.push({ version, ...defined({ date }), changes: [] });
      kind = undefined;
    } else if (release === undefined || line.trim() === "") {
      // Text above the first release is for people.
    } else if (line.startsWith("### ")) {
      kind = CHANGE_KINDS.find((known) => known === line.slice(4).trim().toLowerCase());
      if (kind === undefined) throw fail(`not one of ${CHANGE_KINDS.join(", ")}`);
    } else if (/^[-*] /.test(line)) {
      if (kind === undefined) throw fail("a change without a kind above it");
      release.changes.push({ kind, description: plainText(line.slice(2)), code: codeOf(line) });
    } else if (/^\s+\S/.test(line)) {
      const change = release.changes.at(-1);
      if (change === undefined) throw fail("continues no change");
      change.description = `${change.description} ${plainText(line)}`;
      change.code.push(...codeOf(line));
    } else if (!/^\[[^\]]+\]: /.test(line)) {
      throw fail("neither a heading nor a change");
    }
  }
  return releases;
}

function codeOf(markdown: string): string[] {
  return [...markdown.matchAll(/`([^`]+)`/g)].map(([, code = ""]) => code);
}

/** One line of Markdown as plain text: links as their text, without emphasis and code marks. */
function plainText(markdown: string): string {
  return markdown
    .replace(/\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replace(/\*\*([^*]+)\*\*/g, "$1")
    .replaceAll("`", "")
    .trim();
}

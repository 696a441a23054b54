import { JoinedLineRedactor, type LineRedactor, SecretLineRedactor } from "./redaction/line-redactor.ts";
import { secretAutomata } from "./redaction/secret-automata.ts";
import { Secret } from "./secret.ts";

/** Returns the forms in which a text may occur: unchanged, in JSON, in a URL, in base64 and in hex. */
export function formsOf(text: string): readonly string[] {
  const bytes = Buffer.from(text, "utf8");
  const base64 = bytes.toString("base64");
  const hex = bytes.toString("hex");
  return [
    ...new Set([
      text,
      JSON.stringify(text).slice(1, -1),
      encodeURIComponent(text.toWellFormed()),
      base64,
      // Padding, and the last character before it, depend on what follows.
      base64.replace(/.?=+$/, ""),
      bytes.toString("base64url"),
      hex,
      hex.toUpperCase(),
    ]),
  ].filter((form) => form !== "");
}

/** Returns every secret inside a value, at any depth. */
export function secretsIn(value: unknown): readonly string[] {
  if (value instanceof Secret) return [value.reveal()];
  if (typeof value !== "object" || value === null) return [];
  return Object.values(value).flatMap(secretsIn);
}

/** A function that removes secrets from text. */
export interface Redactor {
  /** Redacts a complete text of any number of lines. */
  (text: string): string;
  /** Returns a redactor for text that arrives line by line. */
  lines(): LineRedactor;
  /** Returns redactors for `count` texts that arrive line by line and are read together. */
  joined(count: number): readonly LineRedactor[];
}

/**
 * Makes a redactor that removes the secrets of `holder` from any text: unchanged, in any case, folded, wrapped over lines,
 * escaped for JSON, HTML, URLs and mail, in base64, hex and decimal bytes, and the rest of a secret that was cut. The text
 * comes from others: a third-party image, or a BMC that quotes its input. Redact before text is folded or cut. Linear in the
 * length of the text. A secret that is a known word, such as `wrong`, is only removed where it stands as a value.
 */
export function redactor(holder: {
  readonly username?: string | undefined;
  readonly [key: string]: unknown;
}): Redactor {
  const automata = secretAutomata(secretsIn(holder), holder.username);
  return Object.assign((text: string) => new SecretLineRedactor(automata).take(text), {
    lines: () => new SecretLineRedactor(automata),
    joined: (count: number) => {
      const joint = new SecretLineRedactor(automata);
      return Array.from({ length: count }, () => new JoinedLineRedactor(automata, joint));
    },
  });
}

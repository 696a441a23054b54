import { Secret } from "./secret.ts";

/** Shorter text is everywhere, and no secret. */
const SHORTEST = 4;

/** Text as it may be met: as it is, in JSON, in a URL, in base64 and in hex. */
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

/** Every secret inside a value, at any depth. */
export function secretsIn(value: unknown): readonly string[] {
  if (value instanceof Secret) return [value.reveal()];
  if (typeof value !== "object" || value === null) return [];
  return Object.values(value).flatMap(secretsIn);
}

/**
 * Takes the secrets of `holder`, in all their forms, out of any text. What reaches the worker was written by
 * others: an image of somebody else, or a BMC that quotes what it was sent.
 */
export function redactor(holder: {
  readonly username?: string | undefined;
  readonly [key: string]: unknown;
}): (text: string) => string {
  const secrets = secretsIn(holder).filter((secret) => secret.length >= SHORTEST);
  const { username } = holder;
  // As HTTP's basic authentication has them (RFC 7617).
  const pairs = username === undefined ? [] : secrets.map((secret) => `${username}:${secret}`);
  // The longest first, so that no part of a form is left.
  const forms = [...pairs, ...secrets].flatMap(formsOf).toSorted((a, b) => b.length - a.length);
  return (text) => forms.reduce((kept, form) => kept.replaceAll(form, "[redacted]"), text);
}

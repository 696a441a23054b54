import { inspect } from "node:util";

const REDACTED = "[redacted]";

/** A value that cannot print itself: only `reveal()` opens it. */
export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  reveal(): string {
    return this.#value;
  }

  toString(): string {
    return REDACTED;
  }

  toJSON(): string {
    return REDACTED;
  }

  [inspect.custom](): string {
    return REDACTED;
  }
}

/** A value as JSON with its secrets open, at any depth: for where they are used, and nowhere else. */
export function revealJson(value: unknown): string {
  return JSON.stringify(value, function (this: Record<string, unknown>, key, converted) {
    // JSON.stringify has already called toJSON, so the secret itself is read from its holder.
    const original = this[key];
    return original instanceof Secret ? original.reveal() : converted;
  });
}

import { inspect } from "node:util";

const REDACTED = "[redacted]";

/** A text that cannot be printed by accident: only `reveal()` returns it. */
export class Secret {
  readonly #value: string;

  /** Wraps the text. */
  constructor(value: string) {
    this.#value = value;
  }

  /** The text. */
  reveal(): string {
    return this.#value;
  }

  /** `[redacted]` */
  toString(): string {
    return REDACTED;
  }

  /** `[redacted]` */
  toJSON(): string {
    return REDACTED;
  }

  [inspect.custom](): string {
    return REDACTED;
  }
}

/** Formats a value as JSON that reveals its secrets at any depth. Only for the code that uses them. */
export function revealJson(value: unknown): string {
  return JSON.stringify(value, function (this: Record<string, unknown>, key, converted) {
    // JSON.stringify has already called toJSON, so the secret itself is read from its holder.
    const original = this[key];
    return original instanceof Secret ? original.reveal() : converted;
  });
}

import { createHash } from "node:crypto";

/**
 * What actions learned about each machine, for the next one's connection. A hint holds as long as the machine's entry is
 * the same: what an entry allowed once, such as a weaker cipher suite, must not outlive it.
 */
export class LearnedHints {
  readonly #hints = new Map<string, unknown>();
  /** Of the entry that each machine had last. */
  readonly #digests = new Map<string, string>();

  /** `entry` is the connection, or its document; secrets in it print as redacted and so do not count. */
  find(machine: string, entry: object): unknown {
    const digest = createHash("sha256").update(JSON.stringify(entry)).digest("base64");
    if (this.#digests.get(machine) !== digest) this.#hints.delete(machine);
    this.#digests.set(machine, digest);
    return this.#hints.get(machine);
  }

  learn(machine: string, hint: unknown): void {
    if (hint !== undefined) this.#hints.set(machine, hint);
  }
}

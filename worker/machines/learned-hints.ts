import { createHash } from "node:crypto";

/** A dropped hint costs a few more round trips. */
const MOST_MACHINES = 10_000;

interface Learned {
  /** Digest of the machine's entry. */
  readonly digest: string;
  readonly hint?: unknown;
}

/**
 * What actions learned about each machine, for the next action's connection. A hint is valid for one entry of the machine: what
 * that entry allowed, such as a weaker cipher suite, must not outlive it.
 */
export class LearnedHints {
  /** Least recently used first. */
  readonly #machines = new Map<string, Learned>();

  /** `entry` is the connection, or its document. Its secrets serialize as redacted, so that a new password keeps the hint. */
  find(machine: string, entry: object): unknown {
    const digest = createHash("sha256").update(JSON.stringify(entry)).digest("base64");
    const known = this.#machines.get(machine);
    const learned = known?.digest === digest ? known : { digest };
    this.#keep(machine, learned);
    return learned.hint;
  }

  learn(machine: string | undefined, hint: unknown): void {
    if (machine === undefined || hint === undefined) return;
    const known = this.#machines.get(machine);
    if (known) this.#keep(machine, { ...known, hint });
  }

  #keep(machine: string, learned: Learned): void {
    this.#machines.delete(machine);
    this.#machines.set(machine, learned);
    const [oldest] = this.#machines.keys();
    if (this.#machines.size > MOST_MACHINES && oldest !== undefined) this.#machines.delete(oldest);
  }
}

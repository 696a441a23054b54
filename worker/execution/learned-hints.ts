import { createHash } from "node:crypto";

/** Machines come and go; one whose hint is dropped costs a few more round trips. */
const MOST_MACHINES = 10_000;

interface Learned {
  /** Of the entry that the machine had last. */
  readonly digest: string;
  readonly hint?: unknown;
}

/**
 * What actions learned about each machine, for the next one's connection. A hint holds as long as the machine's entry is
 * the same: what an entry allowed once, such as a weaker cipher suite, must not outlive it.
 */
export class LearnedHints {
  /** Least recently used first. */
  readonly #machines = new Map<string, Learned>();

  /** `entry` is the connection, or its document; secrets in it print as redacted and so do not count. */
  find(machine: string, entry: object): unknown {
    const digest = createHash("sha256").update(JSON.stringify(entry)).digest("base64");
    const known = this.#machines.get(machine);
    const learned = known?.digest === digest ? known : { digest };
    this.#keep(machine, learned);
    return learned.hint;
  }

  learn(machine: string, hint: unknown): void {
    const known = this.#machines.get(machine);
    if (known && hint !== undefined) this.#keep(machine, { ...known, hint });
  }

  #keep(machine: string, learned: Learned): void {
    this.#machines.delete(machine);
    this.#machines.set(machine, learned);
    const [oldest] = this.#machines.keys();
    if (this.#machines.size > MOST_MACHINES && oldest !== undefined) this.#machines.delete(oldest);
  }
}

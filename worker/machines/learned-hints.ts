import { createHash } from "node:crypto";

/** The maximum number of machines with a hint. Dropping a hint costs a few round trips. */
const MOST_MACHINES = 10_000;

interface Learned {
  /** The digest of the machine's entry. */
  readonly digest: string;
  readonly hint?: unknown;
}

/**
 * Hints that actions learned about each machine, for the next action's connection. A hint is valid only for one entry of the
 * machine, because options that the entry allowed, such as a weaker cipher suite, must not outlive it.
 */
export class LearnedHints {
  /** Hints by machine, the least recently used first. */
  readonly #machines = new Map<string, Learned>();

  /**
   * Finds a machine's hint. `entry` is the connection or its document. Secrets in it serialize as redacted, so that a new
   * password keeps the hint.
   */
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

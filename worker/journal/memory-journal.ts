import type { JournalEntry } from "./entry.ts";
import type { ActionJournal } from "./journal.ts";

/** For a run that ends with its process: nothing is left that anybody could go on with, and no ID comes back. */
export class MemoryJournal implements ActionJournal {
  readonly #entries = new Map<string, JournalEntry>();

  find(key: string): JournalEntry | undefined {
    return this.#entries.get(key);
  }

  damageOf(): undefined {
    return undefined;
  }

  ageMs(): number {
    return 0;
  }

  unfinished(): readonly JournalEntry[] {
    return [];
  }

  async write(entry: JournalEntry): Promise<void> {
    this.#entries.set(entry.key, entry);
  }

  async remove(key: string): Promise<void> {
    this.#entries.delete(key);
  }
}

import type { JournalEntry } from "./entry.ts";
import type { ActionJournal } from "./journal.ts";

/** For `pbnj-worker run`: no later worker adopts its actions, and its IDs are never used again. */
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

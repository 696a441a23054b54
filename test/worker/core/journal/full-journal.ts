import { MemoryJournal } from "../../../../worker/core/action/action-journal.ts";
import type { JournalEntry, JournalPhase } from "../../../../worker/core/action/entry.ts";

/** A journal in memory whose next entry in some phase finds no room. */
export class FullJournal extends MemoryJournal {
  #refused: JournalPhase | undefined;
  readonly written: JournalPhase[] = [];
  /** Each entry that was written, in order. */
  readonly entries: JournalEntry[] = [];

  constructor(refused?: JournalPhase) {
    super();
    this.#refused = refused;
  }

  override async write(entry: JournalEntry): Promise<void> {
    if (entry.phase === this.#refused) {
      this.#refused = undefined;
      throw new Error("ENOSPC: no space left on device");
    }
    this.written.push(entry.phase);
    this.entries.push(entry);
    await super.write(entry);
  }
}

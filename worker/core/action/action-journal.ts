import type { DecodedEntry, EntryKind, EntryStore, StorageRule } from "../journal/entry-kind.ts";
import { actionKey } from "./action.ts";
import { JournalEntry } from "./entry.ts";
import { STATES } from "./states.ts";

export type ActionJournal = EntryStore<JournalEntry>;

/**
 * How long an entry is remembered once its end is settled: a start that arrives late, an old cache, or a workflow that is found again may make
 * the server serve the action again, also after an outage of days.
 */
export const REMEMBER_MS = 7 * 24 * 60 * 60_000;
/** Limits the acknowledged entries, and the dropped ones. The number of the others is limited by the actions that run. */
const MOST_REMEMBERED = 5_000;

/** The entries of actions, stored as the table of states says. */
export const actionEntries: EntryKind<JournalEntry> = {
  parse(content): DecodedEntry<JournalEntry> {
    const parsed = JournalEntry.safeParse(content);
    if (!parsed.success) {
      const [issue] = parsed.error.issues;
      return { ok: false, problem: `is damaged: ${issue?.path.join(".") || "it"}: ${issue?.message}` };
    }
    if (parsed.data.key !== actionKey(parsed.data.action)) {
      return { ok: false, problem: "holds a key that is not its action's" };
    }
    return { ok: true, entry: parsed.data };
  },

  ruleOf(entry): StorageRule {
    const { before, unwritten } = STATES[entry.phase];
    const rule = {
      isGuarded: before === "launch",
      isSynced: isSynced(entry),
      mustBeKept: unwritten !== "stop",
    };
    const isSettled = before === "remove";
    if (!isSettled) return rule;
    return { ...rule, remembered: { group: entry.phase, ms: REMEMBER_MS, most: MOST_REMEMBERED } };
  },

  writtenAt(entry) {
    if (entry.phase === "acknowledged") return Date.parse(entry.acknowledgedAt);
    return Date.parse(entry.phase === "dropped" ? entry.droppedAt : entry.startedAt);
  },
};

/** The first entry of a run whose IDs an earlier run had is synced, too: else that run's end could return and be reported as this one's. */
function isSynced({ phase, connected, action }: JournalEntry): boolean {
  const { synced } = STATES[phase];
  return synced === "unless-connected" ? !connected || action.idMayReturn === true : synced;
}

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

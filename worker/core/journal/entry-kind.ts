export interface Stored {
  /** The key, which is 32 hexadecimal digits and names the entry's file. */
  readonly key: string;
}

/** How the journal stores an entry. The journal knows nothing else about the entry's meaning. */
export interface StorageRule {
  /**
   * Whether this worker must own the directory when it writes the entry. If the entry's file is truncated after it, whatever
   * followed the entry is unknown.
   */
  readonly isGuarded: boolean;
  /** Whether the entry survives a power loss. */
  readonly isSynced: boolean;
  /** Whether the entry stays in memory if it cannot be written, and may overwrite the previous entry on a full disk. */
  readonly mustBeKept: boolean;
  /** Set for the last entry of a key. If it cannot be written, its file is removed. */
  readonly remembered?: Remembered;
}

/** How long to remember the last entries of keys, and how many per `group`; the oldest are forgotten first. */
export interface Remembered {
  readonly group: string;
  readonly ms: number;
  readonly most: number;
}

export type DecodedEntry<Entry> =
  /** `doubt` is set if another entry may have followed, which is lost. It completes a sentence that begins with the file's name. */
  | { readonly ok: true; readonly entry: Entry; readonly doubt?: string }
  /** `problem` completes a sentence that begins with the file's name. */
  | { readonly ok: false; readonly problem: string };

/** Tells a journal how to read and store its entries. */
export interface EntryKind<Entry> {
  parse(content: object): DecodedEntry<Entry>;
  ruleOf(entry: Entry): StorageRule;
  /** The wall-clock time of the entry's last step in milliseconds, or the closest time that the entry has. */
  writtenAt(entry: Entry): number;
}

export interface EntryStore<Entry> {
  find(key: string): Entry | undefined;
  /**
   * The problem of a damaged entry, after which more may have happened than the journal shows. `find` may still return an
   * earlier step. The problem completes a sentence that begins with "the entry".
   */
  damageOf(key: string): string | undefined;
  /** How long ago the entry was written, by the monotonic clock; 0 if there is no entry. */
  ageMs(key: string): number;
  /** The entries of keys that have no last entry yet, the oldest first. */
  unfinished(): readonly Entry[];
  /** Rejects with a system error, such as that of a full disk; the previous file then remains. */
  write(entry: Entry): Promise<void>;
  remove(key: string): Promise<void>;
}

export interface Stored {
  /** 32 hexadecimal digits; the name of its file. */
  readonly key: string;
}

/** How the journal stores an entry: all that it knows of what the entry means. */
export interface StorageRule {
  /** Whether the directory must be this worker's when it is written. If its file is cut off behind it, it is in doubt what followed. */
  readonly isGuarded: boolean;
  /** Whether it survives a power loss. */
  readonly isSynced: boolean;
  /** Whether it is kept in memory if it cannot be written, and replaces the entry before it in place on a full disk. */
  readonly mustBeKept: boolean;
  /** Set if nothing follows it. On a disk that does not take it, its file is removed. */
  readonly remembered?: Remembered;
}

/** For how long entries are remembered, and how many of one `group`: the newest. */
export interface Remembered {
  readonly group: string;
  readonly ms: number;
  readonly most: number;
}

export type DecodedEntry<Entry> =
  /** `doubt` is a problem, too: what followed the entry is lost. */
  | { readonly ok: true; readonly entry: Entry; readonly doubt?: string }
  /** In a sentence, `problem` follows the name of the file. */
  | { readonly ok: false; readonly problem: string };

/** What a journal is told of its entries. */
export interface EntryKind<Entry> {
  parse(content: object): DecodedEntry<Entry>;
  ruleOf(entry: Entry): StorageRule;
  /** Milliseconds of the wall clock at the entry's last step, as far as it has them. */
  writtenAt(entry: Entry): number;
}

export interface EntryStore<Entry> {
  find(key: string): Entry | undefined;
  /**
   * The problem of a damaged entry: what it was about may have gone on. `find` may still know how it began. In a sentence, it follows
   * "the entry".
   */
  damageOf(key: string): string | undefined;
  /** How long ago the entry was written, by the monotonic clock; 0 without an entry. */
  ageMs(key: string): number;
  /** Entries that something follows, the oldest first. */
  unfinished(): readonly Entry[];
  /** Rejects with a system error, such as that of a full disk; the previous file then remains. */
  write(entry: Entry): Promise<void>;
  remove(key: string): Promise<void>;
}

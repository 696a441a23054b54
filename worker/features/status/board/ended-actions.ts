import type { ActionRecord } from "./shown-action.ts";

export interface EndedActionsOptions {
  readonly most: number;
  /** Whether a record stays although it is old. */
  readonly isKept: (record: ActionRecord) => boolean;
  readonly onRemoved: (key: string) => void;
}

/** The newest ended actions, and those that must stay. */
export class EndedActions {
  readonly #options: EndedActionsOptions;
  /** Oldest first. */
  readonly #records = new Map<string, ActionRecord>();
  /** Keys of those that are kept because they are recent, oldest first. */
  readonly #newest = new Set<string>();

  constructor(options: EndedActionsOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#records.size;
  }

  get(key: string): ActionRecord | undefined {
    return this.#records.get(key);
  }

  /** Oldest first. */
  all(): readonly ActionRecord[] {
    return [...this.#records.values()];
  }

  add(record: ActionRecord): void {
    const { key } = record.action;
    this.#records.set(key, record);
    this.#newest.add(key);
    for (const oldest of this.#newest) {
      if (this.#newest.size <= this.#options.most) break;
      this.#newest.delete(oldest);
      this.release(oldest);
    }
  }

  /** In the same place of the order. */
  replace(record: ActionRecord): void {
    this.#records.set(record.action.key, record);
  }

  remove(key: string): void {
    this.#newest.delete(key);
    if (this.#records.delete(key)) this.#options.onRemoved(key);
  }

  /** Removes it unless it is recent or must stay. */
  release(key: string | undefined): void {
    const record = key === undefined ? undefined : this.#records.get(key);
    if (!record || this.#newest.has(record.action.key) || this.#options.isKept(record)) return;
    this.remove(record.action.key);
  }
}

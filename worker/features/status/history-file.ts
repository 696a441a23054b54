import type { Clock } from "../../../shared/clock.ts";
import { logOutage } from "../../../shared/log-outage.ts";
import type { Logger } from "../../../shared/logger.ts";
import { readOwnFile } from "../../../shared/read-text-file.ts";
import { textOf } from "../../../shared/text-of.ts";
import { replaceTextFile } from "../../core/journal/durable-file.ts";
import type { Board } from "./board/board.ts";
import { History } from "./board/records.ts";

const SAVE_INTERVAL_MS = 10_000;
/** More than the actions and machines of the largest fleet need. */
const LARGEST_BYTES = 64 * 1_024 * 1_024;

/** Saves the board's history to a file, so that it survives a restart. */
export class HistoryFile {
  readonly #path: string;
  readonly #board: Board;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #closing = new AbortController();
  #savedRevision = -1;
  #failing = false;
  #running: Promise<void> | undefined;

  constructor(path: string, board: Board, clock: Clock, log: Logger) {
    this.#path = path;
    this.#board = board;
    this.#clock = clock;
    this.#log = log;
  }

  /** Restores the board and saves it from then on. A missing or damaged file counts as empty. */
  async open(): Promise<void> {
    try {
      this.#board.restore(historyOf(await readOwnFile(this.#path, LARGEST_BYTES), this.#clock));
    } catch (thrown) {
      const isMissing = thrown instanceof Error && "code" in thrown && thrown.code === "ENOENT";
      const facts = { file: this.#path, error: textOf(thrown) };
      if (!isMissing) this.#log.warn(facts, "status page history unreadable");
    }
    this.#savedRevision = this.#board.revision;
    this.#running = this.#saveNowAndThen();
  }

  /** Saves for the last time, unless the directory may belong to another worker. Never rejects. */
  async close(mayWrite: boolean): Promise<void> {
    this.#closing.abort();
    await this.#running;
    if (this.#running && mayWrite) await this.#save();
  }

  async #saveNowAndThen(): Promise<void> {
    while (!this.#closing.signal.aborted) {
      await this.#clock.sleep(SAVE_INTERVAL_MS, this.#closing.signal).catch(() => undefined);
      if (!this.#closing.signal.aborted) await this.#save();
    }
  }

  async #save(): Promise<void> {
    const { revision } = this.#board;
    if (revision === this.#savedRevision) return;
    try {
      // Losing the last seconds in a power failure does no harm.
      await replaceTextFile(this.#path, textOfHistory(this.#board.kept(), this.#clock));
      this.#savedRevision = revision;
      this.#failing = false;
    } catch (thrown) {
      const facts = { file: this.#path, error: textOf(thrown) };
      logOutage(this.#log, !this.#failing, facts, "status page history not saved, retrying");
      this.#failing = true;
    }
  }
}

/** Formats the history with wall-clock times, because moments on the monotonic clock mean nothing to the next worker. */
function textOfHistory(history: History, clock: Clock): string {
  const originMs = clock.now() - clock.monotonicMs();
  const actions = history.actions.map((one) => ({ ...one, endedAt: new Date(originMs + one.sinceMs) }));
  const withoutMoments = (name: string, value: unknown) => (name === "sinceMs" ? undefined : value);
  return JSON.stringify({ ...history, actions }, withoutMoments);
}

/** Converts the file's times to this worker's monotonic clock, but never to the future. */
function historyOf(text: string, clock: Clock): History {
  const withMoments = (_name: string, value: { endedAt?: unknown; at?: unknown } | null) => {
    const at = value?.endedAt ?? value?.at;
    if (typeof at !== "string") return value;
    return { ...value, sinceMs: clock.monotonicMs() - Math.max(0, clock.now() - Date.parse(at)) };
  };
  return History.parse(JSON.parse(text, withMoments));
}

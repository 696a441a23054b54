import type { Clock } from "../../../../shared/clock.ts";
import { logOutage } from "../../../../shared/log-outage.ts";
import type { Logger } from "../../../../shared/logger.ts";
import { textOf } from "../../../../shared/text-of.ts";
import { replaceTextFile } from "../../../core/journal/durable-file.ts";
import { readOwnFile } from "../../../document/read-text-file.ts";
import type { Board } from "./board.ts";
import { BoardHistory } from "./board-history.ts";

const SAVE_INTERVAL_MS = 10_000;
/** More than the actions and machines of the largest fleet. */
const LARGEST_BYTES = 64 * 1_024 * 1_024;

export interface HistoryFileOptions {
  readonly path: string;
  readonly board: Board;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Keeps what the board shows of the past in a file, so that it survives a restart. */
export class HistoryFile {
  readonly #options: HistoryFileOptions;
  readonly #closing = new AbortController();
  #savedRevision = -1;
  #failing = false;
  #running: Promise<void> | undefined;

  constructor(options: HistoryFileOptions) {
    this.#options = options;
  }

  /** Restores the board, and from then on saves it. A file that is missing or damaged is an empty one. */
  async open(): Promise<void> {
    const { board, log, path } = this.#options;
    try {
      board.restore(BoardHistory.parse(JSON.parse(await readOwnFile(path, LARGEST_BYTES))));
    } catch (thrown) {
      const isMissing = thrown instanceof Error && "code" in thrown && thrown.code === "ENOENT";
      if (!isMissing) log.warn({ file: path, error: textOf(thrown) }, "status page history unreadable");
    }
    this.#savedRevision = board.revision;
    this.#running = this.#saveNowAndThen();
  }

  /** Saves for the last time, unless the directory may be another worker's. Never rejects. */
  async close(mayWrite: boolean): Promise<void> {
    this.#closing.abort();
    await this.#running;
    if (this.#running && mayWrite) await this.#save();
  }

  async #saveNowAndThen(): Promise<void> {
    const { clock } = this.#options;
    while (!this.#closing.signal.aborted) {
      await clock.sleep(SAVE_INTERVAL_MS, this.#closing.signal).catch(() => undefined);
      if (!this.#closing.signal.aborted) await this.#save();
    }
  }

  async #save(): Promise<void> {
    const { board, log, path } = this.#options;
    const { revision } = board;
    if (revision === this.#savedRevision) return;
    try {
      // Losing the last seconds of it in a power failure does no harm.
      await replaceTextFile(path, JSON.stringify(board.kept()));
      this.#savedRevision = revision;
      this.#failing = false;
    } catch (thrown) {
      logOutage(
        log,
        !this.#failing,
        { file: path, error: textOf(thrown) },
        "status page history not saved, retrying",
      );
      this.#failing = true;
    }
  }
}

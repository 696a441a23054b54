import { stat } from "node:fs/promises";
import type { Clock } from "../../shared/clock.ts";
import type { Checked, Problem } from "../../shared/document/problem.ts";
import type { LogFields, Logger } from "../../shared/logger.ts";
import { textOf } from "../../shared/text-of.ts";
import type { FileSeen, Observer } from "../action/observer.ts";
import { fileProblemOf, type ReadTextFile } from "../document/read-text-file.ts";

/** A file of the operator's that is taken in anew whenever it changes. */
export interface WatchedFile {
  readonly name: FileSeen["name"];
  readonly path: string;
  /** As read at start. */
  readonly text: string;
  /** Checks the whole text, and takes it over only when all of it is right; the value is what the log says of it. */
  readonly take: (text: string) => Checked<LogFields>;
  /** The file was written or touched, and says what it said before. */
  readonly touched?: () => void;
}

export interface ReloadOptions {
  readonly files: readonly WatchedFile[];
  readonly intervalMs: number;
  readonly readFile: ReadTextFile;
  readonly clock: Clock;
  readonly log: Logger;
  readonly observer: Pick<Observer, "file">;
}

/** What is wrong with a file may be another one that it names, which its own time stamp does not tell. */
const RETRY_MS = 30_000;

/**
 * Looks at the files now and then until the signal aborts; never rejects. A changed one is taken over as a whole once
 * two looks have found the same, as not everybody writes a file at once; with a problem the last good one stays in
 * force, and each problem is logged once. Looking works on every file system, and through the links that a
 * Kubernetes ConfigMap is changed by, where notifications do not.
 */
export async function reloadFiles(options: ReloadOptions, signal: AbortSignal): Promise<void> {
  const { files, intervalMs, clock } = options;
  if (files.length === 0) return;
  const watches = files.map((file) => new FileWatch(file, options));
  while (!signal.aborted) {
    try {
      await clock.sleep(intervalMs, signal);
    } catch {
      return;
    }
    for (const watch of watches) await watch.look();
  }
}

class FileWatch {
  readonly #file: WatchedFile;
  readonly #options: Pick<ReloadOptions, "readFile" | "clock" | "log" | "observer">;
  /** Of the file as it was last dealt with, and the text it had. */
  #settledMark = "";
  #settledText: string;
  /** What the last look found, when that was something else. */
  #candidate: string | undefined;
  /** Since when the file as it is has problems. */
  #refusedMs: number | undefined;
  /** What was last said to be wrong. */
  #said = "";

  constructor(file: WatchedFile, options: Pick<ReloadOptions, "readFile" | "clock" | "log" | "observer">) {
    this.#file = file;
    this.#options = options;
    this.#settledText = file.text;
  }

  async look(): Promise<void> {
    const { name, path } = this.#file;
    const { readFile, log, observer } = this.#options;
    let mark: string;
    let text: string;
    try {
      mark = await markOf(path);
      if (mark === this.#settledMark && !this.#isToRetry()) return;
      text = readFile(path);
    } catch (thrown) {
      this.#settledMark = "";
      this.#candidate = undefined;
      const isNew = this.#complain([{ source: path, message: fileProblemOf(thrown) }]);
      if (isNew) observer.file({ name, taken: false });
      return;
    }
    if (text === this.#settledText && this.#refusedMs === undefined) {
      // It was touched, or is back as it was; the first look has nothing to compare it with.
      if (this.#settledMark !== "") this.#file.touched?.();
      if (this.#said !== "") {
        log.info({ file: path }, `${name} readable again, unchanged`);
        observer.file({ name, taken: true });
      }
      this.#said = "";
      this.#settle(mark, text);
    } else if (text === this.#candidate || text === this.#settledText) this.#take(mark, text);
    else this.#candidate = text;
  }

  #take(mark: string, text: string): void {
    const { name, path, take } = this.#file;
    const { clock, log, observer } = this.#options;
    let taken: Checked<LogFields>;
    try {
      taken = take(text);
    } catch (thrown) {
      const message = textOf(thrown);
      taken = { ok: false, problems: [{ source: path, message }] };
    }
    observer.file({ name, taken: taken.ok });
    if (!taken.ok) {
      this.#complain(taken.problems);
      this.#settle(mark, text);
      this.#refusedMs = clock.monotonicMs();
      return;
    }
    this.#settle(mark, text);
    this.#said = "";
    for (const { source, message } of taken.warnings) log.warn({ source }, message);
    log.info({ file: path, ...taken.value }, `${name} reloaded`);
  }

  #settle(mark: string, text: string): void {
    this.#settledMark = mark;
    this.#settledText = text;
    this.#candidate = undefined;
    this.#refusedMs = undefined;
  }

  #isToRetry(): boolean {
    return this.#refusedMs !== undefined && this.#options.clock.monotonicMs() - this.#refusedMs >= RETRY_MS;
  }

  /** Each problem in a line of its own, and once as long as they are the same: false when nothing was said. */
  #complain(problems: readonly Problem[]): boolean {
    const said = problems.map(({ source, message }) => `${source}: ${message}`).join("\n");
    if (said === this.#said) return false;
    this.#said = said;
    const { name, path } = this.#file;
    const { log } = this.#options;
    for (const { source, message } of problems) log.error({ source }, message);
    log.error({ file: path, problems: problems.length }, `${name} reload failed, keeping the last valid one`);
    return true;
  }
}

/** Differs whenever the file does, or another one has its name. Nanoseconds do not fit into a number. */
async function markOf(path: string): Promise<string> {
  const { mtimeNs, ctimeNs, size, ino, dev } = await stat(path, { bigint: true });
  return [mtimeNs, ctimeNs, size, ino, dev].join(" ");
}

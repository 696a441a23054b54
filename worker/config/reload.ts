import { stat } from "node:fs/promises";
import type { Clock } from "../../shared/clock.ts";
import type { Checked, Problem } from "../../shared/document/problem.ts";
import type { LogFields, Logger } from "../../shared/logger.ts";
import { fileProblemOf, type ReadTextFile } from "../../shared/read-text-file.ts";
import { textOf } from "../../shared/text-of.ts";

/** Names of the files that are reloaded when they change, as they appear in log messages and metrics. */
export const watchedFileNames = [
  "inventory",
  "policy",
  "http-token-file",
  "http-cert-file",
  "http-key-file",
  "http-client-ca-file",
  "pbnj-cert-file",
  "pbnj-key-file",
  "pbnj-client-ca-file",
  "pbnj-jwt-secret-file",
  "pbnj-jwt-key-file",
] as const;
export type WatchedFileName = (typeof watchedFileNames)[number];

export interface FileSeen {
  readonly name: WatchedFileName;
  /** False if the file is invalid and its last valid version stays in use. */
  readonly taken: boolean;
}

/** Called for each file that has changed. */
interface FileObserver {
  file(file: FileSeen): void;
}

/** A file that is reloaded when it changes. */
export interface WatchedFile {
  readonly name: FileSeen["name"];
  readonly path: string;
  /** The file's text at the start of the worker. */
  readonly text: string;
  /** Checks the whole text and applies it if it is valid. The value contains fields for the log. */
  readonly take: (text: string) => Checked<LogFields>;
  /** Called when the file was written or touched, but its content has not changed. */
  readonly touched?: () => void;
}

export interface ReloadOptions {
  readonly files: readonly WatchedFile[];
  readonly intervalMs: number;
  /** Whether something waits for a change, which is then looked for more often. */
  readonly isAwaited?: (() => boolean) | undefined;
  readonly readFile: ReadTextFile;
  readonly clock: Clock;
  readonly log: Logger;
  readonly observer: FileObserver;
}

/**
 * An invalid file is checked again after this time: the problem may be in a file that it names, whose changes are not
 * watched.
 */
const RETRY_MS = 30_000;

/** The longest interval while something waits for a change, and how often that is checked. */
const AWAITED_MS = 250;

/** Pause between the two reads of a changed file. */
const SETTLE_MS = 500;

/**
 * Polls the files, at once and then at the interval, until the signal aborts; never rejects. A changed file is applied as
 * a whole once two reads have returned the same text, because not every program writes a file atomically. An invalid file
 * is logged once, and the last valid one stays in effect. Polling works on every file system and through the links of a
 * Kubernetes ConfigMap, where notifications do not.
 */
export async function reloadFiles(options: ReloadOptions, signal: AbortSignal): Promise<void> {
  const { files, intervalMs, clock, isAwaited } = options;
  if (files.length === 0) return;
  const watches = files.map((file) => new FileWatch(file, options));
  while (!signal.aborted) {
    for (const watch of watches) await watch.look();
    const isSettling = watches.some((watch) => watch.isSettling);
    let leftMs = isSettling ? Math.min(intervalMs, SETTLE_MS) : intervalMs;
    while (leftMs > 0 && !signal.aborted) {
      const ms = isSettling || !isAwaited ? leftMs : Math.min(leftMs, AWAITED_MS);
      await clock.sleep(ms, signal).catch(() => undefined);
      leftMs = isAwaited?.() ? 0 : leftMs - ms;
    }
  }
}

class FileWatch {
  readonly #file: WatchedFile;
  readonly #options: ReloadOptions;
  /** The mark and the text of the version that was last applied or rejected. */
  #settledMark = "";
  #settledText: string;
  /** The text of the last read, if it differs from the applied one. */
  #candidate: string | undefined;
  /** When the current file became invalid. */
  #refusedMs: number | undefined;
  /** The problems that were logged last. */
  #said = "";

  constructor(file: WatchedFile, options: ReloadOptions) {
    this.#file = file;
    this.#options = options;
    this.#settledText = file.text;
  }

  /** Whether the file has changed and is not yet applied. */
  get isSettling(): boolean {
    return this.#candidate !== undefined;
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
      // The file was touched or reverted. The first poll has no earlier mark to compare with.
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

  /** Logs each problem on its own line and returns true. Returns false if the problems are the same as before. */
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

/** A mark that changes whenever the file does, or when another file takes its name. Nanoseconds do not fit into a number. */
async function markOf(path: string): Promise<string> {
  const { mtimeNs, ctimeNs, size, ino, dev } = await stat(path, { bigint: true });
  return [mtimeNs, ctimeNs, size, ino, dev].join(" ");
}

import { stat } from "node:fs/promises";
import type { Clock } from "../../shared/clock.ts";
import type { Checked, Problem } from "../../shared/document/problem.ts";
import type { LogFields, Logger } from "../../shared/logger.ts";
import { fileProblemOf, type ReadTextFile } from "../../shared/read-text-file.ts";
import { textOf } from "../../shared/text-of.ts";

/** The files that are reloaded when they change, as log and metrics name them. */
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
  /** False if the last valid one stays in use. */
  readonly taken: boolean;
}

/** Is told of each file that has changed. */
interface FileObserver {
  file(file: FileSeen): void;
}

/** A file that is reloaded when it changes. */
export interface WatchedFile {
  readonly name: FileSeen["name"];
  readonly path: string;
  /** The file's text when it was loaded at start. */
  readonly text: string;
  /** Checks the whole text and, if all of it is valid, applies it; the value is for the log. */
  readonly take: (text: string) => Checked<LogFields>;
  /** Called when the file was written or touched without a change of its content. */
  readonly touched?: () => void;
}

export interface ReloadOptions {
  readonly files: readonly WatchedFile[];
  readonly intervalMs: number;
  readonly readFile: ReadTextFile;
  readonly clock: Clock;
  readonly log: Logger;
  readonly observer: FileObserver;
}

/** The problem may be in another file that this one names, whose change does not show here. */
const RETRY_MS = 30_000;

/** Between the two reads of a file that has changed. */
const SETTLE_MS = 500;

/**
 * Polls the files, at once and then at the interval, until the signal aborts; never rejects. A changed file is applied as
 * a whole once two reads have returned the same text, because not every program writes a file atomically. An invalid file
 * is logged once, and the last valid one stays in effect. Polling works on every file system and through the links of a
 * Kubernetes ConfigMap, where notifications do not.
 */
export async function reloadFiles(options: ReloadOptions, signal: AbortSignal): Promise<void> {
  const { files, intervalMs, clock } = options;
  if (files.length === 0) return;
  const watches = files.map((file) => new FileWatch(file, options));
  while (!signal.aborted) {
    for (const watch of watches) await watch.look();
    const isSettling = watches.some((watch) => watch.isSettling);
    await clock
      .sleep(isSettling ? Math.min(intervalMs, SETTLE_MS) : intervalMs, signal)
      .catch(() => undefined);
  }
}

class FileWatch {
  readonly #file: WatchedFile;
  readonly #options: Pick<ReloadOptions, "readFile" | "clock" | "log" | "observer">;
  /** The mark and the text of the file when it was last applied or rejected. */
  #settledMark = "";
  #settledText: string;
  /** What the last read returned, if it differs. */
  #candidate: string | undefined;
  /** Since when the current file is invalid. */
  #refusedMs: number | undefined;
  /** The problems logged last. */
  #said = "";

  constructor(file: WatchedFile, options: Pick<ReloadOptions, "readFile" | "clock" | "log" | "observer">) {
    this.#file = file;
    this.#options = options;
    this.#settledText = file.text;
  }

  /** Whether the file has changed and is not applied yet. */
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
      // Touched, or reverted; the first poll has no earlier mark to compare with.
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

  /** Logs each problem on its own line, unless they are the same as before: then returns false. */
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

/** Differs if the file has changed or another file has its name. Nanoseconds do not fit into a number. */
async function markOf(path: string): Promise<string> {
  const { mtimeNs, ctimeNs, size, ino, dev } = await stat(path, { bigint: true });
  return [mtimeNs, ctimeNs, size, ino, dev].join(" ");
}

import { stat } from "node:fs/promises";
import type { Clock } from "../shared/clock.ts";
import type { Checked } from "../shared/document/problem.ts";
import type { Logger } from "../shared/logger.ts";
import { fileProblemOf, type ReadTextFile } from "./document/read-text-file.ts";

/** A file of the operator's that is taken in anew whenever it changes. */
export interface WatchedFile {
  /** For the log: `inventory`, `policy`. */
  readonly name: string;
  readonly path: string;
  /** As read at start. */
  readonly text: string;
  /** Checks the whole text, and takes it over only when all of it is right. */
  readonly take: (text: string) => Checked<unknown>;
}

export interface ReloadOptions {
  readonly files: readonly WatchedFile[];
  readonly intervalMs: number;
  readonly readFile: ReadTextFile;
  readonly clock: Clock;
  readonly log: Logger;
}

interface Seen {
  readonly file: WatchedFile;
  text: string;
  mark: string;
  problem: string | undefined;
}

/**
 * Looks at the files now and then until the signal aborts. A changed one is checked as a whole; with a problem the
 * last good one stays in force, and the problem is logged once. Looking works on every file system, and through the
 * links that a Kubernetes ConfigMap is changed by, where notifications do not.
 */
export async function reloadFiles(options: ReloadOptions, signal: AbortSignal): Promise<void> {
  const { files, intervalMs, clock } = options;
  if (files.length === 0) return;
  const all: Seen[] = files.map((file) => ({ file, text: file.text, mark: "", problem: undefined }));
  while (!signal.aborted) {
    try {
      await clock.sleep(intervalMs, signal);
    } catch {
      return;
    }
    for (const seen of all) await look(seen, options);
  }
}

async function look(seen: Seen, { readFile, log }: ReloadOptions): Promise<void> {
  const { name, path, take } = seen.file;
  const fields = { file: path };
  let text: string;
  try {
    const { mtimeMs, ctimeMs, size, ino } = await stat(path);
    const mark = [mtimeMs, ctimeMs, size, ino].join(" ");
    if (mark === seen.mark) return;
    text = readFile(path);
    seen.mark = mark;
  } catch (thrown) {
    seen.mark = "";
    const problem = fileProblemOf(thrown);
    if (problem !== seen.problem)
      log.error({ ...fields, problem }, `${name} not reloaded, the last one stays`);
    seen.problem = problem;
    return;
  }
  seen.problem = undefined;
  if (text === seen.text) return;
  seen.text = text;
  const taken = take(text);
  if (taken.ok) {
    for (const { source, message } of taken.warnings) log.warn({ source }, message);
    log.info(fields, `${name} reloaded`);
    return;
  }
  const problems = taken.problems.map(({ source, message }) => `${source}: ${message}`);
  log.error({ ...fields, problems }, `${name} has problems and is not taken over, the last one stays`);
}

import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Clock } from "../../../shared/clock.ts";
import type { Logger } from "../../../shared/logger.ts";
import { textOf } from "../../../shared/text-of.ts";
import { withTimeout } from "../../../shared/timeout.ts";
import { actionKey, fieldsOf, type LogFields } from "../../core/action/action.ts";
import { hookNamed } from "../../core/action/hooks.ts";
import type { ActionEvent, Observer, SeenAction } from "../../core/action/observer.ts";
import type { ActionLogConfig } from "./action-log-settings.ts";
import { appendBounded } from "./bounded-file.ts";
import { BLOCK_BYTES, cleanUp } from "./clean-up.ts";
import { fileName, folderName } from "./names.ts";
import { BufferLimit, PendingText } from "./pending-text.ts";
import { deliveryText, headerText, lineText, lostText, noteText, outcomeText } from "./text.ts";

export interface ActionLogsOptions extends ActionLogConfig {
  readonly clock: Clock;
  readonly log: Logger;
}

type Started = ActionEvent & { readonly kind: "started" };

/** The log file of one action until its report. */
interface ActionLog {
  readonly path: string;
  readonly action: SeenAction;
  readonly startedAt: Date;
  readonly header: string;
  /** Fields for the worker's log. */
  readonly fields: LogFields;
  readonly pending: PendingText;
  /** Whether no more text will follow. */
  ended: boolean;
  /** Whether the worker has logged that lines were dropped. */
  hasLoggedLoss: boolean;
  /** Whether the file contains a part of the log. */
  hasContent: boolean;
  /** Whether the last line in the file may be incomplete. */
  torn: boolean;
}

const MEBIBYTE = 1024 * 1024;
const MAX_FILE = MEBIBYTE;
const SHORTEST_FILE = 256 * 1024;
/** One file may use at most this fraction of the total size. */
const FILE_SHARE = 16;
/** Limit for the total of all text that is waiting to be written. */
const MAX_BUFFERED = 8 * MEBIBYTE;
const MAX_BUFFERED_FILES = 10_000;
const CLEAN_UP_INTERVAL_MS = 60 * 60_000;
/** Pause between attempts to write to a failing disk. */
const FAILED_PAUSE_MS = 1_000;
const CLOSE_MS = 5_000;

/**
 * Writes each action's log to its own file: `<directory>/<namespace>_<workflow>/<start>-<action>-<key>.log`. Lines are
 * buffered in memory, within limits, until they are written. Only one file at a time is open, so that a hanging disk blocks
 * only one of the worker's threads.
 */
export class ActionLogs {
  readonly observer: Observer = { action: (event) => this.#onEvent(event) };
  readonly #options: ActionLogsOptions;
  readonly #fileBytes: number;
  readonly #limit = new BufferLimit(MAX_BUFFERED);
  /** Running actions, by action key. */
  readonly #inFlight = new Map<string, ActionLog>();
  /** The logs of running actions, and of ended ones with unwritten text, by path. */
  readonly #logsByPath = new Map<string, Set<ActionLog>>();
  /** The paths with unwritten text, in the order in which they are written. */
  readonly #dirty = new Set<ActionLog>();
  readonly #closing = new AbortController();
  #writing: Promise<void> | undefined;
  #cleaning: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #failing = false;
  #cleanUpError = "";
  #lost = 0;
  /** Bytes that may be written until the next cleanup, which checks every file. */
  #roomBytes: number;

  constructor(options: ActionLogsOptions) {
    this.#options = options;
    this.#roomBytes = options.maxBytes / FILE_SHARE;
    this.#fileBytes = Math.min(MAX_FILE, Math.max(SHORTEST_FILE, Math.floor(options.maxBytes / FILE_SHARE)));
  }

  /** Starts the periodic cleanup. */
  start(): void {
    if (this.#timer || this.#closing.signal.aborted) return;
    this.#timer = setInterval(() => this.#cleanUp(), CLEAN_UP_INTERVAL_MS).unref();
    this.#cleanUp();
  }

  /** Writes the buffered text, within a few seconds. Never rejects. */
  async close(): Promise<void> {
    if (this.#closing.signal.aborted) return;
    clearInterval(this.#timer);
    const at = new Date(this.#options.clock.now()).toISOString();
    for (const log of this.#inFlight.values()) this.#end(log, noteText(`${at} the worker stopped`));
    this.#closing.abort();
    await withTimeout(CLOSE_MS, new AbortController().signal, () => this.#idle()).catch(() => undefined);
  }

  async #idle(): Promise<void> {
    while (this.#writing !== undefined) await this.#writing;
    await this.#cleaning;
  }

  #onEvent(event: ActionEvent): void {
    if (this.#closing.signal.aborted) return;
    if (event.kind === "started") this.#open(event);
    else if (event.kind === "line") this.#onLine(event);
    const log = this.#inFlight.get(event.action.key);
    if (!log) return;
    if (event.kind === "ended") this.#push(log, outcomeText(event.outcome, log.startedAt));
    else if (event.kind === "reported") {
      const text = deliveryText(event.delivery, event.at);
      // A rejected report is repeated.
      if (event.delivery === "rejected") this.#push(log, text);
      else this.#end(log, text);
    } else if (event.kind === "returned") {
      const at = event.at.toISOString();
      this.#end(log, noteText(`${at} not finished: the server serves it again`));
    }
  }

  /** Lines of a hook go to the file of its action. */
  #onLine({ action, line, at }: ActionEvent & { readonly kind: "line" }): void {
    const own = this.#inFlight.get(action.key);
    const hook = own ? undefined : hookNamed(action);
    const log = hook ? this.#inFlight.get(actionKey(hook.owner)) : own;
    if (log) this.#push(log, lineText(line, at, hook?.name));
  }

  #open(event: Started): void {
    const { action, startedAt, adopted } = event;
    const earlier = this.#inFlight.get(action.key);
    if (earlier) this.#end(earlier, noteText("another run begins"));
    const folder = join(this.#options.directory, folderName(action.workflowId));
    const short = join(folder, fileName(action, startedAt));
    const path = this.#isUsedByAnother(short, action)
      ? join(folder, fileName(action, startedAt, { wholeKey: true }))
      : short;
    const log: ActionLog = {
      path,
      action,
      startedAt,
      header: headerText(event),
      fields: fieldsOf(action, event.machine),
      pending: new PendingText(this.#fileBytes / 4, this.#limit),
      ended: false,
      hasLoggedLoss: false,
      hasContent: false,
      torn: false,
    };
    this.#inFlight.set(action.key, log);
    this.#logsByPath.set(path, (this.#logsByPath.get(path) ?? new Set()).add(log));
    if (!adopted) {
      this.#markDirty(log);
      return;
    }
    const at = new Date(this.#options.clock.now()).toISOString();
    this.#push(
      log,
      noteText(`${at} worker restarted, action adopted: lines may be missing or duplicated here`),
    );
  }

  #isUsedByAnother(path: string, { key }: SeenAction): boolean {
    return [...(this.#logsByPath.get(path) ?? [])].some((log) => log.action.key !== key);
  }

  #end(log: ActionLog, lastText: string): void {
    this.#push(log, lastText);
    log.ended = true;
    this.#inFlight.delete(log.action.key);
    if (this.#dirty.size > MAX_BUFFERED_FILES) this.#drop(log);
  }

  #push(log: ActionLog, text: string): void {
    const lost = log.pending.push(text);
    if (this.#failing) this.#lost += lost;
    else if (lost > 0 && !log.hasLoggedLoss) {
      log.hasLoggedLoss = true;
      this.#options.log.warn({ ...log.fields, file: log.path }, "action log incomplete: disk too slow");
    }
    this.#markDirty(log);
  }

  #markDirty(log: ActionLog): void {
    this.#dirty.add(log);
    this.#write();
  }

  #write(): void {
    this.#writing ??= this.#writeAll().finally(() => {
      this.#writing = undefined;
      if (this.#dirty.size > 0) this.#write();
    });
  }

  /** Writes all buffered text. Never rejects. */
  async #writeAll(): Promise<void> {
    // Wait, so that lines that arrive together are written together.
    await Promise.resolve();
    for (const log of this.#dirty) {
      if (this.#failing) await this.#pause();
      this.#dirty.delete(log);
      await this.#writeOne(log);
      if (log.ended && !this.#dirty.has(log)) this.#forget(log);
    }
  }

  async #writeOne(log: ActionLog): Promise<void> {
    const { text, lines, lost } = log.pending.take();
    const gap = lost > 0 ? lostText(lost) : "";
    try {
      await appendBounded(log.path, {
        text: `${log.torn ? "\n" : ""}${gap}${text}`,
        header: log.hasContent
          ? `${log.header}${noteText("the file was removed, starting a new one")}`
          : log.header,
        maxBytes: this.#fileBytes,
      });
    } catch (thrown) {
      log.torn = true;
      log.pending.lose(lines + lost);
      this.#lost += lines;
      this.#fail(thrown, log.path);
      return;
    }
    this.#recover();
    this.#roomBytes -= log.hasContent ? text.length : BLOCK_BYTES + text.length;
    log.hasContent = true;
    log.torn = false;
    if (this.#roomBytes < 0) this.#cleanUp();
  }

  #fail(thrown: unknown, file: string): void {
    // Further attempts for ended actions would fail one by one.
    for (const log of this.#dirty) {
      if (log.ended) this.#drop(log);
    }
    if (this.#failing) return;
    this.#failing = true;
    this.#options.log.warn({ file, error: textOf(thrown) }, "action log write failed");
  }

  #drop(log: ActionLog): void {
    this.#dirty.delete(log);
    this.#lost += log.pending.take().lines;
    this.#forget(log);
  }

  #recover(): void {
    if (!this.#failing) return;
    this.#failing = false;
    this.#options.log.info({ lost: this.#lost }, "action log writes recovered");
    this.#lost = 0;
  }

  #forget(log: ActionLog): void {
    const logs = this.#logsByPath.get(log.path);
    logs?.delete(log);
    if (logs?.size === 0) this.#logsByPath.delete(log.path);
  }

  /** Waits briefly, or until the worker stops. */
  async #pause(): Promise<void> {
    const { signal } = this.#closing;
    await sleep(FAILED_PAUSE_MS, undefined, { signal, ref: false }).catch(() => undefined);
  }

  #cleanUp(): void {
    if (this.#cleaning || this.#closing.signal.aborted) return;
    this.#roomBytes = this.#options.maxBytes / FILE_SHARE;
    this.#cleaning = this.#cleanUpNow().finally(() => {
      this.#cleaning = undefined;
    });
  }

  /** Removes old logs. Never rejects. */
  async #cleanUpNow(): Promise<void> {
    const { directory, maxAgeMs, clock, log } = this.#options;
    // Leave room for what is written until the next cleanup.
    const keptBytes = Math.ceil(this.#options.maxBytes * (1 - 1 / FILE_SHARE));
    try {
      const { removed, bytes } = await cleanUp({
        directory,
        maxAgeMs,
        maxBytes: keptBytes,
        nowMs: clock.now(),
        isOpen: (path) => this.#logsByPath.has(path),
        signal: this.#closing.signal,
      });
      this.#roomBytes += Math.max(0, keptBytes - bytes);
      this.#cleanUpError = "";
      if (removed > 0) log.debug({ directory, removed }, "old action logs removed");
    } catch (thrown) {
      const error = textOf(thrown);
      if (error !== this.#cleanUpError) log.warn({ directory, error }, "action log cleanup failed");
      this.#cleanUpError = error;
    }
  }
}

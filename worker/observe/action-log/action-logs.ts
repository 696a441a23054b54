import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Clock } from "../../../shared/clock.ts";
import type { Logger } from "../../../shared/logger.ts";
import { textOf } from "../../../shared/text-of.ts";
import { actionKey } from "../../action/action-key.ts";
import { fieldsOf, type LogFields } from "../../action/action-status.ts";
import { hookNamed } from "../../action/hooks.ts";
import type { ActionEvent, Observer, SeenAction } from "../../action/observer.ts";
import type { ActionLogConfig } from "../../config/worker-config.ts";
import { appendBounded } from "./bounded-file.ts";
import { BLOCK_BYTES, cleanUp } from "./clean-up.ts";
import { fileName, folderName } from "./names.ts";
import { PendingText, WaitingRoom } from "./pending-text.ts";
import { deliveryText, headerText, lineText, lostText, noteText, outcomeText } from "./text.ts";

export interface ActionLogsOptions extends ActionLogConfig {
  readonly clock: Pick<Clock, "now">;
  readonly log: Logger;
}

type Started = ActionEvent & { readonly kind: "started" };

/** One action's file, from its start to its report. */
interface ActionLog {
  readonly path: string;
  readonly action: SeenAction;
  readonly startedAt: Date;
  readonly header: string;
  /** For the worker's log. */
  readonly fields: LogFields;
  readonly pending: PendingText;
  /** Nothing comes after what is pending. */
  ended: boolean;
  /** It was said that lines of it give way. */
  saidLost: boolean;
  /** Something of it is in the file. */
  begun: boolean;
  /** The last line in the file may be half a line. */
  torn: boolean;
}

const MEBIBYTE = 1024 * 1024;
const LONGEST_FILE = MEBIBYTE;
const SHORTEST_FILE = 256 * 1024;
/** Of the room for all files, one may take this part at most. */
const FILE_PART = 16;
/** Of all files that wait to be written. */
const MOST_WAITING = 8 * MEBIBYTE;
const MOST_FILES_WAITING = 10_000;
const CLEAN_UP_INTERVAL_MS = 60 * 60_000;
/** A disk that does not take anything is not asked all the time. */
const FAILED_PAUSE_MS = 1_000;
const CLOSE_MS = 5_000;

/**
 * Keeps each action's own log in a file of its own: `<directory>/<namespace>_<workflow>/<start>-<action>-<key>.log`. Lines
 * wait in memory, within bounds, until the disk takes them; one file is written at a time and open no longer than
 * that, so that a disk that hangs holds one thread of the worker and no more.
 */
export class ActionLogs {
  readonly observer: Partial<Observer> = { action: (event) => this.#take(event) };
  readonly #options: ActionLogsOptions;
  readonly #fileBytes: number;
  readonly #room = new WaitingRoom(MOST_WAITING);
  /** By key. */
  readonly #atHand = new Map<string, ActionLog>();
  /** Those of actions at hand, and those whose last words are still to be written. */
  readonly #openPaths = new Set<string>();
  /** In the order in which they are written. */
  readonly #dirty = new Set<ActionLog>();
  readonly #closing = new AbortController();
  #writing: Promise<void> | undefined;
  #cleaning: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #failing = false;
  #saidUnclean = "";
  #lost = 0;
  #writtenBytes = 0;

  constructor(options: ActionLogsOptions) {
    this.#options = options;
    this.#fileBytes = Math.min(
      LONGEST_FILE,
      Math.max(SHORTEST_FILE, Math.floor(options.maxBytes / FILE_PART)),
    );
  }

  /** From now on, what is too old or too much goes. */
  start(): void {
    if (this.#timer || this.#closing.signal.aborted) return;
    this.#timer = setInterval(() => this.#cleanUp(), CLEAN_UP_INTERVAL_MS).unref();
    this.#cleanUp();
  }

  /** Writes what waits, for a few seconds at most. Never rejects. */
  async close(): Promise<void> {
    if (this.#closing.signal.aborted) return;
    clearInterval(this.#timer);
    const at = new Date(this.#options.clock.now()).toISOString();
    for (const log of this.#atHand.values()) this.#end(log, noteText(`${at} the worker stopped`));
    this.#closing.abort();
    const { promise: late, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, CLOSE_MS);
    await Promise.race([this.#idle(), late]);
    clearTimeout(timer);
  }

  async #idle(): Promise<void> {
    while (this.#writing) await this.#writing;
    await this.#cleaning;
  }

  #take(event: ActionEvent): void {
    if (this.#closing.signal.aborted) return;
    if (event.kind === "started") this.#open(event);
    else if (event.kind === "line") this.#takeLine(event);
    const log = this.#atHand.get(event.action.key);
    if (!log) return;
    if (event.kind === "ended") this.#push(log, outcomeText(event.outcome, log.startedAt));
    else if (event.kind === "reported") this.#end(log, deliveryText(event.delivery, event.at));
    else if (event.kind === "returned") {
      const at = event.at.toISOString();
      this.#end(log, noteText(`${at} not finished: the server serves it again`));
    }
  }

  /** A hook's lines go to its action's file. */
  #takeLine({ action, line, at }: ActionEvent & { readonly kind: "line" }): void {
    const own = this.#atHand.get(action.key);
    const hook = own ? undefined : hookNamed(action);
    const log = hook ? this.#atHand.get(actionKey(hook.owner)) : own;
    if (log) this.#push(log, lineText(line, at, hook?.name));
  }

  #open(event: Started): void {
    const { action, startedAt, adopted } = event;
    const again = this.#atHand.get(action.key);
    if (again) this.#end(again, noteText("another run begins"));
    const folder = join(this.#options.directory, folderName(action.workflowId));
    const short = join(folder, fileName(action, startedAt));
    const path = this.#isOthers(short, action)
      ? join(folder, fileName(action, startedAt, { wholeKey: true }))
      : short;
    const log: ActionLog = {
      path,
      action,
      startedAt,
      header: headerText(event),
      fields: fieldsOf(action, event.machine),
      pending: new PendingText(this.#fileBytes / 4, this.#room),
      ended: false,
      saidLost: false,
      begun: false,
      torn: false,
    };
    this.#atHand.set(action.key, log);
    this.#openPaths.add(path);
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

  #isOthers(path: string, { key }: SeenAction): boolean {
    const users = [...this.#atHand.values(), ...this.#dirty];
    return this.#openPaths.has(path) && users.some((log) => log.path === path && log.action.key !== key);
  }

  #end(log: ActionLog, lastText: string): void {
    this.#push(log, lastText);
    log.ended = true;
    this.#atHand.delete(log.action.key);
    if (this.#dirty.size > MOST_FILES_WAITING) this.#giveUp(log);
  }

  #push(log: ActionLog, text: string): void {
    const lost = log.pending.push(text);
    if (this.#failing) this.#lost += lost;
    else if (lost > 0 && !log.saidLost) {
      log.saidLost = true;
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

  /** Never rejects. */
  async #writeAll(): Promise<void> {
    // What comes in one piece is written in one.
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
        header: log.begun
          ? `${log.header}${noteText("the file was removed, starting a new one")}`
          : log.header,
        mostBytes: this.#fileBytes,
      });
    } catch (thrown) {
      log.torn = true;
      log.pending.lose(lines + lost);
      this.#lost += lines;
      this.#fail(thrown, log.path);
      return;
    }
    this.#recover();
    this.#writtenBytes += log.begun ? text.length : BLOCK_BYTES + text.length;
    log.begun = true;
    log.torn = false;
    if (this.#writtenBytes > this.#options.maxBytes / FILE_PART) this.#cleanUp();
  }

  #fail(thrown: unknown, file: string): void {
    // Those that have ended would be tried one after the other, each for nothing.
    for (const log of this.#dirty) {
      if (log.ended) this.#giveUp(log);
    }
    if (this.#failing) return;
    this.#failing = true;
    this.#options.log.warn({ file, error: textOf(thrown) }, "action log write failed");
  }

  #giveUp(log: ActionLog): void {
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
    const stillUsed = [...this.#atHand.values(), ...this.#dirty].some(({ path }) => path === log.path);
    if (!stillUsed) this.#openPaths.delete(log.path);
  }

  /** A while, or until the worker stops. */
  async #pause(): Promise<void> {
    const { signal } = this.#closing;
    await sleep(FAILED_PAUSE_MS, undefined, { signal, ref: false }).catch(() => undefined);
  }

  #cleanUp(): void {
    if (this.#cleaning || this.#closing.signal.aborted) return;
    this.#writtenBytes = 0;
    this.#cleaning = this.#cleanUpNow().finally(() => {
      this.#cleaning = undefined;
    });
  }

  /** Never rejects. */
  async #cleanUpNow(): Promise<void> {
    const { directory, maxAgeMs, maxBytes, clock, log } = this.#options;
    try {
      const removed = await cleanUp({
        directory,
        maxAgeMs,
        // Leaves room for what is written until the next time.
        mostBytes: maxBytes - Math.floor(maxBytes / FILE_PART),
        nowMs: clock.now(),
        isOpen: (path) => this.#openPaths.has(path),
        signal: this.#closing.signal,
      });
      this.#saidUnclean = "";
      if (removed > 0) log.debug({ directory, removed }, "old action logs removed");
    } catch (thrown) {
      const error = textOf(thrown);
      if (error !== this.#saidUnclean) log.warn({ directory, error }, "action log cleanup failed");
      this.#saidUnclean = error;
    }
  }
}

import type { Clock } from "../../clock.ts";
import { BmcError } from "../../contract/bmc-error.ts";
import { formatSeconds } from "../../duration.ts";
import type { Logger } from "../../logger.ts";
import { neverAborted } from "../../never-aborted.ts";
import { shortened } from "../../printable.ts";
import { type Access, defineOperations, type Plan, type Run } from "./access.ts";
import { ConsoleLines } from "./console-lines.ts";
import type { ConsoleDriver, ConsoleSink } from "./console-port.ts";
import { describeOffer } from "./finding.ts";

/**
 * A pattern with which lines are compared, such as a `RegExp`. Lines come from outside, so use patterns that take linear
 * time.
 */
export interface LinePattern {
  /** The text of the pattern for messages. */
  readonly source: string;
  /** Whether a part of the line matches. */
  readonly test: (line: string) => boolean;
}

/** What to watch the console for. */
export interface ConsoleRequest {
  /** The pattern that ends the wait. */
  readonly until: LinePattern;
  /** The pattern that ends the wait with a failure. */
  readonly failOn?: LinePattern | undefined;
  /** How long to wait. */
  readonly timeoutMs: number;
  /** Whether to end another session that has the console open. */
  readonly takeOver: boolean;
  /** Redacts each line before it is compared, logged and kept. */
  readonly redact?: (line: string) => string;
  /**
   * Called with the last lines as they arrive, and with whether another session was ended, for the report if the watch is
   * interrupted.
   */
  readonly onProgress?: (last: string, changed: boolean) => void;
}

/** The result of watching a console. */
export interface ConsoleReport {
  /** The pattern that a line matched. */
  readonly pattern: string;
  /** That line without control characters; at most 1,000 characters. */
  readonly line: string;
  /** The number of lines up to that line. */
  readonly lines: number;
  /** Whether another session was ended. */
  readonly changed: boolean;
  /** The result in one line for display. */
  readonly summary: string;
}

type ConsoleDrivers = { readonly console: ConsoleDriver };

export const consoleOperations = defineOperations({
  title: "serial console",
  methods: (run: Run<ConsoleDrivers>) => ({
    /**
     * Watches the serial console until a line matches, logs its lines as they arrive, and releases it. Writes nothing to the
     * console. Throws `busy` if another session has it open, `verify` if a line matches `failOn`, and `timeout` if none
     * matches in time; the last two include the last lines.
     */
    watchConsole: (request: ConsoleRequest, signal: AbortSignal = neverAborted()): Promise<ConsoleReport> =>
      run(signal, (access) => watchConsole(portOf(access, signal), request)),

    /** Returns what `watchConsole` would send. `before` is who has the console open; undefined if it is free. */
    planConsole: (
      takeOver: boolean,
      signal: AbortSignal = neverAborted(),
    ): Promise<Plan<string | undefined>> =>
      run(signal, (access) => planConsole(portOf(access, signal), takeOver)),
  }),
  check: async ({ read }, signal) => describeOffer(await read((session) => session.console.offered(signal))),
});

export interface ConsolePort {
  readonly clock: Clock;
  readonly log: Pick<Logger, "info" | "warn">;
  /** Whether the caller has cancelled or the time is up. */
  isStopped(): boolean;
  holder(): Promise<string | undefined>;
  plan(takesOver: boolean): Promise<readonly string[]>;
  takeOver(): Promise<void>;
  watch(sink: ConsoleSink, until: AbortSignal): Promise<void>;
  sleep(ms: number): Promise<void>;
  progress(text: string, limitMs?: number): void;
}

function portOf(
  { clock, log, read, write, open, sleep, progress }: Access<ConsoleDrivers>,
  signal: AbortSignal,
): ConsolePort {
  return {
    clock,
    log,
    isStopped: () => signal.aborted,
    holder: () => read((session) => session.console.holder(signal)),
    plan: (takesOver) => read(async (session) => session.console.plan(takesOver)),
    takeOver: () => write((session) => session.console.takeOver(signal)),
    watch: (sink, until) => open((session) => session.console.watch(sink, until, signal)),
    sleep,
    progress,
  };
}

/** A BMC that has dropped a session may count it as open until it has been idle for 60 s (IPMI 2.0 section 6.12.15). */
const STALE_SESSION_MS = 75_000;
const RECONNECT_MS = 1_000;

/** Watches the console until a line matches or the time is up. Opens it again if it is lost. */
export async function watchConsole(port: ConsolePort, request: ConsoleRequest): Promise<ConsoleReport> {
  const changed = await claim(port, request.takeOver);
  const startedMs = port.clock.monotonicMs();
  const leftMs = () => request.timeoutMs - (port.clock.monotonicMs() - startedMs);
  port.progress(`waiting for ${quoted(request.until)} on the console`, request.timeoutMs);
  const done = new AbortController();
  const over = new AbortController();
  const lines = new WatchedLines(request, port, done, (last) => request.onProgress?.(last, changed));
  port.clock.sleep(request.timeoutMs, over.signal).then(
    () => done.abort(),
    () => undefined,
  );
  try {
    await watchUntil(port, lines, done.signal);
  } finally {
    over.abort();
    lines.end();
  }
  const { match } = lines;
  const after = formatSeconds(request.timeoutMs - Math.max(0, leftMs()));
  if (!match) {
    const text = `no line of the console matched ${quoted(request.until)} within ${formatSeconds(request.timeoutMs)}`;
    throw new BmcError("timeout", `${text}: ${lines.last}`);
  }
  const { pattern, line } = match;
  if (pattern !== request.until) {
    throw new BmcError("verify", `the console matched ${quoted(pattern)} after ${after}: ${lines.last}`);
  }
  const summary = `console matched ${quoted(pattern)} after ${after}: ${shortened(line, SHOWN_CHARACTERS)}`;
  return { pattern: pattern.source, line, lines: lines.count, changed, summary };
}

/** Throws `busy` if another session has the console and keeps it. Resolves to true if a session was ended. */
async function claim(port: ConsolePort, takeOver: boolean): Promise<boolean> {
  const holder = await port.holder();
  if (holder === undefined) return false;
  if (!takeOver) throw inUse(holder);
  port.log.warn({ holder }, "ending another console session");
  await port.takeOver();
  return true;
}

function inUse(holder: string): BmcError {
  return new BmcError(
    "busy",
    `the console is in use by ${holder}; it may be taken over, which ends that session`,
  );
}

export async function planConsole(
  port: Pick<ConsolePort, "holder" | "plan">,
  takeOver: boolean,
): Promise<Plan<string | undefined>> {
  const before = await port.holder();
  if (before !== undefined && !takeOver) throw inUse(before);
  return { before, steps: await port.plan(before !== undefined) };
}

async function watchUntil(port: ConsolePort, lines: WatchedLines, done: AbortSignal): Promise<void> {
  let lostMs: number | undefined;
  for (;;) {
    lines.isOpen = false;
    try {
      await port.watch(lines, done);
      return;
    } catch (thrown) {
      const error = BmcError.from(thrown);
      const nowMs = port.clock.monotonicMs();
      if (lines.isOpen) lostMs = nowMs;
      if (done.aborted && lostMs !== undefined) return;
      if (port.isStopped() || lostMs === undefined || !mayReturn(error, nowMs - lostMs)) throw error;
      port.log.warn({ reason: error.message }, "console lost, reconnecting");
      lines.gap("the console was lost");
      await port.sleep(RECONNECT_MS);
    }
  }
}

function mayReturn({ class: errorClass }: BmcError, sinceMs: number): boolean {
  if (errorClass === "busy") return sinceMs < STALE_SESSION_MS;
  return errorClass === "timeout" || errorClass === "unreachable";
}

/** How long an unfinished line waits for more before it is compared, because a prompt has no end of line. */
const PROMPT_MS = 250;
/** The largest number of lines logged per second. */
const LOGGED_PER_SECOND = 200;
const LAST_LINES = 5;
const SHOWN_CHARACTERS = 120;

/** The lines of one watch, which are compared and logged. Keeps the last ones. */
class WatchedLines implements ConsoleSink {
  match: { readonly pattern: LinePattern; readonly line: string } | undefined;
  count = 0;
  isOpen = false;
  readonly #request: ConsoleRequest;
  readonly #port: Pick<ConsolePort, "clock" | "log">;
  readonly #done: AbortController;
  readonly #onLast: (last: string) => void;
  readonly #lines = new ConsoleLines((line) => this.#take(line));
  readonly #last: string[] = [];
  readonly #ended = new AbortController();
  #isPromptPending = false;
  #secondMs = Number.NEGATIVE_INFINITY;
  #logged = 0;
  #unlogged = 0;

  constructor(
    request: ConsoleRequest,
    port: Pick<ConsolePort, "clock" | "log">,
    done: AbortController,
    onLast: (last: string) => void,
  ) {
    this.#request = request;
    this.#port = port;
    this.#done = done;
    this.#onLast = onLast;
  }

  /** The last lines for the message of a failure. */
  get last(): string {
    if (this.#last.length === 0) return "the console was silent";
    return `its last lines were ${this.#last.join(" | ")}`;
  }

  opened(): void {
    this.isOpen = true;
    this.#onLast(this.last);
  }

  output(bytes: Uint8Array): void {
    if (this.match) return;
    this.#lines.push(bytes);
    if (this.#isPromptPending || this.match || this.#lines.unfinished === "") return;
    this.#isPromptPending = true;
    this.#port.clock.sleep(PROMPT_MS, this.#ended.signal).then(
      () => this.#comparePrompt(),
      () => undefined,
    );
  }

  gap(reason: string): void {
    if (this.match) return;
    this.#lines.finishLine();
    this.#port.log.warn({ reason }, "console output lost");
  }

  end(): void {
    this.#ended.abort();
    if (!this.match) this.#lines.finishLine();
    this.#tellUnlogged();
  }

  #comparePrompt(): void {
    this.#isPromptPending = false;
    if (!this.match && this.#matching(this.#lines.unfinished)) this.#lines.finishLine();
  }

  #take(text: string): void {
    if (this.match) return;
    const line = this.#request.redact?.(text) ?? text;
    this.count += 1;
    this.#last.push(shortened(line, SHOWN_CHARACTERS));
    if (this.#last.length > LAST_LINES) this.#last.shift();
    this.#onLast(this.last);
    this.#log(line);
    const pattern = this.#matching(line);
    if (!pattern) return;
    this.match = { pattern, line };
    this.#done.abort();
  }

  /** Returns the matching pattern. In the same line, a failure takes precedence over a success. */
  #matching(line: string): LinePattern | undefined {
    const { failOn, until } = this.#request;
    return [failOn, until].find((pattern) => pattern?.test(line));
  }

  #log(line: string): void {
    const nowMs = this.#port.clock.monotonicMs();
    if (nowMs - this.#secondMs >= 1_000) {
      this.#tellUnlogged();
      this.#secondMs = nowMs;
      this.#logged = 0;
    }
    if (this.#logged >= LOGGED_PER_SECOND) {
      this.#unlogged += 1;
      return;
    }
    this.#logged += 1;
    this.#port.log.info({}, `console: ${line}`);
  }

  #tellUnlogged(): void {
    if (this.#unlogged > 0)
      this.#port.log.warn({ lines: this.#unlogged }, "console lines not logged: too many");
    this.#unlogged = 0;
  }
}

function quoted({ source }: LinePattern): string {
  return JSON.stringify(shortened(source, SHOWN_CHARACTERS));
}

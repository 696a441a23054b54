import type { ServerResponse } from "node:http";
import type { Clock } from "../../../shared/clock.ts";
import type { Board } from "./board/board.ts";
import { changesTo, type Known, knownOf } from "./changes.ts";
import { MOMENTARY_HEADERS } from "./headers.ts";
import type { View } from "./views/view.ts";

export interface EventStreamsOptions {
  readonly board: Board;
  readonly clock: Clock;
  readonly viewAt: (url: URL) => View;
  /** Different for each start of the worker: what a reader has seen of another one says nothing. */
  readonly boot: string;
  readonly mostReaders?: number;
}

const MOST_READERS = 32;
/** So far apart are two looks at what has changed, however much that is. */
const PAUSE_MS = 500;
/** Changes come in bursts: the first one waits for those that come with it. */
const BURST_MS = 50;
const BEAT_MS = 15_000;
/** A reader that takes nothing for so long is let go. */
const STALLED_MS = 30_000;
/** How soon a browser comes back. */
const RETRY_MS = 3_000;

export const STREAM_HEADERS: Readonly<Record<string, string>> = {
  ...MOMENTARY_HEADERS,
  "Content-Type": "text/event-stream; charset=utf-8",
  // nginx would collect what it passes on.
  "X-Accel-Buffering": "no",
};

interface Reader {
  readonly response: ServerResponse;
  readonly url: URL;
  /** What it has been sent. */
  known: Known;
  /** Since when it has not taken what it was sent; nothing more is sent meanwhile, and so nothing piles up. */
  fullSinceMs?: number | undefined;
}

/**
 * Sends readers of pages what changes in them, as server-sent events (HTML standard, section 9.2). What a reader has is
 * compared with what there is at most twice a second, so that neither many changes nor a slow reader cost more than one page.
 */
export class EventStreams {
  readonly #options: EventStreamsOptions;
  readonly #mostReaders: number;
  readonly #readers = new Set<Reader>();
  readonly #closed = new AbortController();
  readonly #unsubscribe: () => void;
  #lookIsDue = false;
  #beats = false;
  #lookedMs = Number.NEGATIVE_INFINITY;

  constructor(options: EventStreamsOptions) {
    this.#options = options;
    this.#mostReaders = options.mostReaders ?? MOST_READERS;
    this.#unsubscribe = options.board.onChange(() => this.#scheduleLook());
  }

  get readers(): number {
    return this.#readers.size;
  }

  /** Names what a page that is made now shows. */
  get seen(): string {
    const { board, boot } = this.#options;
    return `${boot}-${board.revision}`;
  }

  /**
   * Begins a stream about the page at `url`. A reader that has seen what there is gets what changes from now on; any
   * other gets all of the page first.
   */
  open(response: ServerResponse, url: URL, seen: string | undefined): void {
    if (this.#closed.signal.aborted || this.#readers.size >= this.#mostReaders) {
      response.writeHead(503, { ...MOMENTARY_HEADERS, "Content-Type": "text/plain", "Retry-After": "30" });
      response.end("too many live pages\n");
      return;
    }
    response.writeHead(200, STREAM_HEADERS);
    const view = this.#options.viewAt(url);
    const known: Known = seen === this.seen ? knownOf(view) : new Map();
    const reader: Reader = { response, url, known };
    this.#readers.add(reader);
    response.on("close", () => this.#readers.delete(reader));
    response.on("error", () => this.#readers.delete(reader));
    response.on("drain", () => {
      reader.fullSinceMs = undefined;
      this.#scheduleLook();
    });
    this.#write(reader, `retry: ${RETRY_MS}\n\n`);
    this.#send(reader, view);
    void this.#beat();
  }

  /** Ends all streams; readers come back by themselves. */
  close(): void {
    this.#unsubscribe();
    this.#closed.abort();
    for (const { response } of this.#readers) response.end();
  }

  #scheduleLook(): void {
    if (this.#lookIsDue || this.#readers.size === 0) return;
    const { clock } = this.#options;
    const waitMs = Math.max(BURST_MS, this.#lookedMs + PAUSE_MS - clock.monotonicMs());
    this.#lookIsDue = true;
    clock.sleep(waitMs, this.#closed.signal).then(
      () => this.#look(),
      () => undefined,
    );
  }

  #look(): void {
    this.#lookIsDue = false;
    this.#lookedMs = this.#options.clock.monotonicMs();
    /** Readers of the same page share what was made for it. */
    const views = new Map<string, View>();
    for (const reader of this.#readers) {
      if (reader.fullSinceMs !== undefined) continue;
      const view = views.get(reader.url.href) ?? this.#options.viewAt(reader.url);
      views.set(reader.url.href, view);
      this.#send(reader, view);
    }
  }

  #send(reader: Reader, view: View): void {
    if (view.status === 404) {
      reader.response.end("event: gone\ndata: {}\n\n");
      this.#readers.delete(reader);
      return;
    }
    const changes = changesTo(view, reader.known);
    if (!changes) return;
    reader.known = knownOf(view);
    this.#write(reader, `id: ${this.seen}\nevent: update\ndata: ${JSON.stringify(changes)}\n\n`);
  }

  #write(reader: Reader, text: string): void {
    if (!reader.response.write(text)) reader.fullSinceMs ??= this.#options.clock.monotonicMs();
  }

  async #beat(): Promise<void> {
    if (this.#beats) return;
    this.#beats = true;
    const { clock } = this.#options;
    while (this.#readers.size > 0) {
      try {
        await clock.sleep(BEAT_MS, this.#closed.signal);
      } catch {
        return;
      }
      for (const reader of this.#readers) {
        const { fullSinceMs, response } = reader;
        if (fullSinceMs === undefined) this.#write(reader, "event: beat\ndata: {}\n\n");
        else if (clock.monotonicMs() - fullSinceMs >= STALLED_MS) response.destroy();
      }
    }
    this.#beats = false;
  }
}

import { randomUUID } from "node:crypto";
import type { ServerResponse } from "node:http";
import type { Clock } from "../../../shared/clock.ts";
import type { Board } from "./board/board.ts";
import { MOMENTARY_HEADERS, send } from "./headers.ts";
import { type Section, sectionsOf, type View } from "./views/view.ts";

/** The versions of the rows on a reader's page, in order, per section. */
type Known = ReadonlyMap<string, ReadonlyMap<string, string>>;

/** The updates per section: new or changed rows, and all IDs in order if the order has changed. */
type Changes = Readonly<
  Record<
    string,
    { readonly rows?: Readonly<Record<string, string>>; readonly order?: readonly string[] | undefined }
  >
>;

function knownOf(sections: readonly Section[]): Known {
  return new Map(sections.map(({ id, rows }) => [id, new Map(rows.map((row) => [row.id, row.version]))]));
}

/** The updates from `known` to the sections; undefined if there are none. A section that is gone has no more rows. */
function changesTo(sections: readonly Section[], known: Known): Changes | undefined {
  const changes = sections.flatMap(({ id, rows }) => {
    const before = known.get(id);
    const changed = rows.filter((row) => before?.get(row.id) !== row.version);
    const ids = before && [...before.keys()];
    const isInOrder = rows.length === ids?.length && rows.every((row, index) => row.id === ids[index]);
    if (changed.length === 0 && isInOrder) return [];
    const rendered = Object.fromEntries(changed.map((row) => [row.id, row.render().text]));
    const order = isInOrder ? undefined : rows.map((row) => row.id);
    return [[id, { ...(changed.length > 0 && { rows: rendered }), order }] as const];
  });
  const present = new Set(sections.map(({ id }) => id));
  const gone = [...known].flatMap(([id, rows]) =>
    present.has(id) || rows.size === 0 ? [] : [[id, { order: [] }] as const],
  );
  const all = [...changes, ...gone];
  return all.length === 0 ? undefined : Object.fromEntries(all);
}

const MAX_READERS = 32;
/** The shortest time between two updates. */
const MIN_INTERVAL_MS = 500;
/** Changes come in bursts, so the first one waits for the others. */
const BURST_MS = 50;
const HEARTBEAT_MS = 15_000;
/** A client that does not read for this long is disconnected. */
const STALLED_MS = 30_000;
/** When a browser reconnects. */
const RETRY_MS = 3_000;

export const STREAM_HEADERS: Readonly<Record<string, string>> = {
  ...MOMENTARY_HEADERS,
  "Content-Type": "text/event-stream; charset=utf-8",
  // nginx would buffer the stream.
  "X-Accel-Buffering": "no",
};

interface Reader {
  readonly response: ServerResponse;
  readonly address: string;
  readonly view: () => View;
  /** The versions of the rows that the reader has received. */
  known: Known;
  /** When the buffer became full. Nothing more is sent until it drains, so that memory stays bounded. */
  fullSinceMs?: number | undefined;
}

/**
 * Sends page changes to readers as server-sent events (HTML standard, section 9.2). Compares each reader's page with the
 * current one at most twice a second, so that many changes or a slow reader cost no more than one page.
 */
export class EventStreams {
  readonly #board: Board;
  readonly #clock: Clock;
  readonly #mostReaders: number;
  /** Identifies this start of the worker, because each start counts revisions from the beginning. */
  readonly #boot = randomUUID().slice(0, 8);
  readonly #readers = new Set<Reader>();
  readonly #closed = new AbortController();
  readonly #unsubscribe: () => void;
  #isUpdateDue = false;
  #isBeating = false;
  #updatedMs = Number.NEGATIVE_INFINITY;

  constructor(board: Board, clock: Clock, mostReaders = MAX_READERS) {
    this.#board = board;
    this.#clock = clock;
    this.#mostReaders = mostReaders;
    this.#unsubscribe = board.onChange(() => this.#scheduleUpdate());
  }

  /** Identifies the content of a page that is rendered now. */
  get seen(): string {
    return `${this.#boot}-${this.#board.revision}`;
  }

  /**
   * Starts a stream for the page at an address. A reader that has seen the current content gets later changes; any other first gets
   * the whole page.
   */
  open(response: ServerResponse, address: string, view: () => View, seen: unknown): void {
    if (this.#closed.signal.aborted || this.#readers.size >= this.#mostReaders) {
      const headers = { ...MOMENTARY_HEADERS, "Retry-After": "30" };
      send(response, 503, "text/plain", "too many live pages\n", headers);
      return;
    }
    const now = view();
    response.writeHead(200, STREAM_HEADERS);
    const known: Known = seen === this.seen ? knownOf(sectionsOf(now)) : new Map();
    const reader: Reader = { response, address, view, known };
    this.#readers.add(reader);
    response.on("close", () => this.#readers.delete(reader));
    response.on("error", () => this.#readers.delete(reader));
    response.on("drain", () => {
      reader.fullSinceMs = undefined;
      this.#scheduleUpdate();
    });
    this.#write(reader, `retry: ${RETRY_MS}\n\n`);
    this.#send(reader, now);
    void this.#beat();
  }

  /** Ends all streams; browsers reconnect. */
  close(): void {
    this.#unsubscribe();
    this.#closed.abort();
    for (const { response } of this.#readers) response.end();
  }

  #scheduleUpdate(): void {
    if (this.#isUpdateDue || this.#readers.size === 0) return;
    const waitMs = Math.max(BURST_MS, this.#updatedMs + MIN_INTERVAL_MS - this.#clock.monotonicMs());
    this.#isUpdateDue = true;
    this.#clock.sleep(waitMs, this.#closed.signal).then(
      () => this.#update(),
      () => undefined,
    );
  }

  #update(): void {
    this.#isUpdateDue = false;
    this.#updatedMs = this.#clock.monotonicMs();
    /** Readers of the same page share its view. */
    const views = new Map<string, View>();
    for (const reader of this.#readers) {
      if (reader.fullSinceMs !== undefined) continue;
      try {
        const view = views.get(reader.address) ?? reader.view();
        views.set(reader.address, view);
        this.#send(reader, view);
      } catch {
        // The browser reconnects, and its request logs the failure.
        this.#readers.delete(reader);
        reader.response.destroy();
      }
    }
  }

  #send(reader: Reader, view: View): void {
    if (view.status === 404) {
      reader.response.end("event: gone\ndata: {}\n\n");
      this.#readers.delete(reader);
      return;
    }
    const sections = sectionsOf(view);
    const changes = changesTo(sections, reader.known);
    if (!changes) return;
    reader.known = knownOf(sections);
    this.#write(reader, `id: ${this.seen}\nevent: update\ndata: ${JSON.stringify(changes)}\n\n`);
  }

  #write(reader: Reader, text: string): void {
    if (!reader.response.write(text)) reader.fullSinceMs ??= this.#clock.monotonicMs();
  }

  async #beat(): Promise<void> {
    if (this.#isBeating) return;
    this.#isBeating = true;
    while (this.#readers.size > 0) {
      try {
        await this.#clock.sleep(HEARTBEAT_MS, this.#closed.signal);
      } catch {
        return;
      }
      for (const reader of this.#readers) {
        const { fullSinceMs, response } = reader;
        if (fullSinceMs === undefined) this.#write(reader, "event: beat\ndata: {}\n\n");
        else if (this.#clock.monotonicMs() - fullSinceMs >= STALLED_MS) response.destroy();
      }
      // Charts and timelines also change with the time.
      this.#scheduleUpdate();
    }
    this.#isBeating = false;
  }
}

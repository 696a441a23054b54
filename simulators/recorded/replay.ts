import type { RecordedExchange } from "../../shared/recording/recording.ts";
import type { Answer } from "../redfish/answer.ts";
import { isBody } from "./resources.ts";

const AT_ONCE_MS = 200;

/** What followed a change, or what preceded the first one. */
interface Episode {
  readonly change: RecordedExchange | undefined;
  /** The reads by request, in order of time. */
  readonly reads: ReadonlyMap<string, readonly RecordedExchange[]>;
}

/** The recorded answer to a request. */
export interface Played {
  readonly answer: Answer;
  /** Whether the change was accepted; true for a read. */
  readonly isAccepted: boolean;
}

/**
 * Recorded exchanges that are repeated: what a change was answered, and what each resource showed how long after it. This
 * holds until the next change, which is answered as recorded or else by the machine.
 */
export class Replay {
  readonly #episodes: readonly Episode[];
  readonly #speed: number;
  /** The texts that changes requested, by field and by the text that the recording has instead. */
  readonly #asked = new Map<string, string>();
  /** The index of the last answer in the current episode, by request. */
  readonly #given = new Map<string, number>();
  #current = -1;
  #startedMs = 0;

  /** Replays `speed` times as fast as recorded. */
  constructor(exchanges: readonly RecordedExchange[], speed: number) {
    this.#episodes = episodesOf(exchanges);
    this.#speed = speed;
  }

  /** Returns undefined if the request was not recorded. `request` is the method and the path with its query. */
  play(request: string, body: unknown): Played | undefined {
    if (this.#episodes.length === 0) return undefined;
    if (!isRead(request)) return this.#change(request, body);
    if (this.#current < 0 && this.#episodes[0]?.change === undefined) this.#begin(0);
    const episode = this.#episodes[this.#current];
    const reads = episode?.reads.get(request);
    if (!episode || !reads) return undefined;
    const firstMs =
      episode.change?.atMs ?? Math.min(...[...episode.reads.values()].map(([one]) => one?.atMs ?? 0));
    const elapsedMs = (Date.now() - this.#startedMs) * this.#speed + firstMs;
    const read = this.#readAt(request, reads, elapsedMs);
    return read && { answer: this.#answer(read), isAccepted: true };
  }

  /**
   * Chooses an answer by time. Answers that were recorded in quick succession are chosen by order, so that an occasional
   * answer of a BMC occurs as often as it did.
   */
  #readAt(
    request: string,
    reads: readonly RecordedExchange[],
    elapsedMs: number,
  ): RecordedExchange | undefined {
    const now = Math.max(
      0,
      reads.findLastIndex(({ atMs }) => atMs <= elapsedMs),
    );
    const isLater = (index: number) =>
      (reads[index]?.atMs ?? Infinity) - (reads[index - 1]?.atMs ?? -Infinity) > AT_ONCE_MS;
    let [first, last] = [now, now];
    while (!isLater(first)) first--;
    while (!isLater(last + 1)) last++;
    const index = Math.min(last, Math.max(first, (this.#given.get(request) ?? -1) + 1));
    this.#given.set(request, index);
    return reads[index];
  }

  /** Returns what the resources showed last, by path, which is what stays. */
  settled(): readonly (readonly [string, unknown])[] {
    const reads = this.#episodes[this.#current]?.reads ?? new Map<string, readonly RecordedExchange[]>();
    return [...reads].flatMap(([request, list]) => {
      const last = list.at(-1);
      return last?.status === 200 && isBody(last.body)
        ? [[request.replace(/^GET /, ""), this.#asAsked(last.body)] as const]
        : [];
    });
  }

  #change(request: string, body: unknown): Played | undefined {
    const fits = ({ change }: Episode) =>
      change?.request === request && isAsRecorded(change.sent?.body, body);
    const next = this.#episodes.findIndex((episode, index) => index > this.#current && fits(episode));
    const index = next >= 0 ? next : this.#episodes.findIndex(fits);
    this.#begin(index >= 0 ? index : this.#episodes.length);
    const change = this.#episodes[index]?.change;
    this.#ask(change?.sent?.body, body);
    return change && { answer: this.#answer(change), isAccepted: (change.status ?? 0) < 300 };
  }

  #begin(index: number): void {
    this.#current = index;
    this.#startedMs = Date.now();
    this.#given.clear();
  }

  #answer({ status, headers = {}, body, ms, error }: RecordedExchange): Answer {
    const delayMs = ms / this.#speed;
    if (status === undefined) return { status: 0, drops: error ?? "no answer", delayMs };
    return { status, headers: withoutFraming(headers), body: this.#asAsked(body), delayMs };
  }

  /**
   * Records that a text was requested other than the recorded one, such as an image whose address the recording has
   * replaced.
   */
  #ask(recorded: unknown, sent: unknown, field = ""): void {
    if (typeof recorded === "string" && typeof sent === "string") {
      if (recorded !== "") this.#asked.set(askedKey(field, recorded), sent);
    } else if (Array.isArray(recorded) && Array.isArray(sent)) {
      for (const [index, entry] of recorded.entries()) this.#ask(entry, sent[index], field);
    } else if (isBody(recorded) && isBody(sent)) {
      for (const [name, value] of Object.entries(recorded)) this.#ask(value, sent[name], name);
    }
  }

  /** Replaces recorded texts by the requested ones, in the same fields, wherever they are shown. */
  #asAsked(body: unknown, field = ""): unknown {
    if (this.#asked.size === 0) return body;
    if (typeof body === "string") return this.#asked.get(askedKey(field, body)) ?? body;
    if (Array.isArray(body)) return body.map((entry) => this.#asAsked(entry, field));
    if (!isBody(body)) return body;
    return Object.fromEntries(
      Object.entries(body).map(([name, value]) => [name, this.#asAsked(value, name)]),
    );
  }
}

/** Removes the headers that describe how the body was sent: its length and encoding. */
export function withoutFraming(headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const kept = Object.entries(headers).filter(
    ([name]) => !/^(content-(length|encoding)|transfer-encoding)$/i.test(name),
  );
  return Object.fromEntries(kept);
}

const askedKey = (field: string, text: string) => JSON.stringify([field, text]);

function isRead(request: string): boolean {
  return request.startsWith("GET ");
}

function episodesOf(exchanges: readonly RecordedExchange[]): readonly Episode[] {
  const episodes: { change: RecordedExchange | undefined; reads: Map<string, RecordedExchange[]> }[] = [];
  for (const exchange of exchanges.toSorted((one, other) => one.atMs - other.atMs)) {
    const last = episodes.at(-1);
    if (!isRead(exchange.request)) episodes.push({ change: exchange, reads: new Map() });
    else if (!last) episodes.push({ change: undefined, reads: new Map([[exchange.request, [exchange]]]) });
    else last.reads.set(exchange.request, [...(last.reads.get(exchange.request) ?? []), exchange]);
  }
  return episodes;
}

/** Whether a body has what the recorded one has. Values that the recording has removed or replaced may be any. */
function isAsRecorded(recorded: unknown, sent: unknown): boolean {
  if (recorded === undefined || recorded === null || recorded === "[redacted]") return true;
  if (!isBody(recorded))
    return Array.isArray(recorded) ? Array.isArray(sent) : typeof recorded !== "boolean" || recorded === sent;
  if (!isBody(sent)) return false;
  return Object.entries(recorded).every(([name, value]) =>
    name === "ResetType" ? value === sent[name] : isAsRecorded(value, sent[name]),
  );
}

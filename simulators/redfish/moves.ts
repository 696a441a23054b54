import type { Answer } from "./answer.ts";

interface Move {
  readonly places: readonly [string, string];
  /** How many more requests pass before it. */
  toSkip: number;
}

/**
 * Resources that change places between two requests, such as blades, drives, accounts or keys: what was at one path, with all that is
 * below it, is at the other from then on. An ID that is a place stays with the place.
 */
export class Moves {
  readonly #moves: Move[] = [];

  /** Exchanges two paths once `afterRequests` more requests have been answered. */
  add(one: string, other: string, afterRequests: number): void {
    this.#moves.push({ places: [one, other], toSkip: afterRequests });
  }

  /** To be called with each request, before it is answered. */
  count(): void {
    for (const move of this.#moves) move.toSkip--;
  }

  /** The path at which the simulator has what a client sees at `path`. */
  within(path: string): string {
    return this.#done.toReversed().reduce(exchanged, path);
  }

  /** The body of a request or, `outward`, of an answer, with its links. */
  body(value: unknown, outward: boolean): unknown {
    const done = this.#done;
    if (done.length === 0 || value === undefined) return value;
    const order = outward ? done : done.toReversed();
    return JSON.parse(JSON.stringify(value), (_, each) =>
      typeof each === "string" && each.startsWith("/") ? order.reduce(exchanged, each) : each,
    );
  }

  /** The answer to a request for `path`, as a client sees it. */
  answer(answer: Answer, path: string): Answer {
    if (this.#done.length === 0) return answer;
    const body = this.body(answer.body, true);
    const inner = this.within(path);
    const isAtPlace =
      typeof body === "object" && body !== null && "Id" in body && body.Id === lastPart(inner);
    const location = answer.headers?.["Location"];
    return {
      ...answer,
      body: isAtPlace ? { ...body, Id: lastPart(path) } : body,
      ...(location && { headers: { ...answer.headers, Location: this.#done.reduce(exchanged, location) } }),
    };
  }

  get #done(): readonly Move[] {
    return this.#moves.filter(({ toSkip }) => toSkip < 0);
  }
}

function exchanged(path: string, { places: [one, other] }: Move): string {
  const isAt = (place: string) => path === place || path.startsWith(`${place}/`);
  if (isAt(one)) return other + path.slice(one.length);
  return isAt(other) ? one + path.slice(other.length) : path;
}

const lastPart = (path: string) => path.split("/").at(-1);

import type { Answer } from "./answer.ts";

interface Move {
  readonly places: readonly [string, string];
  /** The number of requests that pass before the move. */
  toSkip: number;
}

/**
 * Resources that exchange paths between two requests, such as blades, drives, accounts or keys: everything at or below one
 * path is then at the other. An ID that is a location stays with the location.
 */
export class Moves {
  readonly #moves: Move[] = [];

  /** Exchanges two paths after `afterRequests` more requests have been answered. */
  add(one: string, other: string, afterRequests: number): void {
    this.#moves.push({ places: [one, other], toSkip: afterRequests });
  }

  /** Counts a request. Called before each is answered. */
  count(): void {
    for (const move of this.#moves) move.toSkip--;
  }

  /** Returns the simulator's path for a path that a client uses. */
  within(path: string): string {
    return this.#done.toReversed().reduce(exchanged, path);
  }

  /** Translates the links in the body of a request or, if `outward`, of an answer. */
  body(value: unknown, outward: boolean): unknown {
    const done = this.#done;
    if (done.length === 0 || value === undefined) return value;
    const order = outward ? done : done.toReversed();
    return JSON.parse(JSON.stringify(value), (_, each) =>
      typeof each === "string" && each.startsWith("/") ? order.reduce(exchanged, each) : each,
    );
  }

  /** Translates the answer to a request for `path` into what a client sees. */
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

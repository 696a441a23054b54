/** Something that goes wrong with the next requests that fit. */
export interface Fault {
  readonly kind: /** Closes the connection before the request is carried out. */
    | "close-before"
    /** Resets the connection in place of carrying the request out. */
    | "reset-before"
    /** Carries the request out, then closes the connection without an answer. */
    | "close-after"
    /** Carries the request out, then resets the connection. */
    | "reset-after"
    /** Answers as if it had carried it out, and has not. */
    | "forget"
    /** Carries it out; a gateway in front of it answers `status` with a page of its own. */
    | "gateway"
    /** Carries it out and never answers. */
    | "silent"
    /** Sends the headers, then the body so slowly that it never ends. */
    | "slow-body"
    /** Closes the connection in the middle of the body. */
    | "truncated"
    /** A whole body that is no JSON. */
    | "bad-json"
    | "wrong-type"
    | "oversized"
    /** `status` with `retryAfter` and a message, nothing carried out. */
    | "refuse"
    /** `status` to `location`, nothing carried out. */
    | "redirect";
  readonly method?: string;
  readonly path?: RegExp;
  /** How often; 1 when absent. */
  readonly times?: number;
  /** How many that fit pass before it. */
  readonly skip?: number;
  /** Requests pass for as long as this holds. */
  readonly unless?: () => boolean;
  readonly status?: number;
  readonly retryAfter?: string;
  readonly messageId?: string;
  /** With `refuse`: what the BMC says. */
  readonly message?: string;
  readonly location?: string;
}

/** Faults waiting for their requests, in the order they were added. */
export class FaultQueue {
  readonly #waiting: { readonly fault: Fault; toSkip: number; left: number }[] = [];

  add(fault: Fault): void {
    this.#waiting.push({ fault, toSkip: fault.skip ?? 0, left: fault.times ?? 1 });
  }

  clear(): void {
    this.#waiting.length = 0;
  }

  take(method: string, path: string): Fault | undefined {
    const entry = this.#waiting.find(({ fault, left }) => {
      return (
        left > 0 &&
        (fault.method ?? method) === method &&
        (fault.path?.test(path) ?? true) &&
        !fault.unless?.()
      );
    });
    if (!entry) return undefined;
    if (entry.toSkip > 0) {
      entry.toSkip--;
      return undefined;
    }
    entry.left--;
    return entry.fault;
  }
}

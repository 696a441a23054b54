/** A fault of the next matching requests. */
export interface Fault {
  readonly kind: /** Closes the connection before the request is carried out. */
    | "close-before"
    /** Resets the connection without carrying the request out. */
    | "reset-before"
    /** Carries the request out, then closes the connection without an answer. */
    | "close-after"
    /** Carries the request out, then resets the connection. */
    | "reset-after"
    /** Answers as if the request had been carried out, without doing so. */
    | "forget"
    /** Carries the request out, but a gateway in front answers `status` with its own page. */
    | "gateway"
    /** Carries the request out and never answers. */
    | "silent"
    /** Sends the headers, then the body so slowly that it never ends. */
    | "slow-body"
    /** Closes the connection in the middle of the body. */
    | "truncated"
    /** Sends a complete body that is not JSON. */
    | "bad-json"
    | "wrong-type"
    | "oversized"
    /** Answers `status` with `retryAfter` and a message, without carrying the request out. */
    | "refuse"
    /** Redirects to `location` with `status`, without carrying the request out. */
    | "redirect";
  readonly method?: string;
  readonly path?: RegExp;
  /** The number of requests. Defaults to 1. */
  readonly times?: number;
  /** The number of matching requests that pass first. */
  readonly skip?: number;
  /** Requests pass while this returns true. */
  readonly unless?: () => boolean;
  readonly status?: number;
  readonly retryAfter?: string;
  readonly messageId?: string;
  /** The BMC's message for `refuse`. */
  readonly message?: string;
  readonly location?: string;
}

/** The faults that wait for their requests, in the order in which they were added. */
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

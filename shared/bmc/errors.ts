import type { ErrorClass } from "../contract/error-class.ts";
import { TimeoutReached } from "../timeout.ts";

export interface BmcErrorOptions {
  readonly cause?: unknown;
  /** How long the BMC asked us to wait before asking again. */
  readonly retryAfterMs?: number;
  /** True when a write was sent and its answer was lost: it may have been carried out, or a part of it. */
  readonly uncertain?: boolean;
}

/** A failure with its class, which alone decides about retries and the exit code. */
export class BmcError extends Error {
  override readonly name = "BmcError";
  readonly class: ErrorClass;
  readonly retryAfterMs: number | undefined;
  readonly uncertain: boolean;

  constructor(errorClass: ErrorClass, message: string, options: BmcErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.class = errorClass;
    this.retryAfterMs = options.retryAfterMs;
    this.uncertain = options.uncertain ?? false;
  }

  /** Any thrown value as a BmcError: aborts become `cancelled`, elapsed waits `timeout`, the rest `internal`. */
  static from(thrown: unknown): BmcError {
    if (thrown instanceof BmcError) return thrown;
    if (thrown instanceof TimeoutReached) return new BmcError("timeout", thrown.message, { cause: thrown });
    if (thrown instanceof Error && thrown.name === "AbortError") {
      return new BmcError("cancelled", "cancelled", { cause: thrown });
    }
    const message = thrown instanceof Error ? thrown.message : String(thrown);
    return new BmcError("internal", message, { cause: thrown });
  }
}

import { textOf } from "../text-of.ts";
import { TimeoutReached } from "../timeout.ts";
import type { AuthRefusal, ErrorClass } from "./error-class.ts";
import { oneLine } from "./result.ts";

/** Facts about a failure in addition to its class and message. */
export interface BmcErrorOptions {
  /** The error that was caught. */
  readonly cause?: unknown;
  /** How long the BMC asked to wait before the next request. */
  readonly retryAfterMs?: number;
  /** Set if a write was sent and its answer was lost, so that it may have been carried out completely or partly. */
  readonly uncertain?: boolean;
  /** Set if a read got an answer that BMCs give only briefly, so that the next read may succeed. */
  readonly transient?: boolean;
  /** Set if something else uses the machine for a while. The call is repeated until the caller's deadline. */
  readonly locked?: boolean;
  /** What was refused, with class `auth`. Default: what the cause says, otherwise the login. */
  readonly refused?: AuthRefusal;
}

/**
 * A failure with its class, which alone decides about retries and the exit code. Its message is one printable
 * line for people, a line per problem with class `usage`, and begins with the provider. It extends `Error`.
 * @example
 * import { BmcClient, BmcError, Connection } from "@pbnj-worker/bmc";
 *
 * const bmc = new BmcClient(Connection.parse({ host: "192.0.2.11", username: "admin", password: "wrong" }));
 * try {
 *   await bmc.getPower(AbortSignal.timeout(60_000));
 * } catch (error) {
 *   if (!(error instanceof BmcError)) throw error;
 *   console.log(error.class, error.refused);
 *   // auth login
 * } finally {
 *   await bmc.close();
 * }
 */
export class BmcError extends Error {
  /** The name of this class of errors. */
  override readonly name = "BmcError";
  /** The error class, which alone decides about retries. */
  readonly class: ErrorClass;
  /** How long the BMC asked to wait, in milliseconds. */
  readonly retryAfterMs: number | undefined;
  /** Whether a change was sent and its answer was lost, so that it may have been carried out completely or partly. */
  readonly uncertain: boolean;
  /** Whether something else used the machine, so that the call was repeated until the caller's deadline. */
  readonly locked: boolean;
  /** Whether a read failed in a way that may pass within seconds. */
  readonly transient: boolean;
  /** What a refusal of class `auth` concerned; undefined for every other class. */
  readonly refused: AuthRefusal | undefined;

  /** For providers and tests. The library itself creates the errors that it throws. */
  constructor(errorClass: ErrorClass, message: string, options: BmcErrorOptions = {}) {
    const said = errorClass === "usage" ? message : oneLine(message);
    super(said, options.cause === undefined ? undefined : { cause: options.cause });
    this.class = errorClass;
    this.retryAfterMs = options.retryAfterMs;
    this.uncertain = options.uncertain ?? false;
    this.locked = options.locked ?? false;
    this.transient = options.transient ?? false;
    this.refused = errorClass === "auth" ? (options.refused ?? causeRefused(options.cause)) : undefined;
  }

  /** Converts any thrown value to a BmcError: aborts become `cancelled`, timeouts `timeout`, others `internal`. */
  static from(thrown: unknown): BmcError {
    if (thrown instanceof BmcError) return thrown;
    if (thrown instanceof TimeoutReached) return new BmcError("timeout", thrown.message, { cause: thrown });
    if (thrown instanceof Error && thrown.name === "AbortError") {
      return new BmcError("cancelled", "cancelled", { cause: thrown });
    }
    const message = textOf(thrown);
    // This is the reason of `AbortSignal.timeout`.
    const isTimeout = thrown instanceof DOMException && thrown.name === "TimeoutError";
    return new BmcError(isTimeout ? "timeout" : "internal", message, { cause: thrown });
  }

  /**
   * Converts the reason of a signal: its own `BmcError`, otherwise `timeout` for an elapsed wait and `cancelled` for
   * everything else.
   */
  static ofAbort({ reason }: AbortSignal): BmcError {
    const error = BmcError.from(reason);
    if (error === reason || error.class !== "internal") return error;
    return new BmcError("cancelled", error.message, { cause: reason });
  }
}

/**
 * What the cause says was refused, and the login if in doubt. A wrong guess then costs one attempt; the opposite could lock
 * an account.
 */
function causeRefused(cause: unknown): AuthRefusal {
  return (cause instanceof BmcError ? cause.refused : undefined) ?? "login";
}

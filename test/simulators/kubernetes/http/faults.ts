import { ApiFailure } from "../api/failure.ts";
import { matchesRequest, type RequestMatcher, type SeenRequest } from "./seen-request.ts";

export interface FailureAnswer {
  readonly status: number;
  /** Sent as the Retry-After header and in the details. */
  readonly retryAfterSeconds?: number;
  /** The Status' reason; the usual one of the code when absent. */
  readonly reason?: string;
  readonly message?: string;
  /** 1 when absent. */
  readonly times?: number;
}

/** What befalls a request. */
export type Fault =
  | { readonly kind: "fail"; readonly failure: ApiFailure }
  | { readonly kind: "hang" }
  | { readonly kind: "lose-answer" };

/** A fault that waits for its requests. */
export interface PlannedFault {
  /** Requests that met it. */
  readonly hits: number;
  /** It befalls no request any more. */
  end(): void;
}

const REASONS: Readonly<Record<number, string>> = {
  400: "BadRequest",
  401: "Unauthorized",
  403: "Forbidden",
  404: "NotFound",
  409: "Conflict",
  410: "Expired",
  413: "RequestEntityTooLarge",
  422: "Invalid",
  429: "TooManyRequests",
  500: "InternalError",
  503: "ServiceUnavailable",
  504: "Timeout",
};

interface Plan {
  readonly matcher: RequestMatcher;
  readonly fault: Fault;
  left: number;
  hits: number;
}

/** What goes wrong, told beforehand. */
export class Faults {
  readonly #plans: Plan[] = [];

  fail(
    matcher: RequestMatcher,
    { status, retryAfterSeconds, reason, message, times = 1 }: FailureAnswer,
  ): PlannedFault {
    const failure = new ApiFailure(
      status,
      reason ?? REASONS[status] ?? "Unknown",
      message ?? `the server answers ${status} because a test wants it`,
      retryAfterSeconds === undefined ? undefined : { retryAfterSeconds },
    );
    return this.#plan(matcher, { kind: "fail", failure }, times);
  }

  hang(matcher: RequestMatcher, times = 1): PlannedFault {
    return this.#plan(matcher, { kind: "hang" }, times);
  }

  loseAnswer(matcher: RequestMatcher, times = 1): PlannedFault {
    return this.#plan(matcher, { kind: "lose-answer" }, times);
  }

  /** The fault that befalls this request, if any. */
  take(request: SeenRequest): Fault | undefined {
    const plan = this.#plans.find(({ matcher, left }) => left > 0 && matchesRequest(matcher, request));
    if (!plan) return undefined;
    plan.left--;
    plan.hits++;
    return plan.fault;
  }

  #plan(matcher: RequestMatcher, fault: Fault, times: number): PlannedFault {
    const plan: Plan = { matcher, fault, left: times, hits: 0 };
    this.#plans.push(plan);
    return {
      get hits() {
        return plan.hits;
      },
      end() {
        plan.left = 0;
      },
    };
  }
}

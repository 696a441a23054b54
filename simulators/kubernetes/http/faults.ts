import { ApiFailure } from "../api/failure.ts";
import { matchesRequest, type RequestMatcher, type SeenRequest } from "./request.ts";

export interface FailureAnswer {
  readonly status: number;
  /** The Retry-After header, which is also in the details. */
  readonly retryAfterSeconds?: number;
  /** The reason. Defaults to the usual one of the status. */
  readonly reason?: string;
  /** The number of requests. Defaults to 1. */
  readonly times?: number;
}

export type Fault =
  | { readonly kind: "fail"; readonly failure: ApiFailure }
  | { readonly kind: "hang" }
  | { readonly kind: "lose-answer" };

export interface PlannedFault {
  /** The number of requests that the fault affected. */
  readonly hits: number;
  /** Ends the fault. */
  end(): void;
}

const REASONS: Readonly<Record<number, string>> = {
  403: "Forbidden",
  409: "Conflict",
  410: "Expired",
  429: "TooManyRequests",
  500: "InternalError",
  503: "ServiceUnavailable",
};

interface Plan {
  readonly matcher: RequestMatcher;
  readonly fault: Fault;
  remaining: number;
  hits: number;
}

/** Faults that tests plan for later requests. */
export class Faults {
  readonly #plans: Plan[] = [];

  fail(matcher: RequestMatcher, answer: FailureAnswer): PlannedFault {
    const { status, retryAfterSeconds, reason = REASONS[status] ?? "Unknown", times = 1 } = answer;
    const failure = new ApiFailure(status, reason, `planned failure ${status}`, retryAfterSeconds);
    return this.plan(matcher, { kind: "fail", failure }, times);
  }

  plan(matcher: RequestMatcher, fault: Fault, times: number): PlannedFault {
    const plan: Plan = { matcher, fault, remaining: times, hits: 0 };
    this.#plans.push(plan);
    return {
      get hits() {
        return plan.hits;
      },
      end() {
        plan.remaining = 0;
      },
    };
  }

  /** Returns the fault for this request, if any, and counts it as used. */
  take(request: SeenRequest): Fault | undefined {
    const plan = this.#plans.find(
      ({ matcher, remaining }) => remaining > 0 && matchesRequest(matcher, request),
    );
    if (!plan) return undefined;
    plan.remaining--;
    plan.hits++;
    return plan.fault;
  }
}

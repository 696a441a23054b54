import * as z from "zod/mini";
import type { ErrorClass } from "../../../shared/contract/error-class.ts";
import { oneLine } from "../../../shared/contract/result.ts";
import { isTooDeep } from "../../../shared/json-depth.ts";

/**
 * Why a request failed: meta/v1 `StatusReason`, plus `unreachable` (no response, so the request may have been
 * executed) and `unexpected` (a response that cannot be parsed).
 */
export type KubernetesReason =
  | "unauthorized"
  | "forbidden"
  | "not-found"
  /** The CRD is not installed. */
  | "no-such-kind"
  | "already-exists"
  | "conflict"
  /** The API no longer has the resource version or page: list again. */
  | "expired"
  | "invalid"
  | "too-many-requests"
  | "unavailable"
  | "unreachable"
  | "timeout"
  | "unexpected";

/** A failed request to the Kubernetes API. The message is one line without secrets. */
export class KubernetesError extends Error {
  override readonly name = "KubernetesError";
  readonly reason: KubernetesReason;
  readonly status: number | undefined;
  readonly retryAfterMs: number | undefined;

  constructor(
    reason: KubernetesReason,
    message: string,
    options: {
      readonly status?: number;
      readonly retryAfterMs?: number | undefined;
      readonly cause?: unknown;
    } = {},
  ) {
    super(oneLine(message), options.cause === undefined ? undefined : { cause: options.cause });
    this.reason = reason;
    this.status = options.status;
    this.retryAfterMs = options.retryAfterMs;
  }

  get class(): ErrorClass {
    if (this.reason === "invalid") return "usage";
    return this.reason === "timeout" ? "timeout" : "internal";
  }

  /** Whether the failure is transient. */
  get passing(): boolean {
    return PASSING.has(this.reason);
  }
}

const PASSING = new Set<KubernetesReason>(["too-many-requests", "unavailable", "unreachable", "timeout"]);

export function isKubernetesError(thrown: unknown, ...reasons: readonly KubernetesReason[]): boolean {
  return thrown instanceof KubernetesError && reasons.includes(thrown.reason);
}

const Status = z.object({
  kind: z.literal("Status"),
  message: z.optional(z.string()),
  reason: z.optional(z.string()),
  code: z.optional(z.number()),
  details: z.optional(z.object({ retryAfterSeconds: z.optional(z.number()) })),
});

const REASONS: Readonly<Record<string, KubernetesReason>> = {
  AlreadyExists: "already-exists",
  Conflict: "conflict",
  Expired: "expired",
  Gone: "expired",
  Timeout: "timeout",
  ServerTimeout: "unavailable",
};

const LONGEST_TEXT = 400;

/** The error for a failed response. `request` describes the request, such as `create jobs.batch in tink-system`. */
export function errorOfAnswer(
  request: string,
  status: number,
  body: string,
  retryAfter?: string | undefined,
): KubernetesError {
  const said = readStatus(body);
  const seconds = said?.details?.retryAfterSeconds ?? Number(retryAfter);
  return new KubernetesError(reasonOf(status, said), `${request}: ${textOf(status, body, said)}`, {
    status,
    retryAfterMs: seconds >= 0 && Number.isFinite(seconds) ? seconds * 1_000 : undefined,
  });
}

/** The error in an `ERROR` event of a watch. */
export function errorOfEvent(request: string, object: unknown): KubernetesError {
  const code = Status.safeParse(object).data?.code || 500;
  return errorOfAnswer(request, code, isTooDeep(object) ? "" : (JSON.stringify(object) ?? ""));
}

type StatusObject = z.infer<typeof Status>;

function reasonOf(status: number, said: StatusObject | undefined): KubernetesReason {
  const named = said?.reason === undefined ? undefined : REASONS[said.reason];
  if (named) return named;
  switch (status) {
    case 400:
    case 413:
    case 415:
    case 422:
      return "invalid";
    case 401:
      return "unauthorized";
    case 403:
      return "forbidden";
    case 404:
      // Without a Status object the path is unknown: no such group, version or resource.
      return said ? "not-found" : "no-such-kind";
    case 409:
      return "conflict";
    case 410:
      return "expired";
    case 429:
      return "too-many-requests";
    default:
      return status >= 500 ? "unavailable" : "unexpected";
  }
}

function textOf(status: number, body: string, said: StatusObject | undefined): string {
  const text = (said?.message ?? body).replace(/\s+/g, " ").trim();
  const bounded = text.length > LONGEST_TEXT ? `${text.slice(0, LONGEST_TEXT)}…` : text;
  return bounded === "" ? `the API answered ${status}` : bounded;
}

function readStatus(body: string): StatusObject | undefined {
  try {
    return Status.safeParse(JSON.parse(body)).data;
  } catch {
    return undefined;
  }
}

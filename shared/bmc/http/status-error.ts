import { BmcError } from "../../contract/bmc-error.ts";
import type { ErrorClass } from "../../contract/error-class.ts";
import { defined } from "../../defined.ts";
import { leavesOpen, type WriteEffect } from "../operations/write-proof.ts";
import type { HttpAnswer } from "./http-connection.ts";

interface Circumstances {
  /** The effect of sending the request again; undefined for a read. */
  readonly effect: WriteEffect | undefined;
  readonly nowMs: number;
}

/** The error of an answer whose status is a refusal; `words` is the peer's own text, if any. */
export function statusError(
  answer: HttpAnswer,
  doing: string,
  words: string,
  { effect, nowMs }: Circumstances,
): BmcError {
  const { status } = answer;
  const retryAfterMs = parseRetryAfterMs(answer.headers["retry-after"], nowMs);
  return new BmcError(classOf(status), `${doing} answered ${status}${words && `: ${words}`}`, {
    ...defined({ retryAfterMs }),
    uncertain: statusLeavesOpen(answer, words !== "", effect),
    transient: effect === undefined && isServerFault(status),
    // With this status, the server has identified the user (RFC 9110 section 15.5.4).
    refused: status === 403 ? "right" : "login",
  });
}

/** Whether a refusal leaves open if the request was carried out. A busy peer explains it or sends Retry-After. */
export function statusLeavesOpen(
  { status, headers }: Pick<HttpAnswer, "status" | "headers">,
  isExplained: boolean,
  effect: WriteEffect | undefined,
): boolean {
  const isBare = status === 503 && !isExplained && headers["retry-after"] === undefined;
  return leavesOpen("http", isBare ? "503 without a reason" : status, effect);
}

/** Whether the status is a fault of a server or gateway that may pass. 503 has its own class; 501 and 505 are permanent. */
export function isServerFault(status: number): boolean {
  return status === 500 || status === 502 || status === 504;
}

function classOf(status: number): ErrorClass {
  if (status === 401 || status === 403) return "auth";
  return status === 429 || status === 503 ? "busy" : "bmc";
}

const LONGEST_MS = 10 * 60_000;

/**
 * Reads a Retry-After header (RFC 9110 section 10.2.3) with seconds or an HTTP date, as milliseconds from `nowMs`. Undefined
 * if it is absent or invalid. Limited, because clocks of BMCs are often years off.
 */
export function parseRetryAfterMs(header: string | undefined, nowMs: number): number | undefined {
  const text = header?.trim();
  if (!text) return undefined;
  if (/^\d+(\.\d+)?$/.test(text)) return Math.min(Number(text) * 1_000, LONGEST_MS);
  const at = Date.parse(text);
  if (Number.isNaN(at)) return undefined;
  return Math.min(Math.max(at - nowMs, 0), LONGEST_MS);
}

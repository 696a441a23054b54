import { BmcError } from "../../contract/bmc-error.ts";
import type { ErrorClass } from "../../contract/error-class.ts";
import { defined } from "../../defined.ts";
import type { HttpAnswer } from "./http-connection.ts";

interface Circumstances {
  readonly isWrite: boolean;
  readonly nowMs: number;
}

/** The error of an answer whose status is a refusal; `words` are the peer's own, if it had any. */
export function statusError(
  answer: HttpAnswer,
  doing: string,
  words: string,
  { isWrite, nowMs }: Circumstances,
): BmcError {
  const { status } = answer;
  // A gateway that lost the answer does not know what became of the request. Some answer 503, without a word of the peer's.
  const isBareRefusal = status === 503 && words === "" && answer.headers["retry-after"] === undefined;
  const retryAfterMs = parseRetryAfterMs(answer.headers["retry-after"], nowMs);
  return new BmcError(classOf(status), `${doing} answered ${status}${words && `: ${words}`}`, {
    ...defined({ retryAfterMs }),
    uncertain: isWrite && (status === 502 || status === 504 || isBareRefusal),
    // RFC 9110 section 15.5.4: the server has understood who asks.
    refused: status === 403 ? "right" : "login",
  });
}

function classOf(status: number): ErrorClass {
  if (status === 401 || status === 403) return "auth";
  return status === 429 || status === 503 ? "busy" : "bmc";
}

const LONGEST_MS = 10 * 60_000;

/**
 * Reads a Retry-After header (RFC 9110 section 10.2.3), seconds or an HTTP date, as milliseconds from `nowMs`.
 * Undefined when there is none or it makes no sense; bounded, as BMC clocks are often years off.
 */
export function parseRetryAfterMs(header: string | undefined, nowMs: number): number | undefined {
  const text = header?.trim();
  if (!text) return undefined;
  if (/^\d+(\.\d+)?$/.test(text)) return Math.min(Number(text) * 1_000, LONGEST_MS);
  const at = Date.parse(text);
  if (Number.isNaN(at)) return undefined;
  return Math.min(Math.max(at - nowMs, 0), LONGEST_MS);
}

import { BmcError } from "../../../../contract/bmc-error.ts";
import type { ErrorClass } from "../../../../contract/error-class.ts";
import { defined } from "../../../../defined.ts";
import { redactor, secretsIn } from "../../../../secret-forms.ts";
import { isServerFault, parseRetryAfterMs, statusLeavesOpen } from "../../../http/status-error.ts";
import { leavesOpen } from "../../../operations/write-proof.ts";
import { describe, effectOf, type HttpAnswer, type HttpRequest } from "./http-client.ts";
import { messageQuirkOf } from "./message-quirks.ts";
import { deniesItself, type Refusal, readRefusal, textOfMessage } from "./refusal.ts";

/**
 * The only translation of an HTTP status into a class. The message says what was asked, such as
 * `PATCH /redfish/v1/Systems/1`, then the BMC's own words and MessageIds, without the request's secrets.
 */
export function answerError(
  answer: HttpAnswer,
  request: Pick<HttpRequest, "method" | "path" | "body" | "effect">,
  nowMs: number,
): BmcError {
  const refusal = readRefusal(answer, (text) => redact(text, request.body));
  const errorClass = classOfAnswer(answer.status, refusal);
  const retryAfterMs =
    parseRetryAfterMs(answer.headers["retry-after"], nowMs) ??
    retryInMs(refusal.messages.map((message) => textOfMessage(message)));
  const said = refusal.text && `: ${refusal.text}`;
  const message = `${describe(request)} answered ${answer.status}${said}`;
  return new BmcError(errorClass, message, {
    ...defined({ retryAfterMs }),
    uncertain: mayHaveWritten(answer, request, refusal),
    transient: request.method === "GET" && isServerFault(answer.status),
    refused: refusesRight(answer.status, refusal.messageIds) ? "right" : "login",
  });
}

function mayHaveWritten(
  answer: HttpAnswer,
  request: Pick<HttpRequest, "method" | "effect">,
  { messageIds }: Refusal,
): boolean {
  // A PATCH does no harm twice, and the state is read before it is sent again.
  if (request.method === "PATCH" && answer.status === 503) return false;
  const effect = effectOf(request);
  if (statusLeavesOpen(answer, messageIds.length > 0, effect)) return true;
  return messageIds.some((id) => leavesOpen("redfish message", id.slice(id.lastIndexOf(".") + 1), effect));
}

/** These say that the credentials are right, whatever the status. */
const ABOUT_RIGHTS = ["password-must-change", "insufficient-privilege"];
const UNIT_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000 };

/** How long messages ask to wait, such as the Base registry's "Retry in 30 seconds" (ServiceTemporarilyUnavailable). */
function retryInMs(texts: readonly string[]): number | undefined {
  for (const text of texts) {
    const [, number, unit = ""] =
      /(?:retry|try again|wait)\D{0,40}?(\d{1,4})\s*(s|m)(?:ec|in)/i.exec(text) ?? [];
    const ms = Number(number) * (UNIT_MS[unit.toLowerCase()] ?? 0);
    if (number !== undefined) return ms;
  }
  return undefined;
}

/** DSP0266, status codes: 403 is for credentials that are recognised and do not suffice. */
function refusesRight(status: number, messageIds: readonly string[]): boolean {
  if (status === 403) return true;
  const said = messageQuirkOf(messageIds);
  const isSession = messageIds.some((id) => /NoValidSession|AccessDenied/.test(id));
  return status !== 401 && !isSession && ABOUT_RIGHTS.includes(said?.name ?? "");
}

/** Words like "a required license is missing" (iDRAC `SWC0242`), beside IDs that are not known. */
const LICENCE = /licen[sc]e/i;

/** A refused login is one whatever is said beside it, as it must never be tried again; 403 is not one by itself. */
function classOfAnswer(status: number, { messageIds, text }: Refusal): ErrorClass {
  if (status === 401) return "auth";
  const said = messageQuirkOf(messageIds, text)?.class;
  if (status !== 403) return said ?? classOfStatus(status);
  const isRefusedToAll = said === undefined && deniesItself(messageIds);
  return said === "unsupported" || isRefusedToAll || LICENCE.test(text) ? "unsupported" : "auth";
}

function classOfStatus(status: number): ErrorClass {
  if (status === 409 || status === 429 || status === 503) return "busy";
  if (status === 404 || status === 405 || status === 501) return "unsupported";
  return "bmc";
}

/**
 * `text` without the secrets of `body`, however short: BMCs quote the value they refuse, and that may be a password.
 */
export function redact(text: string, body: unknown): string {
  const secrets = secretsIn(body).filter((secret) => secret !== "");
  return secrets.reduce((kept, secret) => kept.replaceAll(secret, "[redacted]"), redactor({ body })(text));
}

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
 * Translates an HTTP status to a class, in this place only. The message contains the request, such as `PATCH
 * /redfish/v1/Systems/1`, then the BMC's own words and MessageIds, without the request's secrets.
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
  // A PATCH is harmless when it is repeated, and the state is read before it is sent again.
  if (request.method === "PATCH" && answer.status === 503) return false;
  const effect = effectOf(request);
  if (statusLeavesOpen(answer, messageIds.length > 0, effect)) return true;
  return messageIds.some((id) => leavesOpen("redfish message", id.slice(id.lastIndexOf(".") + 1), effect));
}

/** Meanings which imply correct credentials, whatever the status. */
const ABOUT_RIGHTS = ["password-must-change", "insufficient-privilege"];
const UNIT_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000 };

/** The time that messages ask to wait, such as the Base registry's "Retry in 30 seconds" (ServiceTemporarilyUnavailable). */
function retryInMs(texts: readonly string[]): number | undefined {
  for (const text of texts) {
    const [, number, unit = ""] =
      /(?:retry|try again|wait)\D{0,40}?(\d{1,4})\s*(s|m)(?:ec|in)/i.exec(text) ?? [];
    const ms = Number(number) * (UNIT_MS[unit.toLowerCase()] ?? 0);
    if (number !== undefined) return ms;
  }
  return undefined;
}

/**
 * Whether the status refuses a permission: 403 means that the credentials are recognised but insufficient (DSP0266, status
 * codes).
 */
function refusesRight(status: number, messageIds: readonly string[]): boolean {
  if (status === 403) return true;
  const said = messageQuirkOf(messageIds);
  const isSession = messageIds.some((id) => /NoValidSession|AccessDenied/.test(id));
  return status !== 401 && !isSession && ABOUT_RIGHTS.includes(said?.name ?? "");
}

/** Words such as "a required license is missing" (iDRAC `SWC0242`), next to unknown IDs. */
const LICENCE = /licen[sc]e/i;

/** The class of an answer. A refused login always counts, because it must never be repeated; 403 alone is not one. */
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

/** Removes the secrets of `body` from `text`, however short, because BMCs quote refused values, and one may be a password. */
export function redact(text: string, body: unknown): string {
  const secrets = secretsIn(body).filter((secret) => secret !== "");
  return secrets.reduce((kept, secret) => kept.replaceAll(secret, "[redacted]"), redactor({ body })(text));
}

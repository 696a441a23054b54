import { BmcError } from "../../../../contract/bmc-error.ts";
import type { ErrorClass } from "../../../../contract/error-class.ts";
import { oneLine } from "../../../../contract/result.ts";
import { defined } from "../../../../defined.ts";
import { redactor, secretsIn } from "../../../../secret-forms.ts";
import { parseRetryAfterMs } from "../../../http/status-error.ts";
import { describe, type HttpAnswer, type HttpRequest } from "./http-client.ts";
import { messageQuirks } from "./message-quirks.ts";
import { type Refusal, readRefusal, textOfMessage } from "./refusal.ts";

/**
 * The only translation of an HTTP status into a class. The message says what was asked, such as
 * `PATCH /redfish/v1/Systems/1`, then the BMC's own words and MessageIds, without the request's secrets.
 */
export function answerError(
  answer: HttpAnswer,
  request: Pick<HttpRequest, "method" | "path" | "body">,
  nowMs: number,
): BmcError {
  const refusal = readRefusal(answer, (text) => redact(text, request.body));
  const errorClass = classOfAnswer(answer.status, refusal);
  const retryAfterMs =
    parseRetryAfterMs(answer.headers["retry-after"], nowMs) ?? retryInMs(refusal.messages.map(textOfMessage));
  const said = refusal.text && `: ${refusal.text}`;
  const message = oneLine(`${describe(request)} answered ${answer.status}${said}`);
  return new BmcError(errorClass, message, {
    ...defined({ retryAfterMs }),
    refused: refusesRight(answer.status, refusal.messageIds) ? "right" : "login",
  });
}

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
  return status === 403 || (status !== 401 && messageIds.some((id) => /InsufficientPrivilege/.test(id)));
}

/** SMC `OemLicenseNotPassed`, iLO `LicenseKeyRequired`, and words like "a required license is missing" (iDRAC `SWC0242`). */
const LICENCE = /licen[sc]e/i;

function classOfAnswer(status: number, { messageIds, text }: Refusal): ErrorClass {
  // 403 also means that the BMC lacks a licence, which says nothing about the account.
  if (status === 403 && LICENCE.test([text, ...messageIds].join(" "))) return "unsupported";
  // Whatever else is said beside it: a refused account must never be tried again.
  if (status === 401 || status === 403) return "auth";
  return classOfMessages(messageIds) ?? classOfStatus(status);
}

function classOfStatus(status: number): ErrorClass {
  if (status === 409 || status === 429 || status === 503) return "busy";
  if (status === 404 || status === 405 || status === 501) return "unsupported";
  return "bmc";
}

/** A message says more than a status: BMCs answer 400 for "not now", "not yours" and "not offered" alike. */
export function classOfMessages(messageIds: readonly string[]): ErrorClass | undefined {
  return messageQuirks.find(({ messageId }) => messageIds.some((id) => messageId.test(id)))?.class;
}

/**
 * `text` without the secrets of `body`, however short: BMCs quote the value they refuse, and that may be a password.
 */
export function redact(text: string, body: unknown): string {
  const secrets = secretsIn(body).filter((secret) => secret !== "");
  return secrets.reduce((kept, secret) => kept.replaceAll(secret, "[redacted]"), redactor({ body })(text));
}

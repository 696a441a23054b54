import type { HttpAnswer } from "./http-client.ts";
import { readRefusal, textOfMessage } from "./refusal.ts";

/** DSP8011, Base registry, and HPE's: the request lacks something. */
export const MISSING =
  /(^|\.)(ActionParameterMissing|PropertyMissing|RequiredPropertyMissing|PropertyValueRequired|CreateFailedMissingReqProperties|Missing\w+)$/;
/** Some BMCs name what is missing only in the text of a general error (sushy, `is_transfer_protocol_required`). */
export const GENERAL = /(^|\.)GeneralError$/;
const NEEDS = /\b(missing|required?|must|need(s|ed)?|lacks?|does not (have|contain)|without)\b/i;

/** Which of these properties, which the request did not have, a refusal names as missing. */
export function missingProperties<Name extends string>(
  answer: Pick<HttpAnswer, "status" | "body" | "text">,
  names: readonly Name[],
): readonly Name[] {
  if (answer.status < 400 || answer.status >= 500) return [];
  const refusal = readRefusal(answer);
  const has = (id: RegExp) => refusal.messageIds.some((known) => id.test(known));
  if (!has(MISSING) && !((has(GENERAL) || refusal.messageIds.length === 0) && NEEDS.test(refusal.text)))
    return [];
  return names.filter(
    (name) => isNamed(refusal, name) || refusal.messageIds.some((id) => id.endsWith(`Missing${name}`)),
  );
}

/** In the arguments and properties of a message, or in its text: BMCs fill one of them. */
export function isNamed({ messages, text }: ReturnType<typeof readRefusal>, name: string): boolean {
  const word = new RegExp(`(^|[^A-Za-z])${name}([^A-Za-z]|$)`);
  const told = messages.flatMap((message) => [
    ...(message.MessageArgs ?? []),
    ...(message.RelatedProperties ?? []),
    textOfMessage(message),
  ]);
  return word.test(text) || told.some((part) => word.test(part));
}

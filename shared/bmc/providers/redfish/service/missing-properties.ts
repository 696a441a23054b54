import type { HttpAnswer } from "./http-client.ts";
import { readRefusal, textOfMessage } from "./refusal.ts";

/** The request lacks something, according to DSP8011, the Base registry or HPE's. */
export const MISSING =
  /(^|\.)(ActionParameterMissing|PropertyMissing|RequiredPropertyMissing|PropertyValueRequired|CreateFailedMissingReqProperties|Missing\w+)$/;
/** Some BMCs name missing properties only in the text of a general error (sushy, `is_transfer_protocol_required`). */
export const GENERAL = /(^|\.)GeneralError$/;
const NEEDS = /\b(missing|required?|must|need(s|ed)?|lacks?|does not (have|contain)|without)\b/i;

/** The properties, from those that the request lacked, which a refusal names as missing. */
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

/** Whether a message names the property in its arguments, properties or text: BMCs fill one of them. */
export function isNamed({ messages, text }: ReturnType<typeof readRefusal>, name: string): boolean {
  const word = new RegExp(`(^|[^A-Za-z])${name}([^A-Za-z]|$)`);
  const told = messages.flatMap((message) => [
    ...(message.MessageArgs ?? []),
    ...(message.RelatedProperties ?? []),
    textOfMessage(message),
  ]);
  return word.test(text) || told.some((part) => word.test(part));
}

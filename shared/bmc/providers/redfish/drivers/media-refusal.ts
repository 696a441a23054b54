import type { HttpAnswer } from "../service/http-client.ts";
import { readRefusal, textOfMessage } from "../service/refusal.ts";

/** What InsertMedia is given (DSP0268, VirtualMedia). */
export type InsertForm = Readonly<Record<string, unknown>>;

/** What a refused insertion leaves to try; nothing if the image itself is refused. */
export interface MediaRemedy {
  /** Whether another form of the request may do. */
  readonly takes: (form: InsertForm) => boolean;
  /** Whether another drive may do. */
  readonly otherDrive: boolean;
}

const NO_FORM = () => false;
/** The parameter that every form has: an error about it is about the image. */
const IMAGE = "Image";
const OPTIONAL = ["Inserted", "WriteProtected", "TransferProtocolType", "TransferMethod"];

/** DSP8011, Base registry: the request lacks something. */
const MISSING = /(^|\.)(ActionParameterMissing|PropertyMissing|CreateFailedMissingReqProperties)$/;
/** It has something that the BMC does not take, in this form of the request or with this value. */
const REFUSED =
  /(^|\.)(ActionParameter(Unknown|NotSupported|Duplicate|Value\w+)|Property(Unknown|NotWritable|Duplicate|Value\w+))$/;
/** The BMC cannot read it. */
const UNREADABLE = /(^|\.)(MalformedJSON|UnrecognizedRequestBody|InvalidJSON)$/;
/** This drive does not offer it. Lenovo XCC lists drives for other uses, too (lenovo/python-redfish-lenovo issue 21). */
const NOT_HERE = /(^|\.)(ActionNotSupported|OperationNotAllowed|ResourceMissingAtURI)$/;
const NOT_WRITABLE = /(^|\.)PropertyNotWritable$/;
/** Some BMCs name the missing parameter only in the text of a general error (sushy, `is_transfer_protocol_required`). */
const GENERAL = /(^|\.)GeneralError$/;

/** Reads from a refusal of `sent` whether the form of the request, the drive or the image is refused. */
export function mediaRemedy(answer: HttpAnswer, sent: InsertForm): MediaRemedy {
  const refusal = readRefusal(answer);
  const has = (id: RegExp) => refusal.messageIds.some((known) => id.test(known));
  const named = [...OPTIONAL, IMAGE].filter((name) => names(refusal, name));
  const otherDrive =
    [404, 405, 501].includes(answer.status) || has(NOT_HERE) || (has(NOT_WRITABLE) && named.includes(IMAGE));
  if (otherDrive || (answer.status !== 400 && answer.status !== 422)) return { takes: NO_FORM, otherDrive };
  const lacking = named.filter((name) => name !== IMAGE && !(name in sent));
  if (has(MISSING) || (has(GENERAL) && lacking.length > 0)) {
    return { takes: (form) => lacking.every((name) => name in form), otherDrive };
  }
  if (has(REFUSED)) {
    const sentOptions = named.filter((name) => name !== IMAGE && name in sent);
    const refused = sentOptions.length > 0 ? sentOptions : named.filter((name) => name === IMAGE);
    return { takes: (form) => !refused.some((name) => name in form), otherDrive };
  }
  return { takes: has(UNREADABLE) ? () => true : NO_FORM, otherDrive };
}

/** In the arguments and properties of a message, or in its text: BMCs fill one of them. */
function names({ messages, text }: ReturnType<typeof readRefusal>, name: string): boolean {
  const word = new RegExp(`(^|[^A-Za-z])${name}([^A-Za-z]|$)`);
  const told = messages.flatMap((message) => [
    ...(message.MessageArgs ?? []),
    ...(message.RelatedProperties ?? []),
    textOfMessage(message),
  ]);
  return word.test(text) || told.some((part) => word.test(part));
}

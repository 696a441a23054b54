import type { HttpAnswer } from "../service/http-client.ts";
import { GENERAL, isNamed, MISSING } from "../service/missing-properties.ts";
import { readRefusal } from "../service/refusal.ts";

/** What InsertMedia is given (DSP0268, VirtualMedia). */
export type InsertForm = Readonly<Record<string, unknown>>;

/** What a refused insertion leaves to try; nothing if the image itself is refused. */
export interface MediaRemedy {
  /** Whether another form of the request may do. */
  readonly takes: (form: InsertForm) => boolean;
  /** Whether another drive may do. */
  readonly otherDrive: boolean;
}

/** The parameter that every form has: an error about it is about the image. */
const IMAGE = "Image";
const OPTIONAL = ["Inserted", "WriteProtected", "TransferProtocolType", "TransferMethod"];
/** In every form, where they are asked for: an error about one of them is final. */
const REQUIRED = ["UserName", "Password"];
/** The server or its credentials are refused: another form of the same address is the same. */
const UNREACHABLE =
  /(^|\.)(AccessDenied|ResourceAtUriUnauthorized|CouldNotEstablishConnection|ResourceMissingAtURI|ServiceTemporarilyUnavailable)$/;

/** It has something that the BMC does not take, in this form of the request or with this value. */
const REFUSED =
  /(^|\.)(ActionParameter(Unknown|NotSupported|Duplicate|Value\w+)|Property(Unknown|NotWritable|Duplicate|Value\w+))$/;
/** The BMC cannot read it. */
const UNREADABLE = /(^|\.)(MalformedJSON|UnrecognizedRequestBody|InvalidJSON)$/;
/** This drive does not offer it. Lenovo XCC lists drives for other uses, too (lenovo/python-redfish-lenovo issue 21). */
const NOT_HERE = /(^|\.)(ActionNotSupported|OperationNotAllowed|ResourceMissingAtURI)$/;
const NOT_WRITABLE = /(^|\.)PropertyNotWritable$/;

/** Reads from a refusal of `sent` whether the form of the request, the drive or the image is refused. */
export function mediaRemedy(answer: HttpAnswer, sent: InsertForm): MediaRemedy {
  const refusal = readRefusal(answer);
  const has = (id: RegExp) => refusal.messageIds.some((known) => id.test(known));
  const named = [...OPTIONAL, IMAGE].filter((name) => isNamed(refusal, name));
  const otherDrive =
    [404, 405, 501].includes(answer.status) || has(NOT_HERE) || (has(NOT_WRITABLE) && named.includes(IMAGE));
  if (otherDrive || (answer.status !== 400 && answer.status !== 422)) return { takes: noForm, otherDrive };
  const isFinal = has(UNREACHABLE) || REQUIRED.some((name) => name in sent && isNamed(refusal, name));
  if (isFinal) return { takes: noForm, otherDrive };
  const otherSpelling = (form: InsertForm) => form[IMAGE] !== sent[IMAGE];
  const lacking = named.filter((name) => name !== IMAGE && !(name in sent));
  if (has(MISSING) || (has(GENERAL) && lacking.length > 0)) {
    return { takes: (form) => lacking.every((name) => name in form), otherDrive };
  }
  if (has(REFUSED)) {
    const refused = named.filter((name) => name !== IMAGE && name in sent);
    if (refused.length > 0) return { takes: (form) => !refused.some((name) => name in form), otherDrive };
    return { takes: named.includes(IMAGE) ? otherSpelling : () => true, otherDrive };
  }
  return { takes: has(UNREADABLE) ? () => true : otherSpelling, otherDrive };
}

const noForm = () => false;

import type { HttpAnswer } from "../service/http-client.ts";
import { GENERAL, isNamed, MISSING, missingProperties } from "../service/missing-properties.ts";
import { readRefusal } from "../service/refusal.ts";

/** The parameters of InsertMedia (DSP0268, VirtualMedia). */
export type InsertForm = Readonly<Record<string, unknown>>;

/** What to try after a refused insertion; nothing if the image itself is refused. */
export interface MediaRemedy {
  /** Whether another form of the request may succeed. */
  readonly takes: (form: InsertForm) => boolean;
  /** Missing parameters that are only sent if the BMC asks for them. */
  readonly asks: readonly ExtraParameter[];
  /** What to try after the last form: the drive itself and then another drive, another drive only, or nothing. */
  readonly rest: "not-served" | "other-drive" | "give-up";
}

/** Parameters that are sent only to a BMC that asks for them. */
export const EXTRA_PARAMETERS = ["MediaType", "UserName", "Password"] as const;
export type ExtraParameter = (typeof EXTRA_PARAMETERS)[number];

/** The parameter of every form. An error about it concerns the image. */
const IMAGE = "Image";
const OPTIONAL = ["Inserted", "WriteProtected", "TransferProtocolType", "TransferMethod"];
/** Parameters that every form has once they are requested. An error about one of them is final. */
const REQUIRED = ["UserName", "Password"];
/** The server or its credentials are refused, so other forms of the same address are refused too. */
const UNREACHABLE =
  /(^|\.)(AccessDenied|ResourceAtUriUnauthorized|CouldNotEstablishConnection|ResourceMissingAtURI|ServiceTemporarilyUnavailable)$/;

/** The BMC does not accept something in this form of the request, or with this value. */
const REFUSED =
  /(^|\.)(ActionParameter(Unknown|NotSupported|Duplicate|Value\w+)|Property(Unknown|NotWritable|Duplicate|Value\w+))$/;
/** The BMC cannot read the request. */
const UNREADABLE = /(^|\.)(MalformedJSON|UnrecognizedRequestBody|InvalidJSON)$/;
/**
 * This drive does not support the request. Lenovo XCC also lists drives for other uses (lenovo/python-redfish-lenovo issue
 * 21).
 */
const NOT_HERE = /(^|\.)(ActionNotSupported|OperationNotAllowed|ResourceMissingAtURI)$/;
const NOT_WRITABLE = /(^|\.)PropertyNotWritable$/;

/** Finds out from a refusal of `sent` whether the form, the drive or the image is refused. */
export function mediaRemedy(answer: HttpAnswer, sent: InsertForm): MediaRemedy {
  const refusal = readRefusal(answer);
  const has = (id: RegExp) => refusal.messageIds.some((known) => id.test(known));
  const named = [...OPTIONAL, IMAGE].filter((name) => isNamed(refusal, name));
  const isReadOnly = has(NOT_WRITABLE) && named.includes(IMAGE);
  if ([404, 405, 501].includes(answer.status) || has(NOT_HERE) || isReadOnly)
    return { takes: noForm, asks: [], rest: "not-served" };
  const giveUp = { takes: noForm, asks: [], rest: "give-up" } as const;
  if ((answer.status !== 400 && answer.status !== 422) || has(UNREACHABLE)) return giveUp;
  if (REQUIRED.some((name) => name in sent && isNamed(refusal, name))) return giveUp;
  const asks = missingProperties(answer, EXTRA_PARAMETERS).filter((name) => !(name in sent));
  const otherSpelling = (form: InsertForm) => form[IMAGE] !== sent[IMAGE];
  const lacking = named.filter((name) => name !== IMAGE && !(name in sent));
  const isMissing = has(MISSING) || (has(GENERAL) && lacking.length > 0);
  if (asks.length > 0 || isMissing) {
    const lacks = [...lacking, ...asks];
    return { takes: (form) => lacks.every((name) => name in form), asks, rest: "give-up" };
  }
  // A refusal without a reason may concern the drive: Cisco's first drives are only for the BMC's own viewer.
  const isPlain = refusal.messageIds.every((id) => GENERAL.test(id));
  const rest = isPlain && !named.includes(IMAGE) ? "other-drive" : "give-up";
  if (has(REFUSED)) {
    const refused = named.filter((name) => name !== IMAGE && name in sent);
    const others = (form: InsertForm) => !refused.some((name) => name in form);
    const takes = refused.length > 0 ? others : named.includes(IMAGE) ? otherSpelling : () => true;
    return { takes, asks: [], rest };
  }
  return { takes: has(UNREADABLE) ? () => true : otherSpelling, asks: [], rest };
}

/** An error of the BMC itself without a reason. iDRAC answers with it during an ejection (openstack/ironic, story 2008504). */
export function isPassing(answer: HttpAnswer): boolean {
  if (answer.status < 500 || answer.status === 501) return false;
  return readRefusal(answer).messageIds.every((id) => /(^|\.)(GeneralError|InternalError|SYS446)$/.test(id));
}

const noForm = () => false;

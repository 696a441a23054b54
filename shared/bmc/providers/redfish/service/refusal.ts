import { foldLine } from "../../../../contract/result.ts";
import { shortened } from "../../../../printable.ts";
import type { HttpAnswer } from "./http-client.ts";
import { ErrorBody, type Message, Messages } from "./schema.ts";

/** The content of a refusal. */
export interface Refusal {
  /** The BMC's own words on one line with MessageIds; empty if there are none. */
  readonly text: string;
  readonly messageIds: readonly string[];
  /** All messages of the body, even if `text` does not quote them. */
  readonly messages: readonly Message[];
}

/** Removes secrets from text before it is folded or shortened. */
type Redact = (text: string) => string;

/** BMCs repeat a message per property. */
const MOST_MESSAGES = 32;
const MOST_QUOTED = 4;
const LONGEST_QUOTE = 300;
const LONGEST_RESOLUTION = 140;
const LONGEST_PLAIN_TEXT = 200;
/** Messages are in the body, below `error`, or next to a property, which may be nested. */
const DEEPEST_MESSAGES = 4;
const EXTENDED_INFO = "@Message.ExtendedInfo";

/** IDs of DSP8011, the Base registry, and HPE's `iLO.0.10.ExtendedInfo` that name no reason. */
const GENERAL_ID = /(^|\.)(GeneralError|Success|ExtendedInfo)$/;
const GENERAL_TEXT = /^(a general error has occurred|see @?(message\.)?extendedinfo)/i;
/** Resolutions of the Base registry that say "none", or how to send the request again. */
const USELESS_RESOLUTION = /^(none|n\/a|not applicable|no\b)|resubmit|retry|contact/i;

/**
 * Reads a refusal (DSP0266 section 8.6), the most specific words first: the messages of `@Message.ExtendedInfo`, otherwise
 * the error's message, otherwise its code, otherwise a body with plain text.
 */
export function readRefusal(
  { body, text }: Pick<HttpAnswer, "body" | "text">,
  redact: Redact = unchanged,
): Refusal {
  const messages = extendedInfo(body);
  const parsed = ErrorBody.safeParse(body);
  const { code, message = "" } = parsed.success ? parsed.data.error : {};
  const ids = messages.flatMap(({ MessageId }) => MessageId ?? []);
  const specific = ids.filter((id) => !GENERAL_ID.test(id));
  const error = { Message: message, MessageId: specific[0] ?? code };
  const words = isTelling(error) ? quote(error, redact) : quoteIds(specific, redact);
  return {
    text:
      quoteAll(messages, redact) ||
      words ||
      quote(error, redact) ||
      quoteIds(ids, redact) ||
      (text === undefined ? "" : plainText(text, redact)),
    messageIds: code === undefined || specific.length > 0 ? ids : [...ids, code],
    messages,
  };
}

/** The link in a refusal that only allows changing the password of this account. */
export function accountToChange(answer: Pick<HttpAnswer, "body">): string | undefined {
  const { messages } = readRefusal(answer);
  const asking = messages.find(({ MessageId = "" }) => /(^|\.)PasswordChangeRequired$/.test(MessageId));
  const told = [
    ...(asking?.MessageArgs ?? []),
    ...(/'(\/[^']+)'/.exec(asking?.Message ?? "")?.slice(1) ?? []),
  ];
  return told.find((link) => /\/Accounts\/[^/]+\/?$/.test(link));
}

/**
 * Messages of the Base registry (DSP8011) that deny a part of a request. A PATCH that changed only some of its properties is
 * answered with 200 and messages about the others (DSP0266 section 7.9). Some BMCs deny everything like this.
 */
const DENIAL =
  /(^|\.)(Property(NotWritable|NotUpdated|Unknown|Missing|Duplicate|Value(?!Modified|Deprecated)\w+)|Action(NotSupported|Parameter\w+)|OperationNotAllowed|OperationFailed|NoOperation|InsufficientPrivilege\w*|ResourceInUse|ResourceCannotBeDeleted)$/;
/** Whether messages deny the request for every user, so that a 403 does not concern permissions. */
export function deniesItself(messageIds: readonly string[]): boolean {
  return messageIds.some((id) => DENIAL.test(id) && !/InsufficientPrivilege\w*$/.test(id));
}

const DENYING_SEVERITY = /^critical$/i;
const NO_FAULT = /success|complete|accept/i;
/** Message IDs about settings that were applied or will be. */
const WELL_ID =
  /(^|\.)(Success|\w*ResetRequired|\w*RebootRequired|AppliedOnReset|SettingsApplied|\w*Pending\w*)$/i;

/**
 * What the answer of an accepted write denies, in the BMC's words; empty if nothing. Words without their own code or message
 * count too. The state must show if it is true.
 */
export function readDenial({ body }: Pick<HttpAnswer, "body">, redact: Redact = unchanged): string {
  const messages = extendedInfo(body);
  const denying = messages.filter(isDenying);
  if (denying.length > 0 || messages.length > 0) return describeMessages(denying, redact).text;
  const parsed = ErrorBody.safeParse(body);
  const { code, message = "" } = parsed.success ? parsed.data.error : {};
  const error = { Message: message, MessageId: code };
  if (!isTelling(error) || NO_FAULT.test(`${code ?? ""} ${message}`)) return "";
  return quote(error, redact);
}

/** Whether a message next to an acceptance or a success denies it or a part of it. */
export function isDenying({ MessageId = "", MessageSeverity, Severity = "" }: Message): boolean {
  return DENIAL.test(MessageId) || DENYING_SEVERITY.test(MessageSeverity ?? Severity);
}

/** What messages say about a failure of an accepted change; empty if it succeeded. */
export function readProblem(messages: readonly Message[]): string {
  const isWell = ({ MessageId = "", MessageSeverity, Severity = "" }: Message) =>
    WELL_ID.test(MessageId) || (!DENIAL.test(MessageId) && /^ok$/i.test(MessageSeverity ?? Severity));
  return describeMessages(messages.filter((message) => !isWell(message))).text;
}

/** Joins the messages of a task with their MessageIds in one line. General messages are only used if there are no others. */
export function describeMessages(
  messages: readonly Message[],
  redact: Redact = unchanged,
): Pick<Refusal, "text" | "messageIds"> {
  const messageIds = messages.flatMap(({ MessageId }) => MessageId ?? []);
  return { text: quoteAll(messages, redact) || quoteIds(messageIds, redact), messageIds };
}

/**
 * The text of a message with its arguments, if the BMC leaves them to its clients (DSP0266, Message object). It is redacted
 * first, because text that is already complete may contain a secret with a `%1`, which an argument would split.
 */
export function textOfMessage(
  { Message = "", MessageArgs = [] }: Message,
  redact: Redact = unchanged,
): string {
  return redact(Message).replace(/%(\d{1,2})(?![0-9A-Za-z])/g, (placeholder, number) => {
    const argument = MessageArgs[Number(number) - 1];
    return argument === undefined ? placeholder : redact(argument);
  });
}

/** Quotes the messages with a reason; those with their own ID come before general ones. */
function quoteAll(messages: readonly Message[], redact: Redact): string {
  const telling = messages.filter(isTelling);
  const specific = telling.filter(({ MessageId = "" }) => !GENERAL_ID.test(MessageId));
  const quotes = (specific.length > 0 ? specific : telling).map((message) => quote(message, redact));
  return [...new Set(quotes)].slice(0, MOST_QUOTED).join("; ");
}

function quote(message: Message, redact: Redact): string {
  const { MessageId: id, Resolution = "" } = message;
  const text = textOfMessage(message, redact).trim() || argumentsOf(message).join(", ");
  const words = [text, id === undefined ? "" : `(${id})`].filter((part) => part !== "").join(" ");
  const quoted = clean(words, redact, LONGEST_QUOTE);
  const isUseful = Resolution.trim() !== "" && !USELESS_RESOLUTION.test(Resolution.trim());
  if (!isUseful || Resolution.length > LONGEST_RESOLUTION) return quoted;
  return `${quoted}, resolution: ${clean(Resolution, redact, LONGEST_RESOLUTION)}`;
}

function quoteIds(ids: readonly string[], redact: Redact): string {
  const quotes = ids.map((id) => clean(`(${id})`, redact, LONGEST_QUOTE));
  return [...new Set(quotes)].slice(0, MOST_QUOTED).join("; ");
}

/** Whether a message contains text. Some BMCs send only its arguments and leave the text to their registry. */
function isTelling(message: Message): boolean {
  const { Message = "", MessageId } = message;
  if (Message.trim() === "") return MessageId !== undefined && argumentsOf(message).length > 0;
  return !GENERAL_TEXT.test(Message.trim());
}

function argumentsOf({ MessageArgs = [] }: Message): readonly string[] {
  return MessageArgs.map((argument) => argument.trim()).filter((argument) => argument !== "");
}

/** Whether a refusal concerns a property: its arguments, related properties (JSON pointers) or words name it. */
export function namesProperty({ messages, text }: Refusal, name: string): boolean {
  const named = messages.flatMap(({ MessageArgs = [], RelatedProperties = [] }) => [
    ...MessageArgs,
    ...RelatedProperties,
  ]);
  const isName = (given: string) => given.split(/[/#.]/).at(-1) === name;
  return named.some(isName) || new RegExp(`\\b${name}\\b`).test(text);
}

/**
 * Plain text of an HTML page. It is redacted before the tags are removed, which may be a part of a secret, and again
 * afterwards, because they may split one.
 */
function plainText(text: string, redact: Redact): string {
  return clean(htmlWords(redact(text)), redact, LONGEST_PLAIN_TEXT);
}

function clean(text: string, redact: Redact, most: number): string {
  return shortened(foldLine(redact(text)), most);
}

function unchanged(text: string): string {
  return text;
}

function extendedInfo(body: unknown): readonly Message[] {
  const found: Message[] = [];
  collect(body, DEEPEST_MESSAGES, found);
  return found.slice(0, MOST_MESSAGES);
}

function collect(value: unknown, depth: number, found: Message[]): void {
  if (typeof value !== "object" || value === null || depth === 0) return;
  for (const [name, inner] of Object.entries(value)) {
    if (found.length >= MOST_MESSAGES) return;
    // Some BMCs send a single message without a list.
    if (name.endsWith(EXTENDED_INFO)) found.push(...Messages.parse(Array.isArray(inner) ? inner : [inner]));
    else collect(inner, depth - 1, found);
  }
}

/** Enough for the words of an error page. The rest of a larger one is not read. */
const MOST_CHARACTERS = 8_192;

const ENTITIES: Readonly<Record<string, string>> = {
  "&lt;": "<",
  "&gt;": ">",
  "&quot;": '"',
  "&#39;": "'",
  "&nbsp;": " ",
  "&amp;": "&",
};

/** The words of plain text or of an HTML page, without its title if it has others. Each step is linear in the text. */
function htmlWords(text: string): string {
  const page = text.slice(0, MOST_CHARACTERS).replace(/<(script|style)\b[\s\S]*?(<\/\1\s*>|$)/gi, " ");
  const words = withoutTags(page.replace(/<head\b[\s\S]*?(<\/head\s*>|$)/gi, " "));
  return words === "" ? withoutTags(page) : words;
}

/** Removes tags. An angle bracket that begins no tag is kept, such as in `1 < 2`. */
function withoutTags(text: string): string {
  return text
    .replace(/<!--[\s\S]*?(-->|$)/g, " ")
    .replace(/<[a-z/!?][^>]*(>|$)/gi, " ")
    .replace(/&(lt|gt|quot|#39|nbsp|amp);/g, (entity) => ENTITIES[entity] ?? entity)
    .trim();
}

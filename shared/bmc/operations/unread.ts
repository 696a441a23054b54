import { BmcError } from "../../contract/bmc-error.ts";
import type { ErrorClass } from "../../contract/error-class.ts";
import { count } from "../../count.ts";

/** A part that the BMC lists but that could not be read. */
export interface Unread {
  /** The name of the part, such as its path. */
  readonly name: string;
  /** Why it could not be read, in one line. */
  readonly reason: string;
}

/** The classes of errors that concern one part and not the whole BMC. */
const OF_ONE_PART: readonly ErrorClass[] = ["protocol", "bmc", "unsupported", "verify"];

/** Returns an error that concerns only one record or resource, so that the others can be read. Throws any other error. */
export function concernsOnePart(thrown: unknown): BmcError {
  const error = BmcError.from(thrown);
  if (OF_ONE_PART.includes(error.class)) return error;
  throw thrown;
}

/** The most parts that a summary names. */
const MOST_NAMED = 2;

/** For people, the end of a summary: `; 1 part not read: /redfish/v1/… (…)`. Empty if everything was read. */
export function describeUnread(unread: readonly Unread[] | undefined, what: string): string {
  if (!unread || unread.length === 0) return "";
  return `; ${count(unread.length, what)} not read: ${nameSome(unread)}`;
}

/** The error for a conclusion that only a complete list would allow, such as that something is absent. */
export function incompleteList(conclusion: string, unread: readonly Unread[]): BmcError {
  return new BmcError("verify", `${conclusion}; the list is incomplete: ${nameSome(unread)}`);
}

/** Throws if nothing was found in an incomplete list, which does not prove that there is nothing. */
export function throwIfNoneRead(read: number, unread: readonly Unread[] | undefined, what: string): void {
  if (read === 0 && unread && unread.length > 0) throw incompleteList(`no ${what} can be read`, unread);
}

function nameSome(unread: readonly Unread[]): string {
  const named = unread.slice(0, MOST_NAMED).map(({ name, reason }) => `${name} (${reason})`);
  const more = unread.length > MOST_NAMED ? ` and ${unread.length - MOST_NAMED} more` : "";
  return named.join(", ") + more;
}

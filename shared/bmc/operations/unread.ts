import { BmcError } from "../../contract/bmc-error.ts";
import type { ErrorClass } from "../../contract/error-class.ts";
import { count } from "../../count.ts";

/** Something that the BMC lists and that could not be read. */
export interface Unread {
  /** What it is, such as its path. */
  readonly name: string;
  /** Why, in one line. */
  readonly reason: string;
}

/** Classes of errors that say something about what was read and not about the BMC. */
const OF_ONE_PART: readonly ErrorClass[] = ["protocol", "bmc", "unsupported", "verify"];

/** `thrown` as an error of one record or resource, without which the others can be read; throws every other error. */
export function concernsOnePart(thrown: unknown): BmcError {
  const error = BmcError.from(thrown);
  if (OF_ONE_PART.includes(error.class)) return error;
  throw thrown;
}

/** A summary names as many. */
const MOST_NAMED = 2;

/** For people, the end of a summary: `; 1 part not read: /redfish/v1/… (…)`. Empty if everything was read. */
export function describeUnread(unread: readonly Unread[] | undefined, what: string): string {
  if (!unread || unread.length === 0) return "";
  return `; ${count(unread.length, what)} not read: ${nameSome(unread)}`;
}

/** The error of a conclusion that only a complete list allows, such as that something is absent. */
export function incompleteList(conclusion: string, unread: readonly Unread[]): BmcError {
  return new BmcError("verify", `${conclusion}; the list is incomplete: ${nameSome(unread)}`);
}

/** Throws where nothing was found in a list that is not complete: that there is nothing is not known. */
export function throwIfNoneRead(read: number, unread: readonly Unread[] | undefined, what: string): void {
  if (read === 0 && unread && unread.length > 0) throw incompleteList(`no ${what} can be read`, unread);
}

function nameSome(unread: readonly Unread[]): string {
  const named = unread.slice(0, MOST_NAMED).map(({ name, reason }) => `${name} (${reason})`);
  const more = unread.length > MOST_NAMED ? ` and ${unread.length - MOST_NAMED} more` : "";
  return named.join(", ") + more;
}

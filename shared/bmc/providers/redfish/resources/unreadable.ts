import { BmcError } from "../../../../contract/bmc-error.ts";
import { concernsOnePart, incompleteList, type Unread } from "../../../operations/unread.ts";

/**
 * Like `concernsOnePart`, for one of many: a BMC that lets this user read the others but not this one, or that does not have
 * this one ready, speaks only about this one.
 */
export function unreadable(thrown: unknown): BmcError {
  const error = BmcError.from(thrown);
  const isDenied = error.class === "auth" && error.refused === "right";
  return isDenied || error.class === "busy" ? error : concernsOnePart(thrown);
}

/** Throws that nothing can be said about `what`, because something that it depends on could not be read. */
export function throwUnread(gaps: readonly Unread[], what: string): void {
  if (gaps.length > 0) throw incompleteList(`${what} is not known`, gaps);
}

/**
 * Resolves to the result of `read`; undefined if it cannot be read, which is reported to `unread`. Throws errors that
 * concern the whole BMC.
 */
export async function readable<T>(
  { name, unread }: { readonly name: string; readonly unread?: ((unread: Unread) => void) | undefined },
  read: () => Promise<T>,
): Promise<T | undefined> {
  try {
    return await read();
  } catch (thrown) {
    unread?.({ name, reason: unreadable(thrown).message });
    return undefined;
  }
}

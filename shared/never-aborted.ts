/** Returns a new signal that never aborts. A shared one would keep the listeners of all who wait for it. */
export function neverAborted(): AbortSignal {
  return new AbortController().signal;
}

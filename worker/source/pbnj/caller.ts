import { createContextKey } from "@connectrpc/connect";

/** Who sent a request, as the listener authenticated it. */
export interface Caller {
  /** The subject of a token or certificate; absent for a caller that was not asked for one. */
  readonly name?: string;
  mayUse(machine: string): boolean;
}

/** The listener sets it for every request. */
export const CALLER = createContextKey<Caller>(
  { mayUse: () => true },
  { description: "the authenticated caller" },
);

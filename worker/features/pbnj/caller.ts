import { createContextKey } from "@connectrpc/connect";

/** Who sent a request, as the listener authenticated it. */
export interface Caller {
  /** The subject of a token or certificate; absent for a caller that was not asked for one. */
  readonly name?: string;
  /** By the name in the inventory, or the address of a BMC that the request brings. */
  mayUse(machine: string): boolean;
}

/** The listener sets it for every request. Without it, the caller may use no machine. */
export const CALLER = createContextKey<Caller>(
  { mayUse: () => false },
  { description: "the authenticated caller" },
);

import { createContextKey } from "@connectrpc/connect";

/** Who sent a request, as the listener authenticated it. */
export interface Caller {
  /** The subject of a token or certificate; absent for a caller that was not asked for one. */
  readonly name?: string;
  /** Whether the caller may use a machine, by its name in the inventory or the BMC address in the request. */
  mayUse(machine: string): boolean;
}

/** The caller of a request, which the listener sets. Without it, the caller may use no machine. */
export const CALLER = createContextKey<Caller>(
  { mayUse: () => false },
  { description: "the authenticated caller" },
);

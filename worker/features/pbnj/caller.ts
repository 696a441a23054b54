import { createContextKey } from "@connectrpc/connect";
import { isAmong } from "../../policy/wildcard.ts";

/** The sender of a request, as the listener has authenticated it. */
export interface Caller {
  /** The subject of a token or certificate; absent if the caller was not asked for one. */
  readonly name?: string | undefined;
  /** Whether the caller may use a machine, by its name in the inventory or the BMC address in the request. */
  mayUse(machine: string): boolean;
}

/** The context value with the caller of a request, which the listener sets. Without it, the caller may use no machine. */
export const CALLER = createContextKey<Caller>(
  { mayUse: () => false },
  { description: "the authenticated caller" },
);

/** A caller who may use every machine that the policy allows. */
export function unlimited(name?: string): Caller {
  return { mayUse: () => true, name };
}

/** A caller who may use the machines whose name matches a pattern; `*` matches anything. */
export function limitedTo(patterns: readonly string[], name?: string): Caller {
  return { mayUse: (machine) => isAmong(machine, patterns), name };
}

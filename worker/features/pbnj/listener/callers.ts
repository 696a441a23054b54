import { defined } from "../../../../shared/defined.ts";
import { isAmong } from "../../../policy/wildcard.ts";
import type { Caller } from "../caller.ts";

/** May use every machine, within the policy. */
export function unlimited(name?: string): Caller {
  return { mayUse: () => true, ...defined({ name }) };
}

/** May use machines whose name matches a pattern; `*` matches anything. */
export function limitedTo(patterns: readonly string[], name?: string): Caller {
  return { mayUse: (machine) => isAmong(machine, patterns), ...defined({ name }) };
}

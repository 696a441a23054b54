import { BmcError } from "../../contract/bmc-error.ts";

/** What a driver read. A driver answers undefined where the state cannot be read back, here that is `unsupported`. */
export function reported<State>(what: string, state: State | undefined): State {
  if (state === undefined) throw new BmcError("unsupported", `the ${what} cannot be read back`);
  return state;
}

import { BmcError } from "../../../contract/bmc-error.ts";

/** Resolves to undefined if the node's driver does not offer the reading. */
export async function orUndefined<T>(reading: Promise<T>): Promise<T | undefined> {
  try {
    return await reading;
  } catch (thrown) {
    if (BmcError.from(thrown).class === "unsupported") return undefined;
    throw thrown;
  }
}

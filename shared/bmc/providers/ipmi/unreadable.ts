import { BmcError } from "../../../contract/bmc-error.ts";

/** `thrown` as an error of one record, without which the others can be read; throws what concerns the whole BMC. */
export function unreadable(thrown: unknown): BmcError {
  const error = BmcError.from(thrown);
  if (["protocol", "bmc", "unsupported"].includes(error.class)) return error;
  throw thrown;
}

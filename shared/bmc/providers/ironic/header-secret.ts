import { BmcError } from "../../../contract/bmc-error.ts";
import type { ErrorClass } from "../../../contract/error-class.ts";
import { Secret } from "../../../secret.ts";

/** A token that goes into a header: one word of visible ASCII. */
export function headerSecret(what: string, text: string, errorClass: ErrorClass): Secret {
  if (/^[\x21-\x7e]{1,16384}$/.test(text)) return new Secret(text);
  throw new BmcError(errorClass, `${what} is not a token: it must be one word of plain ASCII`);
}

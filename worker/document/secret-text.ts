import { withoutLineEnd } from "../../shared/contract/secret-doubt.ts";
import { INPUT_BYTES } from "../../shared/input-limits.ts";
import { FileProblem } from "../../shared/read-text-file.ts";

/** Longer than any BMC accepts, so a larger file is probably the wrong one. */
export const LONGEST_SECRET_BYTES = INPUT_BYTES.secret;

/**
 * Reads a secret or user name without the line end that editors add. Throws a `FileProblem` that contains no part of the
 * text.
 */
export function readSecretText(text: string): string {
  const secret = withoutLineEnd(text);
  if (secret === "") throw new FileProblem("is empty");
  if (Buffer.byteLength(secret) > LONGEST_SECRET_BYTES) {
    throw new FileProblem(`holds more than ${LONGEST_SECRET_BYTES} bytes`);
  }
  if (/[\r\n\0]/.test(secret)) throw new FileProblem("holds more than one line");
  return secret;
}

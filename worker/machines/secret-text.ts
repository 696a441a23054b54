import { FileProblem } from "../document/read-text-file.ts";

/** Longer than any BMC takes; a file beyond it is not the one that was meant. */
export const LONGEST_SECRET_BYTES = 4_096;

/**
 * A secret (or user name) as files and variables hold it, without the one line end that editors leave behind.
 * Throws a `FileProblem`, never with anything of the text.
 */
export function readSecretText(text: string): string {
  const secret = text.replace(/\r?\n$/, "");
  if (secret === "") throw new FileProblem("is empty");
  if (Buffer.byteLength(secret) > LONGEST_SECRET_BYTES) {
    throw new FileProblem(`holds more than ${LONGEST_SECRET_BYTES} bytes`);
  }
  if (/[\r\n\0]/.test(secret)) throw new FileProblem("holds more than one line");
  return secret;
}

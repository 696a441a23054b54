/** EX_TEMPFAIL of sysexits(3): a service manager starts the worker again. */
export const EXIT_TEMPORARY_FAILURE = 75;

/** System errors that can go away without a change of settings: a full or failing disk, too many open files, a busy address. */
const TEMPORARY_CODES = new Set(
  (
    "ENOSPC EDQUOT EIO EROFS ESTALE EBUSY EAGAIN EINTR EMFILE ENFILE ENOMEM " +
    "EADDRINUSE EADDRNOTAVAIL EAI_AGAIN ETIMEDOUT"
  ).split(" "),
);

/** SQLite's primary result codes: busy, no memory, read-only, I/O error, disk full. */
const TEMPORARY_SQLITE_CODES = new Set([5, 7, 8, 10, 13]);

/** Whether the system denies access. Checks the causes as well. */
export function isPermissionDenied(thrown: unknown): boolean {
  if (!(thrown instanceof Error)) return false;
  return ("code" in thrown && DENIED_CODES.has(String(thrown.code))) || isPermissionDenied(thrown.cause);
}

const DENIED_CODES = new Set(["EACCES", "EPERM"]);

/** Whether a failed start may succeed later with the same settings. Checks the causes as well. */
export function isTemporary(thrown: unknown): boolean {
  if (!(thrown instanceof Error)) return false;
  if ("code" in thrown && TEMPORARY_CODES.has(String(thrown.code))) return true;
  if ("errcode" in thrown && TEMPORARY_SQLITE_CODES.has(Number(thrown.errcode) & 0xff)) return true;
  return isTemporary(thrown.cause);
}

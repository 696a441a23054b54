import type { ErrorClass } from "./error-class.ts";

export const EXIT_OK = 0;

/** The exit code if a machine differs from the inventory, and nothing else failed. */
export const EXIT_DRIFT = 3;

/** The exit code if a command's output could not be written; EX_IOERR of sysexits.h. */
export const EXIT_OUTPUT_LOST = 74;

const EXIT_CODES: Readonly<Record<Exclude<ErrorClass, "cancelled">, number>> = {
  usage: 2,
  auth: 10,
  unreachable: 11,
  tls: 12,
  unsupported: 13,
  busy: 14,
  verify: 15,
  timeout: 16,
  state: 17,
  protocol: 18,
  bmc: 19,
  internal: 70,
};

/** A signal that cancels an action. */
export type StopSignal = "SIGINT" | "SIGTERM";

/** The shell's convention: 128 plus the signal's number. */
const SIGNAL_EXIT_CODES: Readonly<Record<StopSignal, number>> = { SIGINT: 130, SIGTERM: 143 };

/** The exit code of an action that failed with `errorClass`; `signal` is the signal that cancelled it. */
export function exitCodeOf(errorClass: ErrorClass, signal: StopSignal = "SIGTERM"): number {
  return errorClass === "cancelled" ? SIGNAL_EXIT_CODES[signal] : EXIT_CODES[errorClass];
}

/** The error class of an exit code, for an action without a result; undefined for other codes. */
export function errorClassOf(exitCode: number): ErrorClass | undefined {
  if (exitCode === SIGNAL_EXIT_CODES.SIGINT || exitCode === SIGNAL_EXIT_CODES.SIGTERM) return "cancelled";
  const found = Object.entries(EXIT_CODES).find(([, code]) => code === exitCode);
  return found?.[0] as ErrorClass | undefined;
}

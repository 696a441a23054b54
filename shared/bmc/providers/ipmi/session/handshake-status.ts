import { BmcError } from "../../../../contract/bmc-error.ts";
import type { ErrorClass } from "../../../../contract/error-class.ts";

export const STATUS_OK = 0x00;
export const STATUS_INSUFFICIENT_RESOURCES = 0x01;
export const STATUS_INVALID_INTEGRITY_CHECK = 0x0f;

/** The BMC refuses the offered algorithms, but may accept another cipher suite. */
const SUITE_REFUSALS = [0x04, 0x05, 0x06, 0x07, 0x10, 0x11, 0x12];
/** The user may log in, but at another level. */
const LEVEL_REFUSALS = [0x09, 0x0a];
const UNKNOWN_NAME = 0x0d;
/** Statuses by the answered message. Open Session contains no user, so a level there concerns the suite. */
const OTHER_SUITE: Readonly<Record<string, readonly number[]>> = {
  "Open Session": [...SUITE_REFUSALS, ...LEVEL_REFUSALS],
  RAKP1: [...SUITE_REFUSALS, ...LEVEL_REFUSALS, UNKNOWN_NAME],
};
/** The BMC has forgotten the session during the handshake; another handshake may succeed. */
const FORGOTTEN = new Set([0x02, 0x08]);

/** Whether a BMC with this answer may accept another cipher suite. */
export function refusesSuite(message: string, status: number): boolean {
  return OTHER_SUITE[message]?.includes(status) ?? false;
}

export function forgotSession(status: number): boolean {
  return FORGOTTEN.has(status);
}

/** RMCP+ and RAKP message status codes (IPMI 2.0 table 13-15). */
const STATUSES: Readonly<Record<number, readonly [ErrorClass, string]>> = {
  [STATUS_INSUFFICIENT_RESOURCES]: ["busy", "no free session slot"],
  2: ["protocol", "invalid session ID"],
  3: ["protocol", "invalid payload type"],
  4: ["unsupported", "invalid authentication algorithm"],
  5: ["unsupported", "invalid integrity algorithm"],
  6: ["unsupported", "no matching authentication payload"],
  7: ["unsupported", "no matching integrity payload"],
  8: ["protocol", "inactive session ID"],
  9: ["auth", "the user may not open a session at this privilege level (option privilege)"],
  10: ["auth", "the user may not open a session at this privilege level (option privilege)"],
  11: ["busy", "no free session slot for this privilege level"],
  12: ["auth", "invalid user name length"],
  [UNKNOWN_NAME]: ["auth", "unknown user name, or one that may not use this privilege level"],
  14: ["protocol", "unauthorised GUID"],
  [STATUS_INVALID_INTEGRITY_CHECK]: ["auth", "wrong password"],
  16: ["unsupported", "invalid confidentiality algorithm"],
  17: ["unsupported", "no cipher suite matches"],
  18: ["unsupported", "illegal or unrecognised parameter"],
};

/** The error of a status other than success, named after the answered message. */
export function handshakeError(message: string, status: number): BmcError {
  const [errorClass, reason] = STATUSES[status] ?? ["bmc", "refused"];
  const hex = status.toString(16).toUpperCase().padStart(2, "0");
  return new BmcError(errorClass, `${message}: ${reason} (status 0x${hex})`, {
    ...(LEVEL_REFUSALS.includes(status) ? { refused: "right" } : {}),
  });
}

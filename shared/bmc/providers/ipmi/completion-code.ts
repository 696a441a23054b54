import { BmcError } from "../../../contract/bmc-error.ts";
import type { Command, Refusal } from "./command.ts";

export const COMPLETED = 0x00;
export const NODE_BUSY = 0xc0;
export const INVALID_COMMAND = 0xc1;
export const RESERVATION_CANCELLED = 0xc5;
export const WRONG_LENGTH = 0xc7;
export const REQUEST_TOO_LONG = 0xc8;
export const OUT_OF_RANGE = 0xc9;
export const CANNOT_RETURN_SO_MANY = 0xca;
export const NOT_PRESENT = 0xcb;
export const INVALID_FIELD = 0xcc;
const NO_ANSWER_PROVIDED = 0xce;
export const DUPLICATED_REQUEST = 0xcf;
export const INSUFFICIENT_PRIVILEGE = 0xd4;

/** Completion codes that every command may answer (IPMI 2.0 table 5-2). */
const REFUSALS: Readonly<Record<number, Refusal>> = {
  [NODE_BUSY]: { class: "busy", reason: "the BMC is busy" },
  [INVALID_COMMAND]: { class: "unsupported", reason: "the BMC does not know the command" },
  194: { class: "unsupported", reason: "the BMC does not know the command on this channel" },
  195: { class: "timeout", reason: "the BMC timed out while executing the command" },
  196: { class: "busy", reason: "the BMC is out of space" },
  [RESERVATION_CANCELLED]: { class: "busy", reason: "another client changed it at the same time" },
  [WRONG_LENGTH]: { class: "protocol", reason: "the BMC expects a request of another length" },
  [REQUEST_TOO_LONG]: { class: "protocol", reason: "the BMC expects a shorter request" },
  [NOT_PRESENT]: { class: "unsupported", reason: "the BMC does not have the requested data" },
  [INVALID_FIELD]: { class: "unsupported", reason: "the BMC does not offer this value" },
  [NO_ANSWER_PROVIDED]: { class: "busy", reason: "the BMC could not provide the answer" },
  208: { class: "busy", reason: "the BMC cannot answer while its data is being updated" },
  209: { class: "busy", reason: "the BMC's firmware is being updated" },
  210: { class: "busy", reason: "the BMC is starting" },
  213: { class: "state", reason: "not possible in the machine's current state" },
  214: { class: "unsupported", reason: "the function is disabled on this BMC" },
};

const UNSPECIFIED = 0xff;
/** Answers of BMCs that start or are at work: unspecified error, time-out, wrong state. */
const PASSING: readonly number[] = [UNSPECIFIED, 0xc3, 0xd5];

export function completionError(command: Command, code: number): BmcError {
  const { class: errorClass, reason } = refusalOf(command, code);
  const hex = code.toString(16).toUpperCase().padStart(2, "0");
  return new BmcError(errorClass, `${command.name}: ${reason} (completion code 0x${hex})`, {
    uncertain: mayHaveBeenCarriedOut(command, code),
    transient: command.effect === "read" && PASSING.includes(code),
    // Commands are answered in a session: the login was taken.
    refused: "right",
  });
}

/** What does no harm twice is sent again where the answer alone is lacking. */
function mayHaveBeenCarriedOut(command: Command, code: number): boolean {
  if (code === NO_ANSWER_PROVIDED) return command.effect === "once";
  return refusalOf(command, code).class === "timeout" && command.effect !== "read";
}

/** For people, with the way out. */
export function tooLittlePrivilege(needs: Command["needs"]): string {
  const variables = `IPMI_PRIVILEGE=${needs}, for ipmitool IPMITOOL_PRIVILEGE=${needs}`;
  return `it needs privilege level ${needs}, more than this session has: see the option privilege (${variables})`;
}

function refusalOf(command: Command, code: number): Refusal {
  if (code === INSUFFICIENT_PRIVILEGE) {
    return { class: "auth", reason: tooLittlePrivilege(command.needs) };
  }
  return command.refusals?.[code] ?? REFUSALS[code] ?? { class: "bmc", reason: "refused" };
}

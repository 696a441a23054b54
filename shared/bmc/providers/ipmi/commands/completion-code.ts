import { BmcError } from "../../../../contract/bmc-error.ts";
import { leavesOpen, type WriteEffect } from "../../../operations/write-proof.ts";
import type { Command, Refusal } from "./command.ts";
import { PRIVILEGE_LEVELS, type Privilege } from "./command.ts";

export const COMPLETED = 0x00;
export const NODE_BUSY = 0xc0;
export const INVALID_COMMAND = 0xc1;
const TIMED_OUT = 0xc3;
const OUT_OF_SPACE = 0xc4;
export const RESERVATION_CANCELLED = 0xc5;
export const WRONG_LENGTH = 0xc7;
export const REQUEST_TOO_LONG = 0xc8;
export const OUT_OF_RANGE = 0xc9;
export const CANNOT_RETURN_SO_MANY = 0xca;
export const NOT_PRESENT = 0xcb;
export const INVALID_FIELD = 0xcc;
const NO_ANSWER_PROVIDED = 0xce;
export const DUPLICATED_REQUEST = 0xcf;
const DATA_UPDATE = 0xd0;
const FIRMWARE_UPDATE = 0xd1;
const STARTING = 0xd2;
export const INSUFFICIENT_PRIVILEGE = 0xd4;
export const NOT_IN_PRESENT_STATE = 0xd5;
export const UNSPECIFIED = 0xff;

/** Completion codes that every command may return (IPMI 2.0 table 5-2). */
const REFUSALS: Readonly<Record<number, Refusal>> = {
  [NODE_BUSY]: { class: "busy", reason: "the BMC is busy" },
  [INVALID_COMMAND]: { class: "unsupported", reason: "the BMC does not know the command" },
  194: { class: "unsupported", reason: "the BMC does not know the command on this channel" },
  [TIMED_OUT]: { class: "timeout", reason: "the BMC timed out while executing the command" },
  [OUT_OF_SPACE]: { class: "busy", reason: "the BMC is out of space" },
  [RESERVATION_CANCELLED]: { class: "busy", reason: "another client changed it at the same time" },
  [WRONG_LENGTH]: { class: "protocol", reason: "the BMC expects a request of another length" },
  [REQUEST_TOO_LONG]: { class: "protocol", reason: "the BMC expects a shorter request" },
  [NOT_PRESENT]: { class: "unsupported", reason: "the BMC does not have the requested data" },
  [INVALID_FIELD]: { class: "unsupported", reason: "the BMC does not offer this value" },
  [NO_ANSWER_PROVIDED]: { class: "busy", reason: "the BMC could not provide the answer" },
  [DATA_UPDATE]: { class: "busy", reason: "the BMC cannot answer while its data is being updated" },
  [FIRMWARE_UPDATE]: { class: "busy", reason: "the BMC's firmware is being updated" },
  [STARTING]: { class: "busy", reason: "the BMC is starting" },
  [NOT_IN_PRESENT_STATE]: { class: "state", reason: "not possible in the machine's current state" },
  214: { class: "unsupported", reason: "the function is disabled on this BMC" },
};

/** Codes that BMCs return if they are asked for a larger part of a record than they can return. */
export const TOO_LARGE: ReadonlySet<number> = new Set([
  ...[WRONG_LENGTH, REQUEST_TOO_LONG, OUT_OF_RANGE, CANNOT_RETURN_SO_MANY],
  ...[INVALID_FIELD, TIMED_OUT, UNSPECIFIED],
]);

/** Codes that BMCs return temporarily: while they start, are overloaded or update their data. */
export const PASSING: ReadonlySet<number> = new Set([
  ...[NODE_BUSY, TIMED_OUT, OUT_OF_SPACE, NO_ANSWER_PROVIDED],
  ...[DATA_UPDATE, FIRMWARE_UPDATE, STARTING, UNSPECIFIED],
]);

/** The BMC answered the command with a completion code other than success. */
export class RefusedCommand extends BmcError {
  readonly command: Command;

  constructor(command: Command, ...rest: ConstructorParameters<typeof BmcError>) {
    super(...rest);
    this.command = command;
  }
}

/** The error of a completion code; `level` is the session's. */
export function completionError(command: Command, code: number, level?: Privilege): RefusedCommand {
  const { class: errorClass, reason } = refusalOf(command, code, level);
  const hex = code.toString(16).toUpperCase().padStart(2, "0");
  return new RefusedCommand(command, errorClass, `${command.name}: ${reason} (completion code 0x${hex})`, {
    uncertain: leavesOpen("ipmi", code, effectOf(command)),
    // Commands are answered within a session, so the login was accepted.
    refused: "right",
  });
}

function effectOf({ effect }: Command): WriteEffect | undefined {
  if (effect === "read") return undefined;
  return effect === "once" ? "command" : "setting";
}

const LEVELS: readonly Privilege[] = ["user", "operator", "administrator"];

/** Explains missing privileges and how to get them. `level` is the session's level, which is below `needs` if it is absent. */
export function tooLittlePrivilege(needs: Privilege, level?: Privilege): string {
  const isBelow = level === undefined || PRIVILEGE_LEVELS[level] < PRIVILEGE_LEVELS[needs];
  const next = isBelow ? needs : LEVELS[LEVELS.indexOf(level) + 1];
  if (next === undefined) return `the BMC refuses it to privilege level ${level}, the highest one`;
  const variables = `IPMI_PRIVILEGE=${next}, for ipmitool IPMITOOL_PRIVILEGE=${next}`;
  const why = isBelow
    ? `it needs privilege level ${needs}, more than this session has`
    : `the BMC refuses it to privilege level ${level}, which should suffice`;
  return `${why}: see the option privilege (${variables})`;
}

function refusalOf(command: Command, code: number, level?: Privilege): Refusal {
  if (code === INSUFFICIENT_PRIVILEGE) {
    return { class: "auth", reason: tooLittlePrivilege(command.needs, level) };
  }
  return command.refusals?.[code] ?? REFUSALS[code] ?? { class: "bmc", reason: "refused" };
}

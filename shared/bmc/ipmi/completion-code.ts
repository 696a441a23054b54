import { BmcError } from "../errors.ts";
import type { Command, Refusal } from "./command.ts";

export const COMPLETED = 0x00;
export const NODE_BUSY = 0xc0;
export const DUPLICATED_REQUEST = 0xcf;
export const INSUFFICIENT_PRIVILEGE = 0xd4;

/** Completion codes that every command may answer (IPMI 2.0 table 5-2). */
const REFUSALS: Readonly<Record<number, Refusal>> = {
  [NODE_BUSY]: { class: "busy", reason: "the BMC is busy" },
  193: { class: "unsupported", reason: "the BMC does not know the command" },
  194: { class: "unsupported", reason: "the BMC does not know the command on this channel" },
  195: { class: "timeout", reason: "the BMC ran out of time while it carried the command out" },
  196: { class: "busy", reason: "the BMC is out of space" },
  199: { class: "protocol", reason: "the BMC expects another length of request" },
  200: { class: "protocol", reason: "the BMC expects a shorter request" },
  203: { class: "unsupported", reason: "the BMC does not have what was asked for" },
  204: { class: "unsupported", reason: "the BMC does not offer this value" },
  206: { class: "busy", reason: "the BMC could not provide the answer" },
  208: { class: "busy", reason: "the BMC cannot answer while its data is being updated" },
  209: { class: "busy", reason: "the BMC's firmware is being updated" },
  210: { class: "busy", reason: "the BMC is starting" },
  [INSUFFICIENT_PRIVILEGE]: { class: "auth", reason: "the session's privilege level is too low for it" },
  213: { class: "state", reason: "not possible in the machine's present state" },
  214: { class: "unsupported", reason: "the function is disabled on this BMC" },
};

/** The error behind a completion code other than success. */
export function completionError(command: Command, code: number): BmcError {
  const { class: errorClass, reason } = command.refusals?.[code] ??
    REFUSALS[code] ?? { class: "bmc", reason: "refused" };
  const hex = code.toString(16).toUpperCase().padStart(2, "0");
  return new BmcError(errorClass, `${command.name}: ${reason} (completion code 0x${hex})`, {
    uncertain: errorClass === "timeout" && command.effect !== "read",
  });
}

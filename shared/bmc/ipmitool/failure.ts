import type { AuthRefusal, ErrorClass } from "../../contract/error-class.ts";
import { BmcError } from "../errors.ts";
import type { Command } from "../ipmi/command.ts";
import { essenceOf } from "./output.ts";

interface Meaning {
  readonly pattern: RegExp;
  readonly class: ErrorClass;
  readonly reason: string;
  readonly refused?: AuthRefusal;
}

const SUITE_REFUSED = /Error in open session response message ?: .*(algorithm|matching|cipher)/i;

/** What `-v` says when there is no session, in the words of ipmitool 1.8.18 and 1.8.19. First match counts. */
const NO_SESSION: readonly Meaning[] = [
  { pattern: /insufficient resources/i, class: "busy", reason: "no free session slot" },
  { pattern: /RAKP 2 HMAC is invalid/i, class: "auth", reason: "wrong password" },
  {
    pattern: /RAKP 4 message has invalid integrity check value/i,
    class: "auth",
    reason: "wrong or missing BMC key Kg",
  },
  {
    pattern: /message indicates an error ?: .*(unauthorized name|invalid name)/i,
    class: "auth",
    reason: "unknown user name",
  },
  {
    pattern: /message indicates an error ?: .*role/i,
    class: "auth",
    reason: "the user may not open a session at this privilege level",
    refused: "right",
  },
  {
    pattern: /message indicates an error ?: .*integrity check/i,
    class: "auth",
    reason: "wrong password",
  },
  {
    pattern: /Set Session Privilege Level .*failed/i,
    class: "auth",
    reason: "the user may not rise to this privilege level",
    refused: "right",
  },
  { pattern: SUITE_REFUSED, class: "unsupported", reason: "the BMC does not offer this cipher suite" },
  { pattern: /Address lookup for .* failed/i, class: "unreachable", reason: "the host name is unknown" },
  {
    pattern: /Get Auth Capabilities error|Error issuing Get Channel Auth/i,
    class: "unreachable",
    reason: "no IPMI answer",
  },
];

/** Whether another cipher suite may do. */
export function refusesSuite(stderr: string): boolean {
  return SUITE_REFUSED.test(stderr);
}

/**
 * The error behind a run that ended without an answer from the BMC to its command. Where there was no session
 * the command cannot have been sent; otherwise it was, and a write may have been carried out.
 */
export function failureOf(command: Command, stderr: string): BmcError {
  const details = essenceOf(stderr) || "ipmitool gave no reason";
  const known = NO_SESSION.find(({ pattern }) => pattern.test(stderr));
  if (known) {
    const { class: errorClass, reason, ...refusal } = known;
    return new BmcError(errorClass, `${reason} (ipmitool: ${details})`, refusal);
  }
  if (/Unable to establish/i.test(stderr)) {
    return new BmcError("timeout", `the IPMI session was not established (ipmitool: ${details})`);
  }
  if (/Unable to send RAW command/i.test(stderr)) {
    return new BmcError("timeout", `${command.name}: no answer (ipmitool: ${details})`, {
      uncertain: command.effect !== "read",
    });
  }
  return new BmcError("bmc", `${command.name}: ipmitool failed: ${details}`, {
    uncertain: command.effect !== "read",
  });
}

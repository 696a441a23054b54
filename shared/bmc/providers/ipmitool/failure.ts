import { BmcError } from "../../../contract/bmc-error.ts";
import type { AuthRefusal, ErrorClass } from "../../../contract/error-class.ts";
import { UnansweredCommand } from "../ipmi/commands/channel.ts";
import type { Command } from "../ipmi/commands/command.ts";

/** Parses the output of `raw`: hex pairs on any number of lines; none for an answer without data. */
export function parseRawOutput(stdout: string): Buffer {
  const pairs = stdout.split(/\s+/).filter((word) => word !== "");
  if (pairs.every((pair) => /^[0-9a-f]{2}$/i.test(pair))) return Buffer.from(pairs.join(""), "hex");
  throw new BmcError("protocol", "ipmitool printed invalid output");
}

/** Whether a command had no answer, or a failed one. `exec` may succeed in spite of that. */
export function hasFailed(stderr: string): boolean {
  return stderr.includes("Unable to send RAW command");
}

/** The completion code with which the BMC refused a `raw` command; undefined if stderr has none. */
export function parseRefusal(stderr: string): number | undefined {
  for (const line of stderr.split("\n")) {
    const [, rest] = line.split(/Unable to send RAW command \(/i, 2);
    const code = rest && /\brsp=0x([0-9a-f]{1,2})\)/i.exec(rest)?.[1];
    if (code) return Number.parseInt(code, 16);
  }
  return undefined;
}

/** Lines of `-v` that do not explain a failure. */
const CHATTER = [
  /^Loading IANA PEN Registry/,
  /^Running Get \w+ /,
  /^Invalid completion code received: Invalid command/,
  /^Discovered IPMB address/,
  /^RAW (REQ|RSP)/,
  /^\s*([0-9a-f]{2}\s*)+$/i,
];

/** The relevant part of stderr in one line for people. `Key: ` is the prompt of `-Y` for the BMC key. */
export function essenceOf(stderr: string): string {
  return stderr
    .replace(/^Key: /, "")
    .split("\n")
    .filter((line) => line.trim() !== "" && !CHATTER.some((pattern) => pattern.test(line)))
    .map((line) => line.trim())
    .join("; ");
}

interface Meaning {
  readonly pattern: Pick<RegExp, "test">;
  readonly class: ErrorClass;
  readonly reason: string;
  readonly refused?: AuthRefusal;
}

/**
 * Matches `first` followed by `second` in the same line. Unlike `first.*second`, it takes linear time if a line repeats
 * `first`.
 */
function inLine(first: RegExp, second: RegExp): Pick<RegExp, "test"> {
  return {
    test: (text) =>
      text.split("\n").some((line) => {
        const at = line.search(first);
        return at >= 0 && second.test(line.slice(at));
      }),
  };
}

/** Open Session contains no user, so a role there is the suite's level. */
const SUITE_REFUSED = inLine(
  /Error in open session response message ?: /i,
  /algorithm|matching|cipher|\brole\b/i,
);
/** Versions before 1.8.19 do not know suite 17. */
const UNKNOWN_SUITE = /Unsupported cipher suite ID/i;
/** BMCs made with pyghmi answer with their own suite. */
const OTHER_SUITE = /algorithm 0x[0-9a-f]+ is not what we requested/i;
/** A refusal in RAKP 2. BMCs that know the user with suite 3 answer this for suite 17. */
const USER_REFUSED = inLine(/RAKP 2 message indicates an error ?: /i, /\b(name|role)\b/i);
const MESSAGE_ERROR = /message indicates an error ?: /i;

/** Messages of `-v` if there is no session, in the wording of ipmitool 1.8.18 and 1.8.19. The first match counts. */
const NO_SESSION: readonly Meaning[] = [
  { pattern: /insufficient resources/i, class: "busy", reason: "no free session slot" },
  { pattern: /RAKP 2 HMAC is invalid/i, class: "auth", reason: "wrong password" },
  {
    pattern: /RAKP 4 message has invalid integrity check value/i,
    class: "auth",
    reason: "wrong or missing BMC key Kg",
  },
  {
    pattern: inLine(MESSAGE_ERROR, /unauthorized name|invalid name/i),
    class: "auth",
    reason: "unknown user name",
  },
  {
    pattern: inLine(MESSAGE_ERROR, /role/i),
    class: "auth",
    reason: "the user may not open a session at this privilege level",
    refused: "right",
  },
  {
    pattern: inLine(MESSAGE_ERROR, /integrity check/i),
    class: "auth",
    reason: "wrong password",
  },
  {
    pattern: inLine(/Set Session Privilege Level /i, /failed/i),
    class: "auth",
    reason: "the user may not rise to this privilege level",
    refused: "right",
  },
  {
    pattern: OTHER_SUITE,
    class: "unsupported",
    reason: "the BMC does not offer this cipher suite",
  },
  {
    pattern: SUITE_REFUSED,
    class: "unsupported",
    reason: "the BMC does not offer this cipher suite, or not at this privilege level",
  },
  {
    pattern: UNKNOWN_SUITE,
    class: "unsupported",
    reason: "this version of ipmitool does not have the cipher suite",
  },
  {
    pattern: inLine(/Address lookup for /i, / failed/i),
    class: "unreachable",
    reason: "the host name is unknown",
  },
  {
    pattern: /Get Auth Capabilities error|Error issuing Get Channel Auth/i,
    class: "unreachable",
    reason: "no IPMI answer",
  },
];

export function refusesSuite(stderr: string): boolean {
  return [SUITE_REFUSED, OTHER_SUITE, UNKNOWN_SUITE, USER_REFUSED].some((pattern) => pattern.test(stderr));
}

/**
 * The error of a run that ended without the BMC's answer. If there was no session, the command was not sent; otherwise it
 * was, and a write may have been carried out.
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
    // The session was opened, and the program has sent the command for the whole time.
    if (command.effect === "read")
      return new UnansweredCommand(command.name, new Error(`ipmitool: ${details}`));
    return new BmcError("timeout", `${command.name}: no answer (ipmitool: ${details})`, {
      uncertain: true,
    });
  }
  return new BmcError("bmc", `${command.name}: ipmitool failed: ${details}`, {
    uncertain: command.effect !== "read",
  });
}

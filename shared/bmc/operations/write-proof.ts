/** What the response to a write proves: the write was executed, was not executed, or may have been. */
export type Proof = "done" | "not done" | "unknown";

/** The effect of repeating a write: a setting leads to the same state, but a command acts again. */
export type WriteEffect = "setting" | "command";

/** Where an answer comes from, which decides what its code means. */
export type AnswerKind = "http" | "redfish message" | "ipmi" | "ws-man fault" | "amt power" | "webhook";

interface ProofRow {
  readonly kind: AnswerKind;
  readonly codes: readonly (number | string)[];
  /**
   * What the answer proves about a command that the BMC offers. BMCs also answer like this after they have executed the
   * command, so only the machine can tell.
   */
  readonly command: Proof;
  readonly setting: Proof;
  readonly source: string;
}

/** What responses to writes prove. This is the only place that says so. A response without a row means that the write did not begin. */
const WRITE_PROOFS: readonly ProofRow[] = [
  {
    kind: "http",
    codes: [200, 201, 202, 204],
    command: "done",
    setting: "done",
    source: "DSP0266 section 7.9: accepted; a task or the state shows the end",
  },
  {
    kind: "http",
    codes: [301, 302, 303],
    command: "unknown",
    setting: "unknown",
    source: "RFC 9110 section 15.4.4: the result of a request that was carried out may be elsewhere",
  },
  {
    kind: "http",
    codes: [401],
    command: "unknown",
    setting: "unknown",
    source:
      "a login that was accepted a moment before: the write may have ended the session or changed the password",
  },
  {
    kind: "http",
    codes: [403, 404, 405, 409, 410, 501],
    command: "unknown",
    setting: "not done",
    source: "a refusal of what the BMC offers; a setting is read back, whatever the answer",
  },
  {
    kind: "http",
    codes: [500, 502, 504],
    command: "unknown",
    setting: "unknown",
    source: "RFC 9110 sections 15.6.1, 15.6.3 and 15.6.5: it failed on the way, or a gateway has no answer",
  },
  {
    kind: "http",
    codes: ["503 without a reason"],
    command: "unknown",
    setting: "unknown",
    source: "some gateways answer so when the peer closes the connection",
  },
  {
    kind: "redfish message",
    codes: [
      "ActionNotSupported",
      "OemLicenseNotPassed",
      "LicenseRequired",
      "LicenseNotInstalled",
      "LicenseNotActivated",
      "LicenseKeyRequired",
      "InternalError",
      "OperationFailed",
      "OperationTimeout",
    ],
    command: "unknown",
    setting: "not done",
    source:
      "DSP8011, Base registry: a refusal of what the BMC offers, or a failure on the way, with any status",
  },
  {
    kind: "ipmi",
    codes: [0xc3, 0xff],
    command: "unknown",
    setting: "unknown",
    source: "IPMI 2.0 table 5-2: time-out while the command was processed, unspecified error",
  },
  {
    kind: "ipmi",
    codes: [0xce, 0xcf, 0xd0, 0xd1, 0xd2],
    command: "unknown",
    setting: "not done",
    source: "IPMI 2.0 table 5-2: the response could not be provided; a setting does no harm twice",
  },
  {
    kind: "ws-man fault",
    codes: ["TimedOut", "InternalError", "Receiver"],
    command: "unknown",
    setting: "unknown",
    source: "DSP0226 section 14, SOAP 1.2 section 5.4.6: it did not end in time, or failed on the way",
  },
  {
    kind: "ws-man fault",
    codes: ["ActionNotSupported", "AccessDenied"],
    command: "unknown",
    setting: "not done",
    source: "a refusal of what the device offers",
  },
  {
    kind: "amt power",
    codes: [2, 3, 4],
    command: "unknown",
    setting: "unknown",
    source: "DSP1027, RequestPowerStateChange: unspecified error, cannot complete in time, failed",
  },
  {
    kind: "webhook",
    codes: ["error"],
    command: "unknown",
    setting: "not done",
    source: "bmclib's rpc provider: the consumer gives the error of whatever it called; a state is read back",
  },
];

/** The effect of repeating a power command: on and off lead to a state, and every other command acts again. */
export function effectOfPower(command: string): WriteEffect {
  return command === "on" || command === "off" ? "setting" : "command";
}

/** Looks up what a response proves. The refusal of a command that the BMC never offered is believed, like that of a setting. */
function proofOf(kind: AnswerKind, code: number | string, effect: WriteEffect): Proof {
  const row = WRITE_PROOFS.find((one) => one.kind === kind && one.codes.includes(code));
  return row?.[effect] ?? "not done";
}

/** Whether a response leaves it uncertain if the write was executed. */
export function leavesOpen(
  kind: AnswerKind,
  code: number | string,
  effect: WriteEffect | undefined,
): boolean {
  return effect !== undefined && proofOf(kind, code, effect) === "unknown";
}

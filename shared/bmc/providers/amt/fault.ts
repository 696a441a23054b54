import { BmcError } from "../../../contract/bmc-error.ts";
import type { ErrorClass } from "../../../contract/error-class.ts";
import { leavesOpen, type WriteEffect } from "../../operations/write-proof.ts";
import { childOf, findElement, type XmlElement } from "./xml.ts";

/** The classes of WS-Management and WS-Addressing faults by subcode (DSP0226 section 14); others are class `bmc`. */
const CLASSES: Readonly<Record<string, ErrorClass>> = {
  AccessDenied: "auth",
  NotAuthorized: "auth",
  ActionNotSupported: "unsupported",
  // The device lacks the class, or does not offer it to this user.
  DestinationUnreachable: "unsupported",
  InvalidResourceURI: "unsupported",
  InvalidSelectors: "unsupported",
  UnsupportedFeature: "unsupported",
  Concurrency: "busy",
  QuotaLimit: "busy",
  EndpointUnavailable: "busy",
  TimedOut: "timeout",
};

/** The error of a SOAP fault (SOAP 1.2 part 1, section 5.4), with the device's own reason. */
export function faultError(fault: XmlElement, doing: string, effect: WriteEffect | undefined): BmcError {
  const subcode = subcodeOf(fault);
  const errorClass = CLASSES[subcode] ?? "bmc";
  const said = faultWords(fault) || "a fault without a reason";
  return new BmcError(errorClass, `${doing}: ${said}`, {
    uncertain: leavesOpen("ws-man fault", subcode || codeOf(fault), effect),
    // A refused login results in an HTTP status, not in a fault.
    refused: "right",
  });
}

/** The text of a fault; empty if it has none. */
export function readFault(fault: XmlElement | undefined): {
  readonly subcode: string;
  readonly reason: string;
} {
  const reason = findElement(childOf(fault, "Reason"), "Text")?.text ?? "";
  return { subcode: subcodeOf(fault), reason };
}

/** The device's own reason and the fault's subcode. */
export function faultWords(fault: XmlElement | undefined): string {
  const { subcode, reason } = readFault(fault);
  return [reason, subcode && `(${subcode})`].filter(Boolean).join(" ");
}

function subcodeOf(fault: XmlElement | undefined): string {
  return valueIn(childOf(childOf(fault, "Code"), "Subcode"));
}

/** The party that caused the fault: `Sender` or `Receiver`. */
function codeOf(fault: XmlElement): string {
  return valueIn(childOf(fault, "Code"));
}

function valueIn(code: XmlElement | undefined): string {
  return childOf(code, "Value")?.text.replace(/^.*:/, "") ?? "";
}

type Meanings = Readonly<Record<string, readonly [meaning: string, errorClass: ErrorClass]>>;

/** Return values of CIM_PowerManagementService.RequestPowerStateChange (DSP1027). */
export const POWER_MEANINGS: Meanings = {
  "1": ["not supported", "unsupported"],
  // AMT 11 and other versions answer this while such a session is open.
  "2": [
    "unspecified error; an open KVM, serial or storage redirection session may be the cause: end it",
    "bmc",
  ],
  "3": ["cannot complete in time", "bmc"],
  "4": ["failed", "bmc"],
  "5": ["invalid parameter", "bmc"],
  "6": ["in use", "busy"],
  "4097": ["invalid state transition", "state"],
  "4099": ["busy", "busy"],
};

/** Return values of CIM_BootService.SetBootConfigRole and CIM_BootConfigSetting.ChangeBootOrder (DSP1012). */
export const BOOT_MEANINGS: Meanings = {
  "1": ["not supported", "unsupported"],
  "2": ["unspecified error", "bmc"],
  "3": ["busy", "busy"],
  "4": ["invalid reference", "unsupported"],
  "5": ["invalid parameter", "bmc"],
  "6": ["access denied: the user may not do it, or has not been given consent", "auth"],
};

/** Throws unless a method's output reports success, because HTTP 200 does not. */
export function checkReturnValue(
  output: XmlElement,
  doing: string,
  meanings: Meanings,
  effect: WriteEffect = "setting",
): void {
  const value = childOf(output, "ReturnValue")?.text;
  if (value === "0") return;
  if (value === undefined || !/^\d{1,10}$/.test(value)) {
    throw new BmcError("protocol", `${doing} answered without a ReturnValue`, { uncertain: true });
  }
  const [meaning, errorClass] = meanings[value] ?? ["unknown meaning", "bmc"];
  throw new BmcError(errorClass, `${doing} was refused: ReturnValue ${value}, ${meaning}`, {
    uncertain: meanings === POWER_MEANINGS && leavesOpen("amt power", Number(value), effect),
    refused: "right",
  });
}

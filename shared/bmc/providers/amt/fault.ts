import { BmcError } from "../../../contract/bmc-error.ts";
import type { ErrorClass } from "../../../contract/error-class.ts";
import { oneLine } from "../../../contract/result.ts";
import { childOf, findElement, type XmlElement } from "./xml.ts";

/** Faults of WS-Management and WS-Addressing by their subcode (DSP0226 section 14); others are class `bmc`. */
const CLASSES: Readonly<Record<string, ErrorClass>> = {
  AccessDenied: "auth",
  NotAuthorized: "auth",
  ActionNotSupported: "unsupported",
  // The device does not have the class, or not for this user.
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
export function faultError(fault: XmlElement, doing: string, isWrite: boolean): BmcError {
  const code = childOf(fault, "Code");
  const subcode = childOf(childOf(code, "Subcode"), "Value")?.text.replace(/^.*:/, "") ?? "";
  const reason = findElement(childOf(fault, "Reason"), "Text")?.text ?? "";
  const errorClass = CLASSES[subcode] ?? "bmc";
  const said = [reason, subcode && `(${subcode})`].filter(Boolean).join(" ") || "a fault without a reason";
  return new BmcError(errorClass, oneLine(`${doing}: ${said}`), {
    uncertain: isWrite && errorClass === "timeout",
    // A login that is refused gets an HTTP status and no fault.
    refused: "right",
  });
}

import { BmcError } from "../../../contract/bmc-error.ts";
import type { ErrorClass } from "../../../contract/error-class.ts";
import { childOf, type XmlElement } from "./xml.ts";

type Meanings = Readonly<Record<string, readonly [meaning: string, errorClass: ErrorClass]>>;

/** CIM_PowerManagementService.RequestPowerStateChange (DSP1027). */
export const POWER_MEANINGS: Meanings = {
  "1": ["not supported", "unsupported"],
  "2": ["unspecified error", "bmc"],
  "3": ["cannot complete in time", "bmc"],
  "4": ["failed", "bmc"],
  "5": ["invalid parameter", "bmc"],
  "6": ["in use", "busy"],
  "4097": ["invalid state transition", "state"],
  "4099": ["busy", "busy"],
};

/** CIM_BootService.SetBootConfigRole and CIM_BootConfigSetting.ChangeBootOrder (DSP1012). */
export const BOOT_MEANINGS: Meanings = {
  "1": ["not supported", "unsupported"],
  "2": ["unspecified error", "bmc"],
  "3": ["busy", "busy"],
  "4": ["invalid reference", "unsupported"],
  "5": ["invalid parameter", "bmc"],
  "6": ["access denied: the user may not do it, or has not been given consent", "auth"],
};

/** Throws unless a method's output says that it succeeded: HTTP 200 alone says nothing. */
export function checkReturnValue(output: XmlElement, doing: string, meanings: Meanings): void {
  const value = childOf(output, "ReturnValue")?.text;
  if (value === "0") return;
  if (value === undefined || !/^\d{1,10}$/.test(value)) {
    throw new BmcError("protocol", `${doing} answered without a ReturnValue`, { uncertain: true });
  }
  const [meaning, errorClass] = meanings[value] ?? ["unknown meaning", "bmc"];
  throw new BmcError(errorClass, `${doing} was refused: ReturnValue ${value}, ${meaning}`, {
    refused: "right",
  });
}

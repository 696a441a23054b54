import { BmcError } from "../../../contract/bmc-error.ts";
import type { WsmanClient } from "./wsman.ts";
import { childOf, type XmlElement } from "./xml.ts";

/** IPS_OptInService.OptInRequired: consent for everything; also what a device in client control mode says. */
const REQUIRED_FOR_ALL = "4294967295";
/** IPS_OptInService.OptInState: the user's code was received, or a session runs on it. */
const GIVEN = ["3", "4"];

/**
 * Throws `auth` when the device wants its user's consent and has not got it. It would accept boot options all the
 * same, with ReturnValue 0, and ignore them (device-management-toolkit/deployment issue 291).
 */
export async function checkConsent(wsman: WsmanClient, signal: AbortSignal): Promise<void> {
  let service: XmlElement;
  try {
    service = await wsman.get("IPS_OptInService", signal);
  } catch (thrown) {
    // Before AMT 6 there was no such thing as consent.
    if (BmcError.from(thrown).class === "unsupported") return;
    throw thrown;
  }
  const required = childOf(service, "OptInRequired")?.text === REQUIRED_FOR_ALL;
  if (!required || GIVEN.includes(childOf(service, "OptInState")?.text ?? "")) return;
  throw new BmcError(
    "auth",
    "the device accepts boot options only with user consent, which was not given: set it up in admin control mode, or disable user opt-in",
    { refused: "right" },
  );
}

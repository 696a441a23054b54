import type { ErrorClass } from "../../../../contract/error-class.ts";
import type { QuirkNote } from "./behaviour-quirks.ts";

/** A message that means something else than the status it comes with. */
export interface MessageQuirk extends QuirkNote {
  readonly messageId: RegExp;
  readonly class: ErrorClass;
}

/** The first that fits decides. */
export const messageQuirks: readonly MessageQuirk[] = [
  {
    name: "dell-sessions-full",
    vendors: "Dell",
    reason: "RAC0218: the maximum number of sessions is reached; they expire",
    source: "iDRAC message registry, RAC0218",
    messageId: /RAC0218|SessionLimitExceeded/,
    class: "busy",
  },
  {
    name: "dell-not-ready",
    vendors: "Dell",
    reason: "SYS518: iDRAC is still starting",
    source: "iDRAC message registry, SYS518",
    messageId: /SYS518/,
    class: "busy",
  },
  {
    name: "dell-media-still-inserted",
    vendors: "Dell",
    reason: "VRM0012, VRM0021: an earlier image still counts as attached for some seconds after its ejection",
    source: "microsoft/lisa pull request 4168, dell/terraform-provider-redfish issue 331",
    messageId: /VRM0012|VRM0021/,
    class: "busy",
  },
  {
    name: "dell-idrac10-on-after-off",
    vendors: "Dell iDRAC10",
    reason: "calls On right after off a conflict of parameters",
    source: "observed on iDRAC10: 409 ActionParameterValueConflict",
    messageId: /ActionParameterValueConflict/,
    class: "busy",
  },
  {
    name: "hpe-in-post",
    vendors: "HPE",
    reason: "iLO takes no change while the system is in POST or between power states",
    source: "iLO message registry",
    messageId: /UnableToModifyDuringSystemPOST|InvalidOperationForSystemState/,
    class: "busy",
  },
  {
    name: "hpe-login-refused",
    vendors: "HPE",
    reason: "iLO answers 400 to a login with a wrong password",
    source: "iLO message registry",
    messageId: /UnauthorizedLoginAttempt/,
    class: "auth",
  },
  {
    name: "insufficient-privilege",
    vendors: "some",
    reason: "400 when the account may not do it",
    source: "DSP8011 Base registry",
    messageId: /InsufficientPrivilege|NoValidSession|AccessDenied/,
    class: "auth",
  },
  {
    name: "try-later",
    vendors: "some",
    reason: "registry messages that say the service is busy, whatever the status",
    source: "DSP8011 Base registry",
    messageId: /ServiceTemporarilyUnavailable|ResourceInUse|ServiceInUnknownState|ResourceInStandby/,
    class: "busy",
  },
  {
    name: "not-offered",
    vendors: "some",
    reason: "registry messages that say the value or the action is not offered, mostly with 400",
    source: "DSP8011 Base registry",
    messageId:
      /Action(Parameter)?NotSupported|ActionParameterValue(NotInList|FormatError|TypeError|Error)|ActionParameterUnknown|PropertyValueNotInList|PropertyUnknown/,
    class: "unsupported",
  },
];

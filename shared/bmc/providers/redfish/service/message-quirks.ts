import type { ErrorClass } from "../../../../contract/error-class.ts";
import type { QuirkNote } from "./behaviour-quirks.ts";

/** Messages of registries whose meaning differs from that of their status. */
export interface MessageQuirk extends QuirkNote {
  /** The prefix of the MessageId (DSP0266, MessageId format); absent for any registry. */
  readonly registry?: RegExp;
  /** The last part of the MessageId. */
  readonly keys: readonly string[];
  /** Text that the refusal must contain as well; absent for any text. */
  readonly words?: RegExp;
  readonly class: ErrorClass;
}

const HPE = /^(ilo|hpe?common|base)\b/i;

/** The first match decides. */
export const messageQuirks: readonly MessageQuirk[] = [
  {
    name: "dell-sessions-full",
    vendors: "Dell",
    reason: "RAC0218: the maximum number of sessions is reached; they expire",
    source: "iDRAC message registry, RAC0218",
    keys: ["RAC0218"],
    class: "busy",
  },
  {
    name: "dell-not-ready",
    vendors: "Dell",
    reason: "SYS518, SWC0700: iDRAC is still starting",
    source: "iDRAC message registry, SYS518; quadsproject/badfish issue 129, SWC0700",
    keys: ["SYS518", "SWC0700"],
    class: "busy",
  },
  {
    name: "dell-media-still-inserted",
    vendors: "Dell",
    reason: "VRM0012, VRM0021: an image counts as attached for some seconds after its ejection",
    source: "microsoft/lisa pull request 4168, dell/terraform-provider-redfish issue 331",
    keys: ["VRM0012", "VRM0021"],
    class: "busy",
  },
  {
    name: "dell-idrac10-on-after-off",
    vendors: "Dell iDRAC10",
    reason: "answers On right after off with a conflict of parameters",
    source: "observed on iDRAC10: 409 ActionParameterValueConflict",
    keys: ["ActionParameterValueConflict"],
    class: "busy",
  },
  {
    name: "hpe-power-off",
    vendors: "HPE",
    reason: "iLO takes no reset and no power-off of a machine that is off; waiting does not change that",
    source: "goldyfruit/ansible-ilo issue 1",
    registry: /^ilo\b/i,
    keys: ["InvalidOperationForSystemState"],
    words: /\bpower is off\b/i,
    class: "state",
  },
  {
    name: "hpe-in-post",
    vendors: "HPE",
    reason: "iLO takes no change while the system is in POST or between power states",
    source: "iLO message registry",
    keys: [
      "UnableToModifyDuringSystemPOST",
      "InvalidOperationForSystemState",
      "OperationAvailableAfterSystemPOST",
    ],
    class: "busy",
  },
  {
    name: "hpe-not-ready",
    vendors: "HPE",
    reason: "iLO or a part of it is starting, in use or being updated",
    source: "HPE message registries HpeCommon and iLO",
    registry: HPE,
    keys: [
      "ResourceNotReadyRetry",
      "ResourceTemporarilyUnavailable",
      "ResourceInUseWithDetail",
      "ResourceBeingFlashed",
      "ResetInProgress",
      "DeviceIsBusy",
      "AlreadyInProgress",
      "FirmwareFlashAlreadyInProgress",
      "ComponentUploadAlreadyInProgress",
    ],
    class: "busy",
  },
  {
    name: "hpe-not-offered",
    vendors: "HPE",
    reason: "this model, its boot mode or its licence does not have it",
    source: "HPE message registry iLO",
    registry: HPE,
    keys: [
      "UnsupportedOperation",
      "UnsupportedOperationInChassisVersion",
      "UnsupportedOperationInLegacyBootMode",
      "UnsupportedOperationInSystemBIOS",
      "UnsupportedHwConfiguration",
      "ICRUNotSupported",
      "NotSupportedOnNIC",
      "RepairNotSupported",
      "NoPowerMetering",
      "LicenseKeyRequired",
      "LicenseKeyNotSupported",
    ],
    class: "unsupported",
  },
  {
    name: "licence-missing",
    vendors: "Supermicro and others",
    reason: "403 if the BMC's licence does not include it: not the account's fault",
    source: "Supermicro Redfish guide, OemLicenseNotPassed",
    keys: ["OemLicenseNotPassed", "LicenseRequired", "LicenseNotInstalled", "LicenseNotActivated"],
    class: "unsupported",
  },
  {
    name: "hpe-login-refused",
    vendors: "HPE",
    reason: "iLO answers 400 to a login with a wrong password",
    source: "iLO message registry",
    keys: ["UnauthorizedLoginAttempt", "LoginAttemptDelayed", "LoginAttemptDelayedSeconds"],
    class: "auth",
  },
  {
    name: "password-must-change",
    vendors: "some",
    reason: "with a factory or expired password, only the password can be changed",
    source: "DSP0266, password change required; dell/iDRAC-Redfish-Scripting issue 346, SWC1908",
    keys: ["PasswordChangeRequired", "SWC1908"],
    class: "auth",
  },
  {
    name: "insufficient-privilege",
    vendors: "some",
    reason: "400 if the account lacks the privilege",
    source: "DSP8011 Base registry",
    keys: [
      "InsufficientPrivilege",
      "InsufficientPrivilegeForAccessToProperty",
      "NoValidSession",
      "AccessDenied",
    ],
    class: "auth",
  },
  {
    name: "try-later",
    vendors: "some",
    reason: "registry messages for a busy service, with any status",
    source: "DSP8011 Base registry",
    keys: [
      "ServiceTemporarilyUnavailable",
      "ServiceShuttingDown",
      "ServiceInUnknownState",
      "ResourceInUse",
      "ResourceInStandby",
      "ResourceExhaustion",
      "OperationTimeout",
      "SessionLimitExceeded",
    ],
    class: "busy",
  },
  {
    name: "not-writable",
    vendors: "some",
    reason: "403 or 400 for what no account can change in this way",
    source: "DSP8011 Base registry",
    keys: ["PropertyNotWritable", "PropertyNotUpdated", "ResourceCannotBeDeleted", "OperationNotAllowed"],
    class: "unsupported",
  },
  {
    name: "not-offered",
    vendors: "some",
    reason: "registry messages for a value or action that is not offered, mostly with 400",
    source: "DSP8011 Base registry",
    keys: [
      "ActionNotSupported",
      "ActionParameterNotSupported",
      "ActionParameterValueNotInList",
      "ActionParameterValueFormatError",
      "ActionParameterValueTypeError",
      "ActionParameterValueError",
      "ActionParameterUnknown",
      "PropertyValueNotInList",
      "PropertyUnknown",
      "PropertyNotSupported",
    ],
    class: "unsupported",
  },
];

/** The entry for a MessageId, with or without registry and version, in a refusal with this text. */
export function messageQuirkOf(messageIds: readonly string[], text = ""): MessageQuirk | undefined {
  const given = messageIds.map((id) => ({ id, key: id.slice(id.lastIndexOf(".") + 1) }));
  return messageQuirks.find(
    ({ registry, keys, words }) =>
      given.some(({ id, key }) => keys.includes(key) && (key === id || !registry || registry.test(id))) &&
      (!words || words.test(text)),
  );
}

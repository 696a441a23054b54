import type { ErrorClass } from "../../contract/error-class.ts";

/** What of a System resource tells vendors and models apart; no request is made for it. */
export interface Identity {
  readonly manufacturer: string;
  readonly model: string;
  /** Keys of the System's `Oem` object. */
  readonly oem: readonly string[];
}

/** How a BMC differs from the specification, one field a difference. */
export interface Behaviour {
  /** When `BootSourceOverrideMode` is sent: when asked for and different, whenever advertised, or never. */
  readonly sendMode: "when-different" | "always" | "never";
  /** Whether a boot write carries If-Match from the start or only once the BMC asks for it. */
  readonly ifMatch: "first" | "on-demand";
  /** After 412 with If-Match: try a fresh tag and its other forms, or go on without. */
  readonly afterPreconditionFailed: "other-tags" | "without";
  /** The target that goes with `Disabled` to clear an override. */
  readonly clearTarget: "None" | "Pxe";
  /** Values for the boot device `cdrom`, best first. */
  readonly cdTargets: readonly string[];
  /** When a refused boot write is read back: before giving up, or after each refusal. */
  readonly readBack: "before-failing" | "each-refusal";
  /** Whether a boot override may be made permanent although the BMC lists no values for it. */
  readonly continuous: "assumed" | "listed-only";
  /** Reset types never sent without being listed. */
  readonly unlistedResets: readonly string[];
  /** Whether a settings resource that holds `Boot` takes the override instead of the System. */
  readonly settings: "when-it-holds-boot" | "always";
}

export const STANDARD: Behaviour = {
  sendMode: "when-different",
  ifMatch: "on-demand",
  afterPreconditionFailed: "other-tags",
  clearTarget: "None",
  cdTargets: ["Cd"],
  readBack: "before-failing",
  continuous: "assumed",
  unlistedResets: [],
  settings: "when-it-holds-boot",
};

/** A difference with its name, its reason and its effect. Without `match` it is learned from an answer. */
export interface Quirk {
  readonly name: string;
  readonly reason: string;
  readonly match?: {
    readonly manufacturer?: RegExp;
    readonly model?: RegExp;
    readonly oem?: RegExp;
  };
  readonly effect: Partial<Behaviour>;
}

const DELL = /^dell\b/i;
const SUPERMICRO = /^super ?micro/i;
const AMI = /american megatrends|^ami\b|asrock ?rack/i;
const LENOVO = /^lenovo/i;

/** In the order they apply: a later one overrides an earlier one. */
export const quirks: readonly Quirk[] = [
  {
    name: "dell-mode-unchanged",
    reason: "iDRAC9 queues a BIOS job and reboots twice when the mode it already has is sent",
    match: { manufacturer: DELL },
    effect: { sendMode: "when-different" },
  },
  {
    name: "dell-idrac10-settings",
    reason: "Boot is read-only on the System of iDRAC10; the settings resource takes it, with its own ETag",
    match: { manufacturer: DELL, model: /\b[A-Z]{1,2}\d7\d{1,2}[a-z]*\b/i },
    effect: { settings: "always", ifMatch: "first" },
  },
  {
    name: "dell-13g-refuses-but-applies",
    reason: "13th generation answers 400 SYS444 or SYS410 although the override is applied",
    match: { manufacturer: DELL, model: /\b[RTMCF][A-Z]?\d3\d[a-z]*\b/i },
    effect: { readBack: "each-refusal" },
  },
  {
    name: "hpe-clear-with-pxe",
    reason: "iLO refuses the target None; Disabled with the target Pxe clears the override",
    match: { manufacturer: /^(hpe?\b|hewlett)/i },
    effect: { clearTarget: "Pxe" },
  },
  {
    name: "mode-read-only",
    reason: "iLO and others answer 400 while the mode is part of the request, and take the rest without it",
    effect: { sendMode: "never" },
  },
  {
    name: "supermicro-mode-sent",
    reason: "the mode reverts unless it is part of the request",
    match: { manufacturer: SUPERMICRO },
    effect: { sendMode: "always" },
  },
  {
    name: "supermicro-usb-cd",
    reason: "virtual media boots as UsbCd, not as Cd",
    match: { manufacturer: SUPERMICRO },
    effect: { cdTargets: ["UsbCd", "Cd"] },
  },
  {
    name: "ami-all-three",
    reason: "MegaRAC takes target, enabled and mode only together",
    match: { manufacturer: AMI },
    effect: { sendMode: "always" },
  },
  {
    name: "ami-all-three-oem",
    reason: "boards of other makers run MegaRAC too and say so in Oem",
    match: { oem: /^ami/i },
    effect: { sendMode: "always" },
  },
  {
    name: "lenovo-listed-only",
    reason: "PushPowerButton is not supported, and permanent overrides only where they are advertised",
    match: { manufacturer: LENOVO },
    effect: { continuous: "listed-only", unlistedResets: ["PushPowerButton"] },
  },
  {
    name: "lenovo-xcc-no-if-match",
    reason: "some XClarity Controller firmware answers 412 to any If-Match",
    match: { manufacturer: LENOVO },
    effect: { afterPreconditionFailed: "without" },
  },
  {
    name: "lenovo-sr6x5-if-match",
    reason: "SR635 and SR655 require If-Match",
    match: { manufacturer: LENOVO, model: /\bSR6[35]5\b/i },
    effect: { ifMatch: "first", afterPreconditionFailed: "other-tags" },
  },
  {
    name: "huawei-if-match",
    reason: "iBMC requires If-Match",
    match: { manufacturer: /^(huawei|xfusion)/i },
    effect: { ifMatch: "first" },
  },
  {
    name: "if-match-required",
    reason: "the BMC answered 428, or 412 to a request without If-Match",
    effect: { ifMatch: "first" },
  },
  {
    name: "if-match-refused",
    reason: "the BMC answered 412 to every If-Match and took the request without",
    effect: { ifMatch: "on-demand", afterPreconditionFailed: "without" },
  },
];

export type LearnedQuirk = "mode-read-only" | "if-match-required" | "if-match-refused";

/** The names of the quirks a System's identity shows, with those that were learned. */
export function activeQuirks(identity: Identity, learned: ReadonlySet<string>): readonly Quirk[] {
  return quirks.filter((quirk) => (quirk.match ? matches(quirk.match, identity) : learned.has(quirk.name)));
}

export function behaviourOf(active: readonly Quirk[]): Behaviour {
  return Object.assign({}, STANDARD, ...active.map(({ effect }) => effect));
}

function matches(match: NonNullable<Quirk["match"]>, identity: Identity): boolean {
  if (match.manufacturer && !match.manufacturer.test(identity.manufacturer)) return false;
  if (match.model && !match.model.test(identity.model)) return false;
  const { oem } = match;
  return !oem || identity.oem.some((key) => oem.test(key));
}

/** A message that means something else than the status it comes with. */
export interface MessageQuirk {
  readonly name: string;
  readonly reason: string;
  readonly messageId: RegExp;
  readonly class: ErrorClass;
}

/** The first that fits decides. */
export const messageQuirks: readonly MessageQuirk[] = [
  {
    name: "dell-sessions-full",
    reason: "RAC0218: the maximum number of sessions is reached; they expire",
    messageId: /RAC0218|SessionLimitExceeded/,
    class: "busy",
  },
  { name: "dell-not-ready", reason: "SYS518: iDRAC is still starting", messageId: /SYS518/, class: "busy" },
  {
    name: "dell-idrac10-on-after-off",
    reason: "iDRAC10 calls On right after off a conflict of parameters",
    messageId: /ActionParameterValueConflict/,
    class: "busy",
  },
  {
    name: "hpe-in-post",
    reason: "iLO takes no change while the system is in POST or between power states",
    messageId: /UnableToModifyDuringSystemPOST|InvalidOperationForSystemState/,
    class: "busy",
  },
  {
    name: "hpe-login-refused",
    reason: "iLO answers 400 to a login with a wrong password",
    messageId: /UnauthorizedLoginAttempt/,
    class: "auth",
  },
  {
    name: "insufficient-privilege",
    reason: "some BMCs answer 400 when the account may not do it",
    messageId: /InsufficientPrivilege|NoValidSession|AccessDenied/,
    class: "auth",
  },
  {
    name: "try-later",
    reason: "registry messages that say the service is busy, whatever the status",
    messageId: /ServiceTemporarilyUnavailable|ResourceInUse|ServiceInUnknownState|ResourceInStandby/,
    class: "busy",
  },
  {
    name: "not-offered",
    reason: "registry messages that say the value or the action is not offered, mostly with 400",
    messageId:
      /Action(Parameter)?NotSupported|ActionParameterValue(NotInList|FormatError|TypeError|Error)|ActionParameterUnknown|PropertyValueNotInList|PropertyUnknown|ActionNotSupported/,
    class: "unsupported",
  },
];

/** MegaRAC names the `/SD` resource of a System as the one that takes changes for the next boot. */
export const FUTURE_STATE = {
  name: "ami-future-state",
  reason: "the change is only taken by the resource for the future state",
  messageId: /OperationSupportedInFutureStateURI/,
  suffix: "/SD",
} as const;

/** Entity tags that BMCs send but do not take back. */
export const etagRepairs: readonly {
  readonly name: string;
  readonly reason: string;
  readonly pattern: RegExp;
  readonly replacement: string;
}[] = [
  {
    name: "etag-doubled-quotes",
    reason: "the tag is quoted twice",
    pattern: /^(W\/)?"?\\?"+([^"\\]*)\\?"+"?$/,
    replacement: '$1"$2"',
  },
  {
    name: "etag-unquoted",
    reason: "the tag is not quoted at all",
    pattern: /^(W\/)?([^"*]+)$/,
    replacement: '$1"$2"',
  },
  {
    name: "etag-gzip",
    reason: "a compressing front end adds -gzip, which the service behind it does not know",
    pattern: /[-;]gzip"$/,
    replacement: '"',
  },
];

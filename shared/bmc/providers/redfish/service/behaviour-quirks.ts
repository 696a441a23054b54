/** The fields of a System resource that identify vendors and models. No request is made for them. */
export interface Identity {
  readonly manufacturer: string;
  readonly model: string;
  /** The keys of the System's `Oem` object. */
  readonly oem: readonly string[];
}

/** The description of a quirk in the documentation. */
export interface QuirkNote {
  readonly name: string;
  /** The makes on which it was observed, for people. */
  readonly vendors: string;
  readonly reason: string;
  /** The source of the information: a specification, a registry or a public report. */
  readonly source: string;
}

/** How a BMC differs from the specification, one field per difference. */
export interface Behaviour {
  /** When `BootSourceOverrideMode` is sent: if it is requested and differs, whenever it is advertised, or never. */
  readonly sendMode: "when-different" | "always" | "never";
  /** Whether a write carries If-Match from the start, or only when the BMC asks for it. */
  readonly ifMatch: "first" | "on-demand";
  /** After 412 with If-Match: try a fresh tag and its other forms, or continue without. */
  readonly afterPreconditionFailed: "other-tags" | "without";
  /** The target to send with `Disabled` in order to clear an override. */
  readonly clearTarget: "None" | "Pxe";
  /** Values for the boot device `cdrom`, best first. */
  readonly cdTargets: readonly string[];
  /** When a refused boot write is read back: before giving up, or after each refusal. */
  readonly readBack: "before-failing" | "each-refusal";
  /** How long a one-time boot override lasts: for one boot, or like a persistent one. */
  readonly once: "one-boot" | "persistent";
  /** Reset types that are never sent unless they are listed. */
  readonly unlistedResets: readonly string[];
  /** The resource that takes the override: the one `@Redfish.Settings` names when it has the override's target or in
   * any case, or the System's `/SD`. */
  readonly bootOwner: "settings-with-target" | "settings" | "future-state";
  /** What shows that a virtual drive is empty: `Inserted` and `Image`, or `ConnectedVia`. */
  readonly emptySlot: "inserted" | "not-connected";
  /** The form of an image on a share in InsertMedia: a URI, or `host:/path` and `//host/share/path`. */
  readonly imageShares: "uri" | "share";
  /** Whether accounts are created with POST, or by filling one of a fixed number of empty ones. */
  readonly accounts: "collection" | "slots";
  /** Whether Manager.Reset takes a ResetType. */
  readonly managerReset: "typed" | "empty";
  /** What applies pending BIOS attributes if no apply times are listed: the next boot, or a job of the manager. */
  readonly biosChanges: "boot" | "job";
  /** The type of a certificate that includes its issuers. */
  readonly certificateChains: "PEMchain" | "PEM";
  /** Whether a multipart push contains `OemParameters` from the start, or only when the BMC asks for them. */
  readonly oemParameters: "on-demand" | "first";
}

const STANDARD: Behaviour = {
  sendMode: "when-different",
  ifMatch: "on-demand",
  afterPreconditionFailed: "other-tags",
  clearTarget: "None",
  cdTargets: ["Cd"],
  readBack: "before-failing",
  once: "one-boot",
  unlistedResets: [],
  bootOwner: "settings-with-target",
  emptySlot: "inserted",
  imageShares: "uri",
  accounts: "collection",
  managerReset: "typed",
  biosChanges: "boot",
  certificateChains: "PEMchain",
  oemParameters: "on-demand",
};

/** A difference with its name, its reason and its effect. Without `match` it is learned from an answer. */
export interface Quirk extends QuirkNote {
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

/** The quirks in the order in which they apply: a later one overrides an earlier one. */
export const quirks: readonly Quirk[] = [
  {
    name: "dell-idrac10-settings",
    vendors: "Dell iDRAC10",
    reason: "Boot is read-only on the System: the settings resource takes it, with its own ETag",
    source: "ansible-collections/community.general issue 11297",
    match: { manufacturer: DELL, model: /\b[A-Z]{1,2}\d7\d{1,2}[a-z]*\b/i },
    effect: { bootOwner: "settings", ifMatch: "first" },
  },
  {
    name: "dell-13g-refuses-but-applies",
    vendors: "Dell 13G",
    reason: "answers 400 SYS444 or SYS410 although the override is applied",
    source: "iDRAC message registry, SYS444 and SYS410",
    match: { manufacturer: DELL, model: /\b[RTMCF][A-Z]?\d3\d[a-z]*\b/i },
    effect: { readBack: "each-refusal" },
  },
  {
    name: "dell-account-slots",
    vendors: "Dell",
    reason: "has 16 accounts: an empty one is filled to create a user, and cleared to delete it",
    source: "iDRAC9 Redfish API guide, ManagerAccount",
    match: { manufacturer: DELL },
    effect: { accounts: "slots" },
  },
  {
    name: "dell-image-shares",
    vendors: "Dell",
    reason: "InsertMedia takes an image on NFS as host:/path and on CIFS as //host/share/path",
    source: "dellemc.openmanage, module idrac_virtual_media",
    match: { manufacturer: DELL },
    effect: { imageShares: "share" },
  },
  {
    name: "dell-bios-job",
    vendors: "Dell",
    reason:
      "firmware without apply times applies pending BIOS attributes only after a BIOS configuration job is created",
    source: "dell/iDRAC-Redfish-Scripting, SetBiosAttributesREDFISH.py",
    match: { manufacturer: DELL },
    effect: { biosChanges: "job" },
  },
  {
    name: "hpe-clear-with-pxe",
    vendors: "HPE",
    reason: "iLO refuses the target None; Disabled with the target Pxe clears the override",
    source: "observed on iLO 5",
    match: { manufacturer: /^(hpe?\b|hewlett)/i },
    effect: { clearTarget: "Pxe" },
  },
  {
    name: "mode-read-only",
    vendors: "HPE and others",
    reason: "answers 400 if the request has the mode",
    source: "ansible-collections/community.general issue 3509",
    effect: { sendMode: "never" },
  },
  {
    name: "mode-required",
    vendors: "some",
    reason: "answers 400 if the request lacks the mode, also to clear an override",
    source: "ansible-collections/community.general issue 11542",
    effect: { sendMode: "always" },
  },
  {
    name: "supermicro-mode-sent",
    vendors: "Supermicro",
    reason: "the mode reverts unless the request has it",
    source: "DMTF/Redfishtool pull request 106",
    match: { manufacturer: SUPERMICRO },
    effect: { sendMode: "always" },
  },
  {
    name: "supermicro-usb-cd",
    vendors: "Supermicro, except ARS-111GL-NHR",
    reason: "virtual media boots as UsbCd, not as Cd",
    source: "observed on X11 and later boards; openstack/sushy release note supermicro-vmedia-dev-workaround",
    match: { manufacturer: SUPERMICRO, model: /^(?!ARS-111GL-NHR\b)/i },
    effect: { cdTargets: ["UsbCd", "Cd"] },
  },
  {
    name: "supermicro-ejected-keeps-image",
    vendors: "Supermicro",
    reason: "an ejected drive keeps the name of its image; ConnectedVia NotConnected means empty",
    source: "observed on X11 and later boards",
    match: { manufacturer: SUPERMICRO },
    effect: { emptySlot: "not-connected" },
  },
  {
    name: "ami-all-three",
    vendors: "AMI, ASRockRack",
    reason: "MegaRAC takes target, enabled and mode only together",
    source: "observed on MegaRAC SP-X",
    match: { manufacturer: AMI },
    effect: { sendMode: "always" },
  },
  {
    name: "ami-all-three-oem",
    vendors: "AMI on boards of other makers",
    reason: "boards of other makers that run MegaRAC, as Oem shows",
    source: "dsx-ai-factory/libredfish pull request 34",
    match: { oem: /^ami/i },
    effect: { sendMode: "always" },
  },
  {
    name: "ami-future-state",
    vendors: "AMI, ASRockRack",
    reason: "400 OperationSupportedInFutureStateURI: the System's /SD resource takes Boot",
    source: "DMTF/Redfish-Tacklebox issues 111 and 144",
    effect: { bootOwner: "future-state" },
  },
  {
    name: "lenovo-listed-only",
    vendors: "Lenovo",
    reason: "PushPowerButton is not supported where it is not listed",
    source: "XClarity Controller REST API guide",
    match: { manufacturer: LENOVO },
    effect: { unlistedResets: ["PushPowerButton"] },
  },
  {
    name: "lenovo-xcc-no-if-match",
    vendors: "Lenovo XCC",
    reason: "some firmware answers 412 to any If-Match",
    source: "ansible-collections/community.general pull requests 3268 and 11270",
    match: { manufacturer: LENOVO },
    effect: { afterPreconditionFailed: "without" },
  },
  {
    name: "lenovo-sr6x5-if-match",
    vendors: "Lenovo SR635, SR655",
    reason: "requires If-Match",
    source: "stmcginnis/gofish issue 171",
    match: { manufacturer: LENOVO, model: /\bSR6[35]5\b/i },
    effect: { ifMatch: "first", afterPreconditionFailed: "other-tags" },
  },
  {
    name: "huawei-if-match",
    vendors: "Huawei, xFusion",
    reason: "iBMC requires If-Match",
    source: "ansible/ansible issue 60031",
    match: { manufacturer: /^(huawei|xfusion)/i },
    effect: { ifMatch: "first" },
  },
  {
    name: "chain-as-pem",
    vendors: "OpenBMC",
    reason: "answers 400 to a certificate chain as PEMchain and takes it as PEM",
    source: "openbmc/bmcweb, redfish-core/lib/certificate_service.hpp",
    effect: { certificateChains: "PEM" },
  },
  {
    name: "sushy-keeps-overrides",
    vendors: "sushy-tools",
    reason: "the emulator keeps every override as Continuous: the result says that it is persistent",
    source: "sushy-tools 2.2.0, emulator/templates/system.json",
    match: { manufacturer: /^sushy emulator$/i },
    effect: { once: "persistent" },
  },
  {
    name: "if-match-required",
    vendors: "any",
    reason: "the BMC answered 428, or 412 to a request without If-Match",
    source: "DSP0266, protocol details, ETags",
    effect: { ifMatch: "first" },
  },
  {
    name: "if-match-refused",
    vendors: "any",
    reason: "the BMC answered 412 to every If-Match, and accepted the request without it",
    source: "ansible-collections/community.general pull request 3268",
    effect: { ifMatch: "on-demand", afterPreconditionFailed: "without" },
  },
  {
    name: "fixed-account-slots",
    vendors: "any",
    reason: "accounts cannot be created, but empty ones can be filled",
    source: "DSP0268, ManagerAccount",
    effect: { accounts: "slots" },
  },
  {
    name: "empty-manager-reset",
    vendors: "some",
    reason: "Manager.Reset needs an empty body, without ResetType",
    source: "observed on BMCs that list no reset types",
    effect: { managerReset: "empty" },
  },
  {
    name: "oem-parameters",
    vendors: "AMI on boards of several makers",
    reason: "answers 400 to a multipart push without OemParameters (the type of the image)",
    source: "ansible-collections/community.general issue 8825",
    effect: { oemParameters: "first" },
  },
];

export type LearnedQuirk =
  | "mode-read-only"
  | "mode-required"
  | "if-match-required"
  | "if-match-refused"
  | "ami-future-state"
  | "fixed-account-slots"
  | "empty-manager-reset"
  | "oem-parameters"
  | "chain-as-pem";

/** The quirks according to a System's identity, and those that were learned. */
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

/** MegaRAC's refusal of a boot override on the System, and the resource that accepts it (`ami-future-state`). */
export const FUTURE_STATE = { messageId: /OperationSupportedInFutureStateURI/, suffix: "/SD" } as const;

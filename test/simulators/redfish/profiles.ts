/** How one make of BMC behaves: data that the simulator obeys, each field a way to trip a naive client. */
export interface RedfishProfile {
  readonly name: string;
  readonly manufacturer: string;
  readonly model: string;
  readonly oem: string;
  readonly systemId: string;
  readonly resetTypes: readonly string[];
  /** Where the reset types are told: on the system, in ActionInfo, or nowhere. */
  readonly resetListing: "system" | "action-info" | "none";
  readonly bootTargets: readonly string[];
  readonly bootEnabled: readonly string[];
  /** Empty: the BMC has no BootSourceOverrideMode. */
  readonly bootModes: readonly string[];
  readonly bootListing: boolean;
  /** The resource that takes the override. */
  readonly bootOwner: "system" | "settings" | "future-state";
  /** What happens to the mode of an override: */
  readonly modeRule:
    | "plain"
    /** 400 when it is in the request. */
    | "read-only"
    /** The override is dropped unless it is in the request. */
    | "must-be-sent"
    /** Sending the mode it already has queues a BIOS job and a reboot. */
    | "unchanged-queues-job";
  /** 400 unless target, enabled and mode come together. */
  readonly allThree: boolean;
  /** 400 for target None. */
  readonly refusesNone: boolean;
  /** A MessageId answered with 400 after the override was applied. */
  readonly refusesButApplies?: string;
  /** Answers 200, then keeps mode Legacy and no override. */
  readonly reverts: boolean;
  readonly ifMatch: "ignored" | "required" | "refused";
  /** How the entity tag is written; a service may send one form and take another. */
  readonly etagSent: "strong" | "weak" | "doubled" | "gzip" | "property";
  readonly etagTaken: "strong" | "weak";
  readonly refusesIdentityEncoding: boolean;
  /** Shows PoweringOn and PoweringOff; otherwise the old state lingers. */
  readonly showsTransitions: boolean;
}

const generic: RedfishProfile = {
  name: "generic",
  manufacturer: "Contoso",
  model: "3500",
  oem: "Contoso",
  systemId: "1",
  resetTypes: [
    "On",
    "ForceOff",
    "GracefulShutdown",
    "GracefulRestart",
    "ForceRestart",
    "Nmi",
    "ForceOn",
    "PushPowerButton",
    "PowerCycle",
  ],
  resetListing: "system",
  bootTargets: ["None", "Pxe", "Cd", "Usb", "Hdd", "BiosSetup", "Diags", "Floppy", "UefiHttp"],
  bootEnabled: ["Disabled", "Once", "Continuous"],
  bootModes: ["Legacy", "UEFI"],
  bootListing: true,
  bootOwner: "system",
  modeRule: "plain",
  allThree: false,
  refusesNone: false,
  reverts: false,
  ifMatch: "ignored",
  etagSent: "strong",
  etagTaken: "strong",
  refusesIdentityEncoding: false,
  showsTransitions: true,
};

const dell = {
  manufacturer: "Dell Inc.",
  oem: "Dell",
  systemId: "System.Embedded.1",
  resetTypes: [
    "On",
    "ForceOff",
    "ForceRestart",
    "GracefulRestart",
    "GracefulShutdown",
    "PushPowerButton",
    "Nmi",
    "PowerCycle",
  ],
} as const;

const hpe = {
  manufacturer: "HPE",
  oem: "Hpe",
  resetTypes: [
    "On",
    "ForceOff",
    "GracefulShutdown",
    "ForceRestart",
    "Nmi",
    "PushPowerButton",
    "GracefulRestart",
  ],
} as const;

const lenovo = {
  manufacturer: "Lenovo",
  oem: "Lenovo",
  resetTypes: ["On", "Nmi", "GracefulShutdown", "GracefulRestart", "ForceOn", "ForceOff", "ForceRestart"],
} as const;

/** Every profile by name. */
export const redfishProfiles: Readonly<Record<string, RedfishProfile>> = Object.fromEntries(
  (
    [
      generic,
      { ...generic, ...dell, name: "dell-idrac9", model: "PowerEdge R640", modeRule: "unchanged-queues-job" },
      {
        ...generic,
        ...dell,
        name: "dell-idrac10",
        model: "PowerEdge R770",
        bootOwner: "settings",
        ifMatch: "required",
      },
      {
        ...generic,
        ...dell,
        name: "dell-13g",
        model: "PowerEdge R630",
        bootListing: false,
        refusesButApplies: "IDRAC.1.6.SYS444",
      },
      {
        ...generic,
        ...hpe,
        name: "hpe-ilo5",
        model: "ProLiant DL360 Gen10",
        modeRule: "read-only",
        refusesNone: true,
      },
      {
        ...generic,
        ...hpe,
        name: "hpe-no-identity",
        model: "ProLiant DL360 Gen9",
        refusesNone: true,
        refusesIdentityEncoding: true,
      },
      {
        ...generic,
        name: "supermicro",
        manufacturer: "Supermicro",
        model: "SYS-1029P-WTR",
        oem: "Supermicro",
        bootTargets: ["None", "Pxe", "Hdd", "Cd", "UsbCd", "BiosSetup", "UefiHttp"],
        modeRule: "must-be-sent",
      },
      {
        ...generic,
        name: "supermicro-reverting",
        manufacturer: "Supermicro",
        model: "AS-1015CS-TNR",
        oem: "Supermicro",
        reverts: true,
      },
      {
        ...generic,
        name: "ami",
        manufacturer: "ASRockRack",
        model: "E3C246D4U",
        oem: "ASRockRack",
        systemId: "Self",
        allThree: true,
        etagSent: "property",
      },
      {
        ...generic,
        name: "ami-future-state",
        manufacturer: "Quanta Cloud Technology Inc.",
        model: "QuantaGrid D54Q-2U",
        oem: "Ami",
        systemId: "Self",
        allThree: true,
        bootOwner: "future-state",
        ifMatch: "required",
      },
      {
        ...generic,
        ...lenovo,
        name: "lenovo-xcc",
        model: "ThinkSystem SR650",
        ifMatch: "refused",
        bootListing: false,
      },
      {
        ...generic,
        ...lenovo,
        name: "lenovo-sr655",
        model: "ThinkSystem SR655",
        ifMatch: "required",
        etagSent: "doubled",
      },
      {
        ...generic,
        name: "huawei",
        manufacturer: "Huawei",
        model: "2288H V5",
        oem: "Huawei",
        ifMatch: "required",
        etagSent: "weak",
        etagTaken: "weak",
      },
      {
        ...generic,
        name: "openbmc",
        manufacturer: "IBM",
        model: "9105-22A",
        oem: "OpenBMC",
        systemId: "system",
        resetListing: "action-info",
        showsTransitions: false,
      },
      {
        ...generic,
        name: "unlisted",
        resetTypes: ["ForceOn", "ForceOff"],
        resetListing: "none",
        bootListing: false,
      },
      {
        ...generic,
        name: "strict-etag",
        ifMatch: "required",
        etagSent: "strong",
        etagTaken: "weak",
      },
      { ...generic, name: "gzip-etag", ifMatch: "required", etagSent: "gzip" },
      { ...generic, name: "legacy-only", bootModes: [] },
    ] satisfies RedfishProfile[]
  ).map((profile) => [profile.name, profile]),
);

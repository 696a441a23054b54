/** How one make of BMC behaves: data that the simulator obeys, each field a way to trip a naive client. */
export interface RedfishProfile {
  readonly name: string;
  readonly manufacturer: string;
  readonly model: string;
  readonly oem: string;
  readonly systemId: string;
  readonly resetTypes: readonly string[];
  /** Where the reset types are listed: on the system, in ActionInfo, or nowhere. */
  readonly resetListing: "system" | "action-info" | "none";
  /** Empty: the system has no Boot. */
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
  /** A one-time override is stored as Continuous. */
  readonly keepsOnce?: boolean;
  /** 400 for target None. */
  readonly refusesNone: boolean;
  /** A MessageId answered with 400 after the override was applied. */
  readonly refusesButApplies?: string;
  /** Answers 200, then keeps mode Legacy and no override. */
  readonly reverts: boolean;
  /** `checked` is the standard: a client may leave If-Match out, but what it sends must match (DSP0266 section 6.5). */
  readonly ifMatch: "checked" | "required" | "refused";
  /** How the entity tag is written; a service may send one form and take another. */
  readonly etagSent: "strong" | "weak" | "doubled" | "gzip" | "property";
  readonly etagTaken: "strong" | "weak";
  readonly refusesIdentityEncoding: boolean;
  /** Shows PoweringOn and PoweringOff; otherwise the old state lingers. */
  readonly showsTransitions: boolean;
  /** 412 for an action with If-Match. */
  readonly actionRefusesIfMatch: boolean;
  /** Ends the connection after each answer, without having said so. */
  readonly closesConnections: boolean;
  readonly managerId: string;
  readonly firmware: string;
  readonly managerReset: {
    readonly types: readonly string[];
    readonly listing: "resource" | "action-info" | "none";
    /** 400 with a ResetType. */
    readonly emptyBody: boolean;
  };
  readonly media: {
    /** The resource that lists the drives. */
    readonly below: "manager" | "system";
    /** The last part of the collection's path. */
    readonly name: string;
    readonly slots: readonly { readonly id: string; readonly types: readonly string[] }[];
    /** False: a drive takes PATCH instead. */
    readonly actions: boolean;
    readonly showsInserted: boolean;
    /** Parameters of InsertMedia without which it is refused. */
    readonly requires: readonly string[];
    /** Drives that list the actions and answer 405 to them. */
    readonly refusesSlots?: readonly string[];
    /** An ejected drive keeps the name of its image. */
    readonly keepsImage: boolean;
    /** Insertions refused after an ejection. */
    readonly staleInserts: number;
    /** What the drives list for TransferProtocolType; nothing when absent. */
    readonly protocols?: readonly string[];
    /** How the drives take an image on a share: as a URI, or as a host and a path. */
    readonly imageShares: "uri" | "share";
  };
  readonly accounts: {
    readonly kind: "collection" | "slots";
    readonly below: "service" | "manager";
    readonly refusesEnabled: boolean;
  };
  readonly ntp: "standard" | "settings" | "dell-attributes" | "hpe-date-time" | "none";
  readonly sel: {
    readonly below: "manager" | "system" | "chassis";
    readonly name: string;
    readonly newestFirst: boolean;
    /** The collection holds whole entries. */
    readonly embedded: boolean;
    readonly clearable: boolean;
    /** Where the entries are; below the log service when absent. */
    readonly entriesPath?: string;
  };
  /** Where the identify LED is and by what name; the system's `LocationIndicatorActive` when absent. */
  readonly indicator?: "led" | "chassis" | "none";
  /** False: only the BIOS has it. */
  readonly restorePolicy?: boolean;
  /** Where the progress of a boot is shown; `BootProgress` unless said. */
  readonly progress?: "post-state";
  /** Where the power limit is; EnvironmentMetrics of the chassis when absent. */
  readonly powerLimit?: "power" | "controls" | "none";
  /** Power supplies in Power. */
  readonly powerSupplies?: number;
  /** Graphics processors among the system's processors. */
  readonly gpus?: number;
  /** Where the sensors are: below Sensors, in Thermal and Power, both when absent, or fans and power supplies only. */
  readonly sensors?: "sensors" | "thermal" | "both" | "subsystems" | "none";
  /**
   * How the manager's interface takes an address; `old` has writable IPv4Addresses, `several` a second interface, and `link-local`
   * lists such an address first.
   */
  readonly network?: "old" | "several" | "settings" | "link-local" | "none";
  /**
   * How the web server's certificate is replaced; by ReplaceCertificate of the only one in the collection when absent, in which
   * `several` has another, `pem-only` takes no PEMchain, `post` takes new members, and `hpe` has a resource of its own.
   */
  readonly certificates?: "several" | "pem-only" | "post" | "hpe" | "none";
  /** False: neither boot order nor URI of HTTP boot. */
  readonly bootOrder?: boolean;
  /** False: no URI of HTTP boot, which recorded BMCs of NVIDIA and OpenBMC alone have. */
  readonly httpBootUri?: false;
  /** What of the BIOS attributes it lacks or does another way. */
  readonly bios?: {
    /** False: no BIOS attributes at all. */
    readonly offered?: false;
    /** False: a write takes effect at once. */
    readonly settings?: false;
    readonly registry?: false;
    /** Listed in `@Redfish.Settings`; none when absent. */
    readonly applyTimes?: readonly string[];
    /** Nothing is applied without a job of the manager. */
    readonly jobs?: true;
    /** What its BIOS has beside the attributes of every simulated machine. */
    readonly attributes?: Readonly<Record<string, string | number>>;
  };
  /** iDRAC's export of the screen. */
  readonly screenshot: boolean;
  /** The `$expand` that the service root announces and the service takes. */
  readonly expand: "." | "*" | "none";
  /** Whole members in every collection, asked for or not. */
  readonly expandsAnyway?: boolean;
  /** Members on one page of a collection; all when absent. */
  readonly pageSize?: number;
}

/** Of Dell: one PXE device is free. */
const PXE_DEVICES = {
  PxeDev1EnDis: "Enabled",
  PxeDev1Interface: "NIC.Embedded.1-1-1",
  PxeDev2EnDis: "Disabled",
  PxeDev2Interface: "NIC.Embedded.2-1-1",
} as const;

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
  ifMatch: "checked",
  etagSent: "strong",
  etagTaken: "strong",
  refusesIdentityEncoding: false,
  showsTransitions: true,
  actionRefusesIfMatch: false,
  closesConnections: false,
  managerId: "1",
  firmware: "1.2.3",
  managerReset: { types: ["GracefulRestart", "ForceRestart"], listing: "resource", emptyBody: false },
  media: {
    below: "manager",
    name: "VirtualMedia",
    slots: [
      { id: "Floppy1", types: ["Floppy", "USBStick"] },
      { id: "CD1", types: ["CD", "DVD"] },
    ],
    actions: true,
    showsInserted: true,
    requires: [],
    keepsImage: false,
    staleInserts: 0,
    imageShares: "uri",
  },
  accounts: { kind: "collection", below: "service", refusesEnabled: false },
  ntp: "standard",
  sel: { below: "manager", name: "SEL", newestFirst: false, embedded: true, clearable: true },
  bios: { attributes: PXE_DEVICES },
  screenshot: false,
  expand: "none",
};

const HTTP_DEVICE = {
  HttpDev1EnDis: "Disabled",
  HttpDev1Interface: "NIC.Embedded.1-1-1",
  HttpDev1TlsMode: "None",
  HttpDev1Uri: "",
} as const;

const dell = {
  manufacturer: "Dell Inc.",
  oem: "Dell",
  httpBootUri: false,
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
  bootTargets: [
    "None",
    "Pxe",
    "Floppy",
    "Cd",
    "Hdd",
    "BiosSetup",
    "Utilities",
    "UefiTarget",
    "SDCard",
    "UefiHttp",
  ],
  managerId: "iDRAC.Embedded.1",
  firmware: "6.10.80.00",
  managerReset: { types: ["GracefulRestart"], listing: "resource", emptyBody: false },
  media: {
    ...generic.media,
    below: "system",
    slots: [
      { id: "1", types: ["CD", "DVD", "USBStick"] },
      { id: "2", types: ["CD", "DVD", "USBStick"] },
    ],
    staleInserts: 2,
    protocols: ["CIFS", "HTTP", "HTTPS", "NFS"],
    imageShares: "share",
  },
  accounts: { kind: "slots", below: "service", refusesEnabled: false },
  sel: { ...generic.sel, name: "Sel", newestFirst: true },
  screenshot: true,
  expand: "*",
  bios: {
    applyTimes: ["OnReset", "AtMaintenanceWindowStart", "InMaintenanceWindowOnReset"],
    attributes: { ...PXE_DEVICES, ...HTTP_DEVICE },
  },
} as const;

const hpe = {
  manufacturer: "HPE",
  oem: "Hpe",
  httpBootUri: false,
  firmware: "iLO 5 v2.72",
  ntp: "hpe-date-time",
  bios: {
    attributes: {
      HttpSupport: "HttpsOnly",
      PreBootNetwork: "Auto",
      Slot1NicBoot1: "NetworkBoot",
      Slot1NicBoot2: "Disabled",
      UrlBootFile: "",
    },
  },
  certificates: "hpe",
  progress: "post-state",
  accounts: { kind: "collection", below: "service", refusesEnabled: true },
  sel: { ...generic.sel, below: "system", name: "IML" },
  expand: ".",
  bootTargets: [
    "None",
    "Cd",
    "Hdd",
    "Usb",
    "SDCard",
    "Utilities",
    "Diags",
    "BiosSetup",
    "Pxe",
    "UefiShell",
    "UefiHttp",
  ],
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

const supermicro = {
  manufacturer: "Supermicro",
  oem: "Supermicro",
  httpBootUri: false,
  resetTypes: [
    "On",
    "ForceOff",
    "GracefulShutdown",
    "GracefulRestart",
    "ForceRestart",
    "Nmi",
    "ForceOn",
    "PowerCycle",
  ],
  media: {
    ...generic.media,
    name: "VM1",
    slots: [{ id: "CD1", types: ["CD", "DVD"] }],
    showsInserted: false,
    requires: ["Inserted", "WriteProtected"],
    keepsImage: true,
  },
  sel: { ...generic.sel, name: "Log1" },
} as const;

const lenovo = {
  manufacturer: "Lenovo",
  oem: "Lenovo",
  httpBootUri: false,
  media: { ...generic.media, actions: false, imageShares: "share" },
  sel: { ...generic.sel, below: "system", name: "StandardLog", embedded: false },
  expand: ".",
  bootTargets: ["None", "Pxe", "Cd", "Usb", "Hdd", "BiosSetup", "Diags", "UefiTarget"],
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
        actionRefusesIfMatch: true,
      },
      {
        ...generic,
        ...dell,
        name: "dell-13g",
        sensors: "thermal",
        model: "PowerEdge R630",
        firmware: "2.85.85.85",
        media: { ...dell.media, below: "manager" },
        accounts: { kind: "slots", below: "manager", refusesEnabled: false },
        ntp: "dell-attributes",
        sel: { ...dell.sel, entriesPath: "/redfish/v1/Managers/iDRAC.Embedded.1/LogServices/SelEntries" },
        screenshot: false,
        bios: { jobs: true },
        expand: "none",
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
        ...supermicro,
        name: "supermicro",
        sensors: "thermal",
        model: "SYS-1029P-WTR",
        bootTargets: ["None", "Pxe", "Hdd", "Cd", "UsbCd", "BiosSetup", "UefiHttp"],
        modeRule: "must-be-sent",
      },
      {
        ...generic,
        ...supermicro,
        name: "supermicro-reverting",
        model: "AS-1015CS-TNR",
        reverts: true,
      },
      {
        ...generic,
        name: "ami",
        manufacturer: "ASRockRack",
        model: "E3C246D4U",
        oem: "ASRockRack",
        systemId: "Self",
        managerId: "Self",
        allThree: true,
        etagSent: "property",
        media: { ...generic.media, requires: ["Inserted", "WriteProtected", "TransferProtocolType"] },
      },
      {
        ...generic,
        name: "ami-future-state",
        manufacturer: "Quanta Cloud Technology Inc.",
        model: "QuantaGrid D54Q-2U",
        oem: "Ami",
        systemId: "Self",
        managerId: "Self",
        allThree: true,
        bootOwner: "future-state",
        ifMatch: "required",
        ntp: "settings",
        media: {
          ...generic.media,
          requires: ["Inserted", "WriteProtected", "TransferProtocolType", "TransferMethod"],
        },
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
        name: "cisco-cimc",
        manufacturer: "Cisco Systems Inc.",
        model: "UCSC-C240-M5SX",
        oem: "Cisco",
        systemId: "WZP00000000",
        managerId: "CIMC",
        sel: { ...generic.sel, below: "chassis" },
      },
      {
        ...generic,
        name: "sushy",
        sensors: "thermal",
        manufacturer: "Sushy Emulator",
        model: "",
        keepsOnce: true,
      },
      {
        ...generic,
        name: "openbmc",
        sensors: "sensors",
        manufacturer: "IBM",
        model: "9105-22A",
        oem: "OpenBMC",
        systemId: "system",
        managerId: "bmc",
        resetListing: "action-info",
        showsTransitions: false,
        managerReset: {
          types: ["GracefulRestart", "ForceRestart"],
          listing: "action-info",
          emptyBody: false,
        },
        sel: { ...generic.sel, below: "system", name: "EventLog" },
        certificates: "pem-only",
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
      {
        ...generic,
        name: "fujitsu",
        manufacturer: "FUJITSU",
        model: "PRIMERGY RX2540 M5",
        oem: "ts_fujitsu",
        systemId: "0",
        managerId: "iRMC",
        ifMatch: "required",
        ntp: "none",
        sel: { ...generic.sel, below: "system", name: "SystemEventLog" },
      },
      {
        ...generic,
        name: "empty-manager-reset",
        managerReset: { types: [], listing: "none", emptyBody: true },
      },
      { ...generic, name: "closing", closesConnections: true },
      { ...generic, name: "paging", pageSize: 1, expand: "." },
      {
        ...generic,
        name: "bare",
        media: { ...generic.media, slots: [{ id: "Floppy1", types: ["Floppy"] }] },
        ntp: "none",
        bios: { offered: false },
        sel: { ...generic.sel, name: "Audit2", clearable: false },
      },
      { ...generic, name: "gzip-etag", ifMatch: "required", etagSent: "gzip" },
      { ...generic, name: "legacy-only", bootModes: [] },
    ] satisfies RedfishProfile[]
  ).map((profile) => [profile.name, profile]),
);

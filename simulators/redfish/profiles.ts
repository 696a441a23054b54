/** The behaviour of one make of BMC. Each field is a difference that a naive client would not handle. */
export interface RedfishProfile {
  readonly name: string;
  readonly manufacturer: string;
  readonly model: string;
  /** The key of the system in `Oem`. If empty, there is no `Oem`. */
  readonly oem: string;
  readonly systemId: string;
  readonly resetTypes: readonly string[];
  /** Where the reset types are listed: in the system, in ActionInfo, or nowhere. */
  readonly resetListing: "system" | "action-info" | "none";
  /** The boot targets. If empty, the system has no Boot. */
  readonly bootTargets: readonly string[];
  readonly bootEnabled: readonly string[];
  /** The boot modes. If empty, the BMC has no BootSourceOverrideMode. */
  readonly bootModes: readonly string[];
  readonly bootListing: boolean;
  /** The resource that takes the override. */
  readonly bootOwner: "system" | "settings" | "future-state";
  /** How the mode of an override is treated: */
  readonly modeRule:
    | "plain"
    /** A request with a mode is answered with 400. */
    | "read-only"
    /** The override is dropped unless the request has a mode. */
    | "must-be-sent"
    /** Sending the current mode queues a BIOS job and a reboot. */
    | "unchanged-queues-job";
  /** Whether target, enabled and mode must be sent together; otherwise 400. */
  readonly allThree?: boolean;
  /** Whether a one-time override is stored as Continuous. */
  readonly keepsOnce?: boolean;
  /** Whether target None is refused with 400. */
  readonly refusesNone?: boolean;
  /** A MessageId that is sent with 400 although the override was applied. */
  readonly refusesButApplies?: string;
  /** Whether a write is answered with 200 but leaves mode Legacy and no override. */
  readonly reverts?: boolean;
  /**
   * How If-Match is treated. `checked` is the standard: a client may leave it out, but if it is sent, it must match (DSP0266
   * section 6.5).
   */
  readonly ifMatch: "checked" | "required" | "refused";
  /** The form of the entity tag. */
  readonly etagSent: "strong" | "weak" | "doubled" | "gzip" | "property";
  /** Whether the weak form of a tag is accepted if another form was sent. */
  readonly takesWeakEtag?: boolean;
  readonly refusesIdentityEncoding?: boolean;
  /** Whether PoweringOn and PoweringOff are shown; otherwise the old state is shown for longer. */
  readonly showsTransitions: boolean;
  /** Whether an action with If-Match is answered with 412. */
  readonly actionRefusesIfMatch?: boolean;
  /** Whether the connection is closed after each answer without an announcement. */
  readonly closesConnections?: boolean;
  readonly managerId: string;
  readonly firmware: string;
  readonly managerReset: {
    readonly types: readonly string[];
    readonly listing: "resource" | "action-info" | "none";
    /** Whether a ResetType is answered with 400. */
    readonly emptyBody?: boolean;
    /** Whether the resource has LastResetTime. */
    readonly showsTime?: boolean;
  };
  readonly media: {
    /** The resource that lists the drives. */
    readonly below: "manager" | "system";
    /** The last segment of the collection's path. */
    readonly name: string;
    readonly slots: readonly { readonly id: string; readonly types: readonly string[] }[];
    /** Whether a drive has actions; otherwise it takes PATCH. */
    readonly actions: boolean;
    readonly showsInserted: boolean;
    /** The required parameters of InsertMedia. */
    readonly requires?: readonly string[];
    /** Drives that list the actions but answer them with 405. */
    readonly refusesSlots?: readonly string[];
    /** Whether an ejected drive keeps the name of its image. */
    readonly keepsImage?: boolean;
    /** The number of insertions that are refused after an ejection. */
    readonly staleInserts?: number;
    /** The values that the drives list for TransferProtocolType; absent if they list none. */
    readonly protocols?: readonly string[];
    /** How the drives take an image on a share: as a URI, or as a host and a path. */
    readonly imageShares: "uri" | "share";
  };
  readonly accounts: {
    readonly kind: "collection" | "slots";
    readonly below: "service" | "manager";
    readonly refusesEnabled?: boolean;
  };
  readonly ntp: "standard" | "settings" | "dell-attributes" | "hpe-date-time" | "none";
  readonly sel: {
    readonly below: "manager" | "system" | "chassis";
    readonly name: string;
    readonly newestFirst: boolean;
    /** Whether the collection holds complete entries. */
    readonly embedded: boolean;
    readonly clearable: boolean;
    /** The path of the entries. Defaults to a path below the log service. */
    readonly entriesPath?: string;
  };
  /** How the identify LED is shown: `LocationIndicatorActive` or IndicatorLED of the system, or IndicatorLED of the chassis. */
  readonly indicator: "location" | "led" | "chassis" | "none";
  /** Whether the restore policy is in the system, and not only in the BIOS. */
  readonly restorePolicy: boolean;
  /** Where the progress of a boot is shown. */
  readonly progress: "boot-progress" | "post-state" | "none";
  /** The resource with the power limit. */
  readonly powerLimit: "environment-metrics" | "power" | "controls" | "none";
  /** The number of power supplies in Power. */
  readonly powerSupplies?: number;
  /** The number of graphics processors among the system's processors. */
  readonly gpus?: number;
  /** Where the chassis shows sensors. Thermal comes with Power, and ThermalSubsystem with PowerSubsystem. */
  readonly sensors: readonly ("Sensors" | "Thermal" | "ThermalSubsystem")[];
  /**
   * How the manager's interface takes an address. `old` has writable IPv4Addresses, `no-dhcpv4` also has the static ones,
   * and `several` has a second interface.
   */
  readonly network: "standard" | "old" | "no-dhcpv4" | "several" | "settings" | "none";
  /**
   * How the web server's certificate is replaced. `replace` has ReplaceCertificate of the only certificate in the
   * collection, `several` has another certificate in it, `pem-only` takes no PEMchain, `post` takes new members, and `hpe`
   * has its own resource.
   */
  readonly certificates: "replace" | "several" | "pem-only" | "post" | "hpe" | "none";
  readonly bootOrder: boolean;
  /** Whether there is a URI of HTTP boot. Among recorded BMCs only those of NVIDIA and OpenBMC have it. */
  readonly httpBootUri: boolean;
  readonly bios: {
    /** Whether there are BIOS attributes. */
    readonly offered: boolean;
    /** Whether there is a settings resource; otherwise a write takes effect at once. */
    readonly settings: boolean;
    readonly registry: boolean;
    /** The apply times in `@Redfish.Settings`, which does not exist if there are none. */
    readonly applyTimes: readonly string[];
    /** Whether settings are applied only by a job of the manager. */
    readonly jobs?: true;
    /** BIOS attributes in addition to those of every simulated machine. */
    readonly attributes?: Readonly<Record<string, string | number>>;
  };
  /** Whether the BMC has iDRAC's export of the screen. */
  readonly screenshot: boolean;
  /** The form of `$expand` that the service root announces and the service supports. */
  readonly expand: "." | "*" | "none";
  /** Whether every collection holds complete members, even without a request for them. */
  readonly expandsAnyway?: boolean;
  /** The number of members per page of a collection. Defaults to all. */
  readonly pageSize?: number;
}

/** Splits a list of values without spaces. */
const list = (text: string): readonly string[] => text.split(" ");

const BIOS = { offered: true, settings: true, registry: true, applyTimes: [] } as const;

/** Dell's PXE devices, one of which is free. */
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
  resetTypes: list(
    "On ForceOff GracefulShutdown GracefulRestart ForceRestart Nmi ForceOn PushPowerButton PowerCycle",
  ),
  resetListing: "system",
  bootTargets: list("None Pxe Cd Usb Hdd BiosSetup Diags Floppy UefiHttp"),
  bootEnabled: ["Disabled", "Once", "Continuous"],
  bootModes: ["Legacy", "UEFI"],
  bootListing: true,
  bootOwner: "system",
  modeRule: "plain",
  ifMatch: "checked",
  etagSent: "strong",
  showsTransitions: true,
  managerId: "1",
  firmware: "1.2.3",
  managerReset: { types: ["GracefulRestart", "ForceRestart"], listing: "resource", showsTime: true },
  media: {
    below: "manager",
    name: "VirtualMedia",
    slots: [
      { id: "Floppy1", types: ["Floppy", "USBStick"] },
      { id: "CD1", types: ["CD", "DVD"] },
    ],
    actions: true,
    showsInserted: true,
    imageShares: "uri",
  },
  accounts: { kind: "collection", below: "service" },
  ntp: "standard",
  sel: { below: "manager", name: "SEL", newestFirst: false, embedded: true, clearable: true },
  indicator: "location",
  restorePolicy: true,
  progress: "boot-progress",
  powerLimit: "environment-metrics",
  sensors: ["Sensors", "Thermal"],
  network: "standard",
  certificates: "replace",
  bootOrder: true,
  httpBootUri: true,
  bios: { ...BIOS, attributes: PXE_DEVICES },
  screenshot: false,
  expand: "none",
};

const HTTP_DEVICE = {
  HttpDev1EnDis: "Disabled",
  HttpDev1Interface: "NIC.Embedded.1-1-1",
  HttpDev1TlsMode: "None",
  HttpDev1Uri: "",
} as const;
const ANY_MEDIA = ["CD", "DVD", "Floppy", "USBStick"];
const slots = (ids: readonly string[], types: readonly string[]) => ids.map((id) => ({ id, types }));

// The profiles of these makes are as recorded machines of theirs show them, which test/interop/zoo.test.ts compares.

const dell = {
  ...generic,
  manufacturer: "Dell Inc.",
  oem: "Dell",
  systemId: "System.Embedded.1",
  resetTypes: list(
    "On ForceOff ForceRestart GracefulRestart GracefulShutdown PushPowerButton Nmi PowerCycle",
  ),
  bootTargets: list("None Pxe Floppy Cd Hdd BiosSetup Utilities UefiTarget SDCard UefiHttp"),
  httpBootUri: false,
  managerId: "iDRAC.Embedded.1",
  firmware: "6.10.80.00",
  managerReset: { types: ["GracefulRestart"], listing: "resource", showsTime: true },
  media: {
    ...generic.media,
    below: "system",
    slots: slots(["1", "2"], ["CD", "DVD", "USBStick"]),
    staleInserts: 2,
    protocols: ["CIFS", "HTTP", "HTTPS", "NFS"],
    imageShares: "share",
  },
  accounts: { kind: "slots", below: "service" },
  sel: { ...generic.sel, name: "Sel", newestFirst: true },
  indicator: "led",
  restorePolicy: false,
  progress: "none",
  powerLimit: "power",
  sensors: ["Sensors", "Thermal", "ThermalSubsystem"],
  network: "old",
  screenshot: true,
  expand: ".",
  bios: {
    ...BIOS,
    applyTimes: ["OnReset", "AtMaintenanceWindowStart", "InMaintenanceWindowOnReset"],
    attributes: { ...PXE_DEVICES, ...HTTP_DEVICE },
  },
} satisfies RedfishProfile;

const hpe = {
  ...generic,
  manufacturer: "HPE",
  oem: "Hpe",
  resetTypes: list("On ForceOff GracefulShutdown ForceRestart Nmi PushPowerButton GracefulRestart"),
  bootTargets: list("None Cd Hdd Usb SDCard Utilities Diags BiosSetup Pxe UefiShell UefiHttp UefiTarget"),
  httpBootUri: false,
  refusesNone: true,
  etagSent: "weak",
  firmware: "iLO 5 v2.72",
  managerReset: { types: ["ForceRestart", "GracefulRestart"], listing: "resource" },
  media: {
    ...generic.media,
    slots: [...slots(["1"], ["Floppy", "USBStick"]), ...slots(["2"], ["CD", "DVD"])],
  },
  accounts: { kind: "collection", below: "service", refusesEnabled: true },
  ntp: "hpe-date-time",
  sel: { ...generic.sel, below: "system", name: "IML" },
  indicator: "led",
  restorePolicy: false,
  progress: "post-state",
  powerLimit: "power",
  sensors: ["Thermal"],
  network: "several",
  certificates: "hpe",
  expand: ".",
  bios: {
    ...BIOS,
    attributes: {
      HttpSupport: "HttpsOnly",
      PreBootNetwork: "Auto",
      Slot1NicBoot1: "NetworkBoot",
      Slot10NicBoot2: "Disabled",
      UrlBootFile: "",
    },
  },
} satisfies RedfishProfile;

const supermicro = {
  ...generic,
  manufacturer: "Supermicro",
  oem: "Supermicro",
  resetTypes: list("On ForceOff GracefulShutdown GracefulRestart ForceRestart Nmi ForceOn PowerCycle"),
  resetListing: "action-info",
  bootTargets: list("None Pxe Floppy Cd Usb Hdd BiosSetup UsbCd UefiBootNext UefiHttp"),
  httpBootUri: false,
  managerReset: { types: ["GracefulRestart"], listing: "resource" },
  media: {
    ...generic.media,
    slots: slots(["VirtualMedia1", "VirtualMedia2", "VirtualMedia3"], ANY_MEDIA),
    requires: ["Inserted", "WriteProtected"],
    keepsImage: true,
  },
  sel: { ...generic.sel, below: "system", name: "Log1" },
  restorePolicy: false,
  powerLimit: "none",
  network: "several",
  expand: ".",
  bios: BIOS,
} satisfies RedfishProfile;

const lenovo = {
  ...generic,
  manufacturer: "Lenovo",
  oem: "Lenovo",
  resetTypes: list("On Nmi GracefulShutdown GracefulRestart ForceOn ForceOff ForceRestart"),
  bootTargets: list("None Pxe Cd Usb Hdd BiosSetup Diags UefiTarget"),
  bootEnabled: ["Once", "Disabled"],
  httpBootUri: false,
  media: {
    ...generic.media,
    below: "system",
    slots: slots(
      ["EXT1", "EXT2", "EXT3", "EXT4", "Remote1", "Remote2", "Remote3", "Remote4", "RDOC1", "RDOC2"],
      ANY_MEDIA,
    ),
    actions: false,
    imageShares: "share",
  },
  sel: { ...generic.sel, below: "system", name: "PlatformLog" },
  indicator: "led",
  restorePolicy: false,
  progress: "none",
  powerLimit: "power",
  sensors: ["Sensors", "Thermal", "ThermalSubsystem"],
  network: "several",
  expand: ".",
  bios: { ...BIOS, applyTimes: ["OnReset"] },
} satisfies RedfishProfile;

const megarac = {
  ...generic,
  systemId: "Self",
  managerId: "Self",
  resetTypes: ["GracefulShutdown", "ForceRestart", "ForceOff", "On"],
  resetListing: "action-info",
  bootTargets: list(
    "None Pxe Floppy Cd Usb Hdd BiosSetup Utilities UefiShell UefiTarget SDCard UefiHttp RemoteDrive UefiBootNext",
  ),
  httpBootUri: false,
  allThree: true,
  managerReset: { types: ["ForceRestart"], listing: "action-info" },
  media: {
    ...generic.media,
    slots: slots(["CD1"], []),
    requires: ["Inserted", "WriteProtected", "TransferProtocolType"],
  },
  indicator: "led",
  restorePolicy: false,
  progress: "none",
  powerLimit: "power",
  network: "several",
  expand: ".",
  bios: { ...BIOS, settings: false },
} satisfies RedfishProfile;

/** Every profile by name. */
export const redfishProfiles: Readonly<Record<string, RedfishProfile>> = Object.fromEntries(
  (
    [
      generic,
      { ...dell, name: "dell-idrac9", model: "PowerEdge R640", modeRule: "unchanged-queues-job" },
      {
        ...dell,
        name: "dell-idrac10",
        model: "PowerEdge R770",
        bootOwner: "settings",
        ifMatch: "required",
        actionRefusesIfMatch: true,
        indicator: "location",
        progress: "boot-progress",
        network: "no-dhcpv4",
      },
      {
        ...dell,
        name: "dell-13g",
        model: "PowerEdge R630",
        resetTypes: list("On ForceOff GracefulRestart PushPowerButton Nmi"),
        bootTargets: list("None Pxe Cd Floppy Hdd BiosSetup Utilities UefiTarget SDCard"),
        bootModes: [],
        bootOrder: false,
        refusesButApplies: "IDRAC.1.6.SYS444",
        firmware: "2.85.85.85",
        media: { ...dell.media, below: "manager" },
        accounts: { kind: "slots", below: "manager" },
        ntp: "dell-attributes",
        sel: { ...dell.sel, entriesPath: "/redfish/v1/Managers/iDRAC.Embedded.1/LogServices/SelEntries" },
        sensors: ["Thermal"],
        screenshot: false,
        bios: { ...BIOS, jobs: true },
        expand: "none",
      },
      { ...hpe, name: "hpe-ilo5", model: "ProLiant DL360 Gen10", modeRule: "read-only" },
      {
        ...hpe,
        name: "hpe-no-identity",
        model: "ProLiant DL360 Gen9",
        refusesIdentityEncoding: true,
      },
      {
        ...supermicro,
        name: "supermicro",
        model: "SYS-1029P-WTR",
        modeRule: "must-be-sent",
        media: {
          ...supermicro.media,
          name: "VM1",
          slots: slots(["CD1"], ["CD", "DVD"]),
          showsInserted: false,
        },
      },
      { ...supermicro, name: "supermicro-reverting", model: "AS-1015CS-TNR", reverts: true },
      {
        ...megarac,
        name: "ami",
        manufacturer: "ASRockRack",
        model: "E3C246D4U",
        oem: "",
        etagSent: "property",
      },
      {
        ...megarac,
        name: "ami-future-state",
        manufacturer: "Quanta Cloud Technology Inc.",
        model: "QuantaGrid D54Q-2U",
        oem: "Ami",
        bootOwner: "future-state",
        ifMatch: "required",
        ntp: "settings",
        media: { ...megarac.media, requires: [...megarac.media.requires, "TransferMethod"] },
      },
      { ...lenovo, name: "lenovo-xcc", model: "ThinkSystem SR670 V2", ifMatch: "refused" },
      {
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
        manufacturer: "Sushy Emulator",
        model: "",
        keepsOnce: true,
        sensors: ["Thermal"],
      },
      {
        ...generic,
        name: "openbmc",
        manufacturer: "IBM",
        model: "9105-22A",
        oem: "",
        systemId: "system",
        managerId: "bmc",
        resetTypes: list("On ForceOff ForceOn ForceRestart GracefulRestart GracefulShutdown PowerCycle Nmi"),
        resetListing: "action-info",
        bootTargets: list("None Pxe Hdd Cd Diags BiosSetup Usb"),
        bootOrder: false,
        httpBootUri: false,
        showsTransitions: false,
        managerReset: { types: ["GracefulRestart", "ForceRestart"], listing: "action-info" },
        sel: { ...generic.sel, below: "system", name: "EventLog" },
        powerLimit: "power",
        certificates: "pem-only",
        bios: { ...BIOS, settings: false, registry: false },
      },
      {
        ...generic,
        name: "unlisted",
        resetTypes: ["ForceOn", "ForceOff"],
        resetListing: "none",
        bootListing: false,
      },
      { ...generic, name: "strict-etag", ifMatch: "required", takesWeakEtag: true },
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
        media: { ...generic.media, slots: slots(["Floppy1"], ["Floppy"]) },
        ntp: "none",
        bios: { ...BIOS, offered: false },
        sel: { ...generic.sel, name: "Audit2", clearable: false },
      },
      { ...generic, name: "legacy-only", bootModes: [] },
    ] satisfies RedfishProfile[]
  ).map((profile) => [profile.name, profile]),
);

/** Returns the profile with this name. Throws if the name is unknown. */
export function redfishProfile(name: string): RedfishProfile {
  const found = redfishProfiles[name];
  if (!found) throw new Error(`no profile ${name}: there are ${Object.keys(redfishProfiles).join(", ")}`);
  return found;
}

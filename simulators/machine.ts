import { EventEmitter } from "node:events";
import type { BootDevice, BootMode } from "../shared/contract/vocabulary.ts";
import { defaultSensors, type SimulatedSensor } from "./sensors.ts";

/** The power states of hardware, in which both transitions take time. */
export type SimulatedPower = "on" | "off" | "powering-on" | "powering-off";

export interface SimulatedOverride {
  device: BootDevice;
  /** `once` is used up by the next boot, `continuous` stays, and `disabled` means no override. */
  enabled: "disabled" | "once" | "continuous";
  mode: BootMode;
}

/** UEFI Secure Boot: the configured state, and the state since the last boot. */
export interface SimulatedSecureBootState {
  enabled: boolean;
  active: boolean;
  /** Whether there are keys. If not, the machine is in setup mode. */
  hasKeys: boolean;
  /** The value of `hasKeys` after the next boot. */
  keysAfterBoot?: boolean;
  readonly databases: Record<SimulatedKeyDatabase, readonly SimulatedKey[]>;
  /** When an enrolled or deleted key becomes visible: at once, or after the next boot. */
  keyChanges: "at-once" | "at-boot";
  /** The databases after the next boot. */
  databasesAfterBoot?: Partial<Record<SimulatedKeyDatabase, readonly SimulatedKey[]>>;
}

export const KEY_DATABASES = ["PK", "KEK", "db", "dbx"] as const;
export type SimulatedKeyDatabase = (typeof KEY_DATABASES)[number];

/** The resource fields of a certificate or signature in a Secure Boot database. */
export interface SimulatedKey {
  readonly id: string;
  readonly kind: "Certificates" | "Signatures";
  readonly fields: Readonly<Record<string, unknown>>;
}

/** The keys of a new machine. */
export function defaultKeys(): Record<SimulatedKeyDatabase, readonly SimulatedKey[]> {
  const certificate = (commonName: string): SimulatedKey => ({
    id: "1",
    kind: "Certificates",
    fields: {
      CertificateType: "PEM",
      CertificateString: null,
      Subject: { CommonName: commonName },
      Issuer: { CommonName: "Microsoft Root Certificate Authority 2010" },
      ValidNotAfter: "2026-6-24T20:51:29+00:00",
    },
  });
  const signature = (id: string, digit: string): SimulatedKey => ({
    id,
    kind: "Signatures",
    fields: {
      SignatureTypeRegistry: "UEFI",
      SignatureType: "EFI_CERT_SHA256_GUID",
      SignatureString: digit.repeat(64),
      UefiSignatureOwner: "77fa9abd-0359-4d32-bd60-28f4e78f784b",
    },
  });
  return {
    PK: [certificate("Contoso Platform Key")],
    KEK: [certificate("Microsoft Corporation KEK CA 2011")],
    db: [certificate("Microsoft Corporation UEFI CA 2011")],
    dbx: [signature("1", "A"), signature("2", "B")],
  };
}

/** The values of BIOS attributes. Pending values become current at the next boot. */
export interface SimulatedBiosState {
  attributes: Readonly<Record<string, unknown>>;
  pending: Readonly<Record<string, unknown>>;
  /** Whether the next boot applies the pending values. */
  scheduled: boolean;
}

/** The BIOS attributes of a new machine. */
export const BIOS_DEFAULTS = {
  BootMode: "Uefi",
  ProcTurboMode: "Enabled",
  SysProfile: "Custom",
  NumCores: 16,
  SerialConsole: false,
  AssetTag: "",
  SetupPassword: null,
  SystemServiceTag: "ABC1234",
} as const;

/** The network interface of the machine's BMCs. Their listeners move to the address if it belongs to this host. */
export interface SimulatedNetwork {
  readonly mac: string;
  /**
   * The source of the address. `other` is another source such as the BIOS, and `unspecified` is a BMC that was never
   * configured.
   */
  readonly mode: "static" | "dhcp" | "other" | "unspecified";
  /** The address; `0.0.0.0` means none. */
  readonly address: string;
  readonly prefix: number;
  /** The gateway; `0.0.0.0` means none. */
  readonly gateway: string;
  /** The VLAN; 0 means none. */
  readonly vlan: number;
  readonly hostName: string;
}

/** Whether a simulated BMC can move to the address. Other addresses are treated as those of a router in front of the BMC. */
export const isLoopback = (address: string) => address.startsWith("127.");

/** The fault of a network change: `kept` accepts the change without effect, and `gone` also stops the BMC. */
export type NetworkFault = "kept" | "gone";

/** The output of the firmware, and of what it boots, on the serial port. */
const BOOT_OUTPUT: Readonly<Partial<Record<BootDevice, string>>> = {
  pxe: [
    "Booting from PXE NIC 1...",
    "iPXE initialising devices...ok",
    "net0: 02:00:00:00:00:0c using simulated on 0000:00:03.0 (Ethernet) [open]",
    "Configuring (net0 02:00:00:00:00:0c)...... ok",
    "",
  ].join("\r\n"),
  disk: ["Booting from Hard Drive...", "GRUB loading.", "", "simulated login: "].join("\r\n"),
};

export interface BootRecord {
  readonly device: BootDevice;
  readonly mode: BootMode;
  /** Whether the device was chosen by an override. */
  readonly overridden: boolean;
  readonly at: number;
}

export type PowerAction = "on" | "off" | "soft-off" | "cycle" | "reset" | "nmi";

const STARTS: ReadonlySet<PowerAction> = new Set(["on", "cycle", "reset"]);
/** The restart cause for a command. */
const CHASSIS_CONTROL = 1;

export interface SimulatedMachineOptions {
  readonly name?: string;
  readonly uuid?: string;
  readonly serialNumber?: string;
  readonly power?: "on" | "off";
  /** The time to power on. `held` keeps the machine between the states until `finishPowerOn`. */
  readonly powerOnMs?: number | "held";
  /** The time to power off. `held` keeps the machine between the states until `finishPowerOff`. */
  readonly powerOffMs?: number | "held";
  /** The time that the operating system takes to shut down. `never` ignores the request, as without an agent. */
  readonly softOffMs?: number | "never";
  /** How long the machine stays off during a cycle. */
  readonly cycleOffMs?: number;
  readonly mode?: BootMode;
}

interface MachineEvents {
  power: [SimulatedPower];
  boot: [BootRecord];
  command: [PowerAction];
  /** The new address of the BMC; undefined if the BMC can no longer be reached. */
  network: [string | undefined];
  output: [Buffer];
}

/**
 * The machine behind a simulated BMC. Its power changes take time, its boot override is used up by a boot, and it records
 * everything done to it, so that a test can check what really happened.
 */
export class SimulatedMachine extends EventEmitter<MachineEvents> {
  readonly name: string;
  readonly uuid: string;
  readonly serialNumber: string;
  readonly boots: BootRecord[] = [];
  /** Every power command that was carried out, in order. */
  readonly commands: { readonly action: PowerAction; readonly at: number }[] = [];
  override: SimulatedOverride;
  /** The identify LED. */
  indicator: "on" | "timed" | "off" = "off";
  restorePolicy: "always-off" | "last-state" | "always-on" = "always-off";
  /** The power limit in force; undefined if there is none. */
  powerLimitWatts: number | undefined;
  /** The limit that an IPMI command activates. */
  storedLimitWatts = 0;
  /** The titles of the boot options by ID. */
  readonly bootOptions: Readonly<Record<string, string>> = {
    Boot0001: "Hard Drive",
    Boot0002: "PXE NIC 1",
    Boot0003: "UEFI Shell",
  };
  bootOrder: readonly string[] = Object.keys(this.bootOptions);
  httpBootUri = "";
  network: SimulatedNetwork = {
    mac: "02:00:00:00:00:0b",
    mode: "static",
    address: "192.0.2.11",
    prefix: 24,
    gateway: "192.0.2.1",
    vlan: 0,
    hostName: "bmc-7",
  };
  networkFault: NetworkFault | undefined;
  /** The cause of the last restart and the last power event, with the numbers of IPMI (sections 28.11 and 28.2). */
  restartCause = 0;
  lastPowerEvent = 0;
  /** The cause of the last reset in Redfish; not shown if undefined. */
  resetCause: string | undefined;
  /** The number of boots; not counted if undefined. */
  bootCount: number | undefined;
  /** The last boot progress that the firmware reported to the BMC. Times are in milliseconds since the epoch. */
  bootProgress: { readonly state: string; readonly sinceMs?: number; readonly resetMs?: number } | undefined;
  /** The serial console over SSH as Redfish lists it. */
  sshConsole: { readonly port: number; readonly entryCommand?: string | undefined } | undefined;
  readonly sensors: SimulatedSensor[] = defaultSensors();
  readonly secureBoot: SimulatedSecureBootState = {
    enabled: false,
    active: false,
    hasKeys: true,
    databases: defaultKeys(),
    keyChanges: "at-once",
  };

  readonly bios: SimulatedBiosState = { attributes: BIOS_DEFAULTS, pending: {}, scheduled: false };

  readonly #powerOnMs: number | "held";
  readonly #powerOffMs: number | "held";
  readonly #softOffMs: number | "never";
  readonly #cycleOffMs: number;
  readonly #timers = new Set<NodeJS.Timeout>();
  #power: SimulatedPower;
  #heldOff: (() => void) | undefined;

  constructor(options: SimulatedMachineOptions = {}) {
    super();
    this.name = options.name ?? "machine";
    this.uuid = options.uuid ?? "4c4c4544-0000-1000-8000-b4c04f303032";
    this.serialNumber = options.serialNumber ?? "CZ00000001";
    this.#power = options.power ?? "on";
    this.#powerOnMs = options.powerOnMs ?? 40;
    this.#powerOffMs = options.powerOffMs ?? 40;
    this.#softOffMs = options.softOffMs ?? 80;
    this.#cycleOffMs = options.cycleOffMs ?? 40;
    this.override = { device: "none", enabled: "disabled", mode: options.mode ?? "uefi" };
  }

  get power(): SimulatedPower {
    return this.#power;
  }

  get lastBoot(): BootRecord | undefined {
    return this.boots.at(-1);
  }

  /** Changes the BMC's network after the answer to the request has been sent. */
  changeNetwork(change: Partial<SimulatedNetwork>): void {
    if (this.networkFault === "kept") return;
    const { address: before } = this.network;
    if (!this.networkFault) this.network = { ...this.network, ...change };
    const { address } = this.network;
    if (this.networkFault === "gone") this.#after(50, () => this.emit("network", undefined));
    else if (address !== before) this.#after(50, () => this.emit("network", address));
  }

  /** Carries out a command. Returns false if real hardware would refuse it in this state. */
  do(action: PowerAction): boolean {
    if (!this.#allows(action)) return false;
    this.commands.push({ action, at: Date.now() });
    this.emit("command", action);
    if (STARTS.has(action)) this.restartCause = CHASSIS_CONTROL;
    if (action === "on") this.#powerOn();
    if (action === "off") this.#powerOff();
    if (action === "soft-off" && this.#softOffMs !== "never")
      this.#after(this.#softOffMs, () => this.#powerOff());
    if (action === "cycle") this.#powerOff(() => this.#after(this.#cycleOffMs, () => this.#powerOn()));
    if (action === "reset") this.#boot();
    return true;
  }

  /** Completes a power-on that is held. */
  finishPowerOn(): void {
    if (this.#power !== "powering-on") throw new Error(`${this.name} is ${this.#power}, not powering on`);
    this.#becomeOn();
  }

  /** Completes a power-off that is held. */
  finishPowerOff(): void {
    if (this.#power !== "powering-off") throw new Error(`${this.name} is ${this.#power}, not powering off`);
    this.#heldOff?.();
  }

  /** Sends text to the serial port. */
  print(text: string | Buffer): void {
    this.emit("output", Buffer.from(text));
  }

  /** Sets the power state of a recording without carrying anything out. */
  force(power: "on" | "off"): void {
    this.#cancelTransition();
    this.#power = power;
  }

  /** Returns how many times `action` was carried out. */
  count(action: PowerAction): number {
    return this.commands.filter((command) => command.action === action).length;
  }

  /** Cancels every transition, so that no timer keeps the process alive. */
  close(): void {
    this.#cancelTransition();
    this.removeAllListeners();
  }

  #allows(action: PowerAction): boolean {
    if (action === "on") return this.#power === "off";
    if (action === "nmi" || action === "reset" || action === "cycle") return this.#power === "on";
    return this.#power === "on" || this.#power === "powering-on";
  }

  #powerOn(): void {
    this.#become("powering-on");
    if (this.#powerOnMs !== "held") this.#after(this.#powerOnMs, () => this.#becomeOn());
  }

  #becomeOn(): void {
    this.#become("on");
    this.#boot();
  }

  #powerOff(then?: () => void): void {
    this.#cancelTransition();
    this.#become("powering-off");
    const becomeOff = () => {
      this.#become("off");
      then?.();
    };
    if (this.#powerOffMs === "held") this.#heldOff = becomeOff;
    else this.#after(this.#powerOffMs, becomeOff);
  }

  #boot(): void {
    const { device, enabled, mode } = this.override;
    const overridden = enabled !== "disabled" && device !== "none";
    const record = { device: overridden ? device : "disk", mode, overridden, at: Date.now() } as const;
    if (enabled === "once") this.override = { ...this.override, device: "none", enabled: "disabled" };
    const { secureBoot } = this;
    secureBoot.hasKeys = secureBoot.keysAfterBoot ?? secureBoot.hasKeys;
    Object.assign(secureBoot.databases, secureBoot.databasesAfterBoot);
    secureBoot.databasesAfterBoot = {};
    secureBoot.active = secureBoot.enabled && secureBoot.hasKeys;
    const { bios } = this;
    if (bios.scheduled) {
      bios.attributes = { ...bios.attributes, ...bios.pending };
      bios.pending = {};
      bios.scheduled = false;
    }
    this.boots.push(record);
    this.print(BOOT_OUTPUT[record.device] ?? "No bootable device.\r\n");
    this.emit("boot", record);
  }

  #become(power: SimulatedPower): void {
    this.#power = power;
    this.emit("power", power);
  }

  #after(ms: number, run: () => void): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      run();
    }, ms);
    this.#timers.add(timer);
  }

  #cancelTransition(): void {
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers.clear();
  }
}

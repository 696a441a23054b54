import { count } from "../../count.ts";
import { neverAborted } from "../../never-aborted.ts";
import { defineOperations, type Run } from "./access.ts";
import { ok } from "./finding.ts";
import { vendorAndModel } from "./manager.ts";
import { describeUnread, type Unread } from "./unread.ts";

/** A component with its firmware and its condition. A field that the BMC does not report is absent. */
export interface HardwareComponent {
  /** The BMC's name for it. */
  readonly name: string;
  /** Vendor. */
  readonly vendor?: string;
  /** Model. */
  readonly model?: string;
  /** Serial number. */
  readonly serial?: string;
  /** Firmware version. */
  readonly firmware?: string;
  /** Redfish's words for its health, such as `OK` or `Critical`. */
  readonly health?: string;
  /** Redfish's words for its state, such as `Enabled`. */
  readonly state?: string;
}

/** The lists of components in `Hardware`. */
export type HardwareList =
  | "processors"
  | "memory"
  | "disks"
  | "nics"
  | "firmware"
  | "powerSupplies"
  | "tpms"
  | "storageControllers"
  | "gpus"
  | "bmc.nics";

/** The components of a machine. A field that the BMC does not report is absent. */
export interface Hardware {
  /** The machine itself. */
  readonly system: {
    /** Vendor. */
    readonly vendor?: string;
    /** Model. */
    readonly model?: string;
    /** Serial number. */
    readonly serial?: string;
    /** UUID. */
    readonly uuid?: string;
    /** Version of the BIOS or UEFI firmware. */
    readonly biosVersion?: string;
    /** The installed memory in bytes, as the BMC reports it. */
    readonly memoryBytes?: number;
  };
  /** Its enclosure. */
  readonly chassis?: {
    /** Vendor. */
    readonly vendor?: string;
    /** Model. */
    readonly model?: string;
    /** Serial number. */
    readonly serial?: string;
  };
  /** Its mainboard. */
  readonly mainboard?: {
    /** Vendor. */
    readonly vendor?: string;
    /** Model. */
    readonly model?: string;
    /** Serial number. */
    readonly serial?: string;
  };
  /** The BMC itself. */
  readonly bmc?: {
    /** Vendor. */
    readonly vendor?: string;
    /** Model. */
    readonly model?: string;
    /** Serial number. */
    readonly serial?: string;
    /** Firmware version. */
    readonly firmware?: string;
    /** Redfish's words for its health, such as `OK` or `Critical`. */
    readonly health?: string;
    /** Redfish's words for its state, such as `Enabled`. */
    readonly state?: string;
    /** Its own network interfaces. */
    readonly nics?: Hardware["nics"];
  };
  /** Its processors. */
  readonly processors: readonly {
    /** The BMC's name for it. */
    readonly name: string;
    /** Vendor. */
    readonly vendor?: string;
    /** Model. */
    readonly model?: string;
    /** Number of cores. */
    readonly cores?: number;
    /** Number of threads. */
    readonly threads?: number;
  }[];
  /** Its memory modules. */
  readonly memory: readonly {
    /** The BMC's name for it. */
    readonly name: string;
    /** Size in bytes. */
    readonly bytes?: number;
    /** Such as `DDR4`. */
    readonly kind?: string;
    /** Vendor. */
    readonly vendor?: string;
    /** Serial number. */
    readonly serial?: string;
  }[];
  /** Its disks. */
  readonly disks: readonly (HardwareComponent & {
    /** Size in bytes. */
    readonly bytes?: number;
    /** Such as `SSD`. */
    readonly kind?: string;
  })[];
  /** Its network interfaces. */
  readonly nics: readonly {
    /** The BMC's name for it. */
    readonly name: string;
    /** MAC address. */
    readonly mac?: string;
    /** Link speed in Mbit/s. */
    readonly speedMbps?: number;
    /** Whether the link is up. */
    readonly up?: boolean;
  }[];
  /** Installed firmware, such as that of BIOS and network interfaces. */
  readonly firmware: readonly {
    /** The BMC's name for it. */
    readonly name: string;
    /** Version. */
    readonly version: string;
  }[];
  /** Its power supplies; absent if the provider does not read them, as the lists that follow. */
  readonly powerSupplies?: readonly (HardwareComponent & {
    /** The maximum power in watts. */
    readonly watts?: number;
  })[];
  /** Its trusted platform modules. */
  readonly tpms?: readonly (HardwareComponent & {
    /** Such as `TPM2_0`. */
    readonly interfaceType?: string;
  })[];
  /** Its storage controllers. */
  readonly storageControllers?: readonly HardwareComponent[];
  /** Its graphics processors, also those of an accelerator board. */
  readonly gpus?: readonly HardwareComponent[];
  /** The lists that were read completely: what such a list lacks is not in the machine. Other lists may be incomplete. */
  readonly complete?: readonly HardwareList[];
  /** Components that the BMC lists but that could not be read, so that they are missing above; absent if there are none. */
  readonly unread?: readonly Unread[];
}

export interface InventoryDriver {
  read(signal: AbortSignal): Promise<Hardware>;
}

export const inventoryOperations = defineOperations({
  title: "inventory",
  methods: (run: Run<{ readonly inventory: InventoryDriver }>) => ({
    /** Reads the components of the machine. */
    getHardware: (signal: AbortSignal = neverAborted()): Promise<Hardware> =>
      run(signal, ({ read }) => read(({ inventory }) => inventory.read(signal))),
  }),
  check: async ({ read }, signal) => ok(describeParts(await read(({ inventory }) => inventory.read(signal)))),
});

function describeParts(hardware: Hardware): string {
  const { system, processors, memory, disks, nics, gpus = [], firmware, unread } = hardware;
  const named = vendorAndModel(system.vendor, system.model);
  const parts = [
    count(processors.length, "processor"),
    count(memory.length, "memory module"),
    count(disks.length, "disk"),
    count(nics.length, "NIC"),
    count(gpus.length, "GPU"),
    count(firmware.length, "firmware version"),
  ].filter((part) => !part.startsWith("0 "));
  return [named || "a machine without a name", ...parts].join(", ") + describeUnread(unread, "part");
}

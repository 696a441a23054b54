import { count } from "../../count.ts";
import { defineOperations, type Run } from "./access.ts";
import { ok } from "./finding.ts";
import { vendorAndModel } from "./manager.ts";
import { describeUnread, type Unread } from "./unread.ts";

/** A part with its firmware and its condition; a field that the BMC does not report is absent. */
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

/** The lists of parts in `Hardware`. */
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

/** What is built into a machine; a field that the BMC does not report is absent. */
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
    /** Installed memory as the BMC sums it up, in bytes. */
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
    /** The most power that it can give, in watts. */
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
  /** The lists that were read wholly: what such a list lacks is not in the machine. Other lists may lack parts. */
  readonly complete?: readonly HardwareList[];
  /** What the BMC lists and could not be read, so that it is missing above; absent if there is nothing. */
  readonly unread?: readonly Unread[];
}

export interface InventoryDriver {
  read(signal: AbortSignal): Promise<Hardware>;
}

export const inventoryOperations = defineOperations({
  title: "inventory",
  methods: (run: Run<{ readonly inventory: InventoryDriver }>) => ({
    /** Reads what is built into the machine. */
    getHardware: (signal: AbortSignal): Promise<Hardware> =>
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

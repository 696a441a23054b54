import { count } from "../../count.ts";
import { defineOperations, type Run } from "./access.ts";
import { ok } from "./finding.ts";
import { vendorAndModel } from "./manager.ts";
import { describeUnread, type Unread } from "./unread.ts";

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
  readonly disks: readonly {
    /** The BMC's name for it. */
    readonly name: string;
    /** Vendor. */
    readonly vendor?: string;
    /** Model. */
    readonly model?: string;
    /** Serial number. */
    readonly serial?: string;
    /** Size in bytes. */
    readonly bytes?: number;
    /** Such as `SSD`. */
    readonly kind?: string;
  }[];
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
    readHardware: (signal: AbortSignal): Promise<Hardware> =>
      run(signal, ({ read }) => read(({ inventory }) => inventory.read(signal))),
  }),
  check: async ({ read }, signal) => ok(describeParts(await read(({ inventory }) => inventory.read(signal)))),
});

function describeParts({ system, processors, memory, disks, nics, firmware, unread }: Hardware): string {
  const named = vendorAndModel(system.vendor, system.model);
  const parts = [
    count(processors.length, "processor"),
    count(memory.length, "memory module"),
    count(disks.length, "disk"),
    count(nics.length, "NIC"),
    count(firmware.length, "firmware version"),
  ].filter((part) => !part.startsWith("0 "));
  return [named || "a machine without a name", ...parts].join(", ") + describeUnread(unread, "part");
}

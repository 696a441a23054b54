import { count } from "../../count.ts";
import { defineOperations, type Run } from "./access.ts";
import { ok } from "./finding.ts";
import { vendorAndModel } from "./manager.ts";

/** What is built into a machine; a field that the BMC does not report is absent. */
export interface Hardware {
  readonly system: {
    readonly vendor?: string;
    readonly model?: string;
    readonly serial?: string;
    readonly uuid?: string;
    readonly biosVersion?: string;
    /** Installed memory as the BMC sums it up, in bytes. */
    readonly memoryBytes?: number;
  };
  readonly processors: readonly {
    readonly name: string;
    readonly model?: string;
    readonly cores?: number;
    readonly threads?: number;
  }[];
  readonly memory: readonly {
    readonly name: string;
    readonly bytes?: number;
    readonly kind?: string;
    readonly serial?: string;
  }[];
  readonly disks: readonly {
    readonly name: string;
    readonly model?: string;
    readonly serial?: string;
    readonly bytes?: number;
    readonly kind?: string;
  }[];
  readonly nics: readonly {
    readonly name: string;
    readonly mac?: string;
    readonly speedMbps?: number;
    readonly up?: boolean;
  }[];
  readonly firmware: readonly { readonly name: string; readonly version: string }[];
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

function describeParts({ system, processors, memory, disks, nics, firmware }: Hardware): string {
  const named = vendorAndModel(system.vendor, system.model);
  const parts = [
    count(processors.length, "processor"),
    count(memory.length, "memory module"),
    count(disks.length, "disk"),
    count(nics.length, "NIC"),
    count(firmware.length, "firmware version"),
  ].filter((part) => !part.startsWith("0 "));
  return [named || "a machine without a name", ...parts].join(", ");
}

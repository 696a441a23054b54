import type { Hardware } from "../../shared/bmc/operations/inventory.ts";
import { gibibytes } from "./sizes.ts";

/**
 * One line: `Contoso 3500 437XR1138R2: 2 processors, 128 GiB memory, 4 disks, 2 NICs`. Leaves out kinds of
 * parts that the BMC does not report.
 */
export function describeHardware({ system, processors, memory, disks, nics }: Hardware): string {
  const named = [system.vendor, system.model, system.serial].filter((part) => part !== undefined).join(" ");
  const parts = [
    count(processors.length, "processor"),
    describeMemory(memory),
    count(disks.length, "disk"),
    count(nics.length, "NIC"),
  ].filter((part) => part !== undefined);
  return `${named || "machine"}: ${parts.length > 0 ? parts.join(", ") : "the BMC reports no parts"}`;
}

/** The sum is a lower bound if the size of a module is unknown. */
function describeMemory(modules: Hardware["memory"]): string | undefined {
  const sizes = modules.flatMap(({ bytes }) => (bytes === undefined ? [] : [bytes]));
  if (sizes.length === 0) return count(modules.length, "memory module");
  const sum = gibibytes(sizes.reduce((total, bytes) => total + bytes, 0));
  return `${sizes.length < modules.length ? "at least " : ""}${sum} memory`;
}

function count(number: number, what: string): string | undefined {
  if (number === 0) return undefined;
  return `${number} ${what}${number === 1 ? "" : "s"}`;
}

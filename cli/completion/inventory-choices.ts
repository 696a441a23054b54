import { readTextFile } from "../../shared/read-text-file.ts";
import { parseInventory } from "../../worker/machines/parse-inventory.ts";
import { type Completion, type Flag, nothing } from "./flag.ts";

/** Flags that take names of machines. */
const OF_NAMES = new Set(["--machine", "--bmc"]);
const OF_LABELS = "--selector";

/** The names and labels of the machines of an inventory. */
interface Known {
  readonly names: readonly string[];
  /** Such as `rack=r12`. */
  readonly labels: readonly string[];
}

/** What an inventory adds to completion. */
export interface InventoryChoices {
  /** Adds names and labels to the flags that take them. */
  readonly flags: (flags: readonly Flag[]) => readonly Flag[];
  /** The names of the machines, for a command that takes one as its argument. */
  readonly operand: Completion;
}

/** Reads the inventory that the command line names; none of its choices if it cannot be read. */
export function readInventoryChoices(words: readonly string[]): InventoryChoices {
  const file = inventoryIn(words);
  const { names, labels } = (file === undefined ? undefined : readKnown(file)) ?? { names: [], labels: [] };
  return {
    flags: (flags) =>
      flags.map((flag) => {
        if (OF_NAMES.has(flag.name)) return { ...flag, choices: names, list: flag.name === "--machine" };
        return flag.name === OF_LABELS ? { ...flag, choices: labels, list: true } : flag;
      }),
    operand: names.length > 0 ? { candidates: names.map((value) => ({ value, description: "" })) } : nothing,
  };
}

function inventoryIn(words: readonly string[]): string | undefined {
  const joined = words.findLast((word) => word.startsWith("--inventory="));
  if (joined !== undefined) return joined.slice("--inventory=".length);
  const at = words.lastIndexOf("--inventory");
  return at < 0 ? undefined : words[at + 1];
}

/** Reads no secrets. Undefined for a file that is no inventory: a prompt is no place for its problems. */
function readKnown(path: string): Known | undefined {
  try {
    const text = readTextFile(path.replace(/^~(?=\/)/, process.env["HOME"] ?? "~"));
    const parsed = parseInventory({ path, text, env: {}, readFile: readTextFile, alone: true });
    if (!parsed.ok) return undefined;
    const machines = parsed.value.machines();
    const labels = machines.flatMap(({ labels = {} }) =>
      Object.entries(labels).map(([key, value]) => `${key}=${value}`),
    );
    return { names: machines.map(({ name }) => name), labels: [...new Set(labels)].sort() };
  } catch {
    return undefined;
  }
}

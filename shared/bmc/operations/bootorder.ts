import { BmcError } from "../../contract/bmc-error.ts";
import { nearestName } from "../../nearest-name.ts";
import { neverAborted } from "../../never-aborted.ts";
import { type Access, defineOperations, type Patience, type Plan, type Run } from "./access.ts";
import { ok } from "./finding.ts";
import { writeSetting } from "./read-back.ts";
import { incompleteList } from "./unread.ts";

/** An entry of the UEFI boot order. */
export interface BootOption {
  /** The BMC's name of the entry, such as `Boot0003`. */
  readonly id: string;
  /** The title, such as `UEFI PXEv4 (MAC:001B21AABBCC)`; absent if the BMC does not report it. */
  readonly name?: string;
  /** Why the title could not be read. */
  readonly unread?: string;
}

export interface BootOrderDriver {
  /** Reads all options in the order in which the firmware tries them from the next boot on. */
  read(signal: AbortSignal): Promise<readonly BootOption[]>;
  plan(ids: readonly string[], signal: AbortSignal): Promise<string>;
  /** Writes all IDs in their new order. */
  write(ids: readonly string[], signal: AbortSignal): Promise<void>;
}

/** The result of setting the boot order. */
export interface BootOrderReport {
  /** The order before the change. */
  readonly before: readonly BootOption[];
  /** The order that was read back. */
  readonly after: readonly BootOption[];
  /** Whether anything was sent. */
  readonly changed: boolean;
  /** The result in one line for display. */
  readonly summary: string;
}

type BootOrderDrivers = { readonly bootorder: BootOrderDriver };

export const bootOrderOperations = defineOperations({
  title: "UEFI boot order",
  methods: (run: Run<BootOrderDrivers>) => ({
    /** Reads the UEFI boot order. */
    getBootOrder: (signal: AbortSignal = neverAborted()): Promise<readonly BootOption[]> =>
      run(signal, (access) => portOf(access, signal).read()),

    /**
     * Moves these options, named by title or ID in any case, to the front. The others follow in their order. Reads the order
     * back. Throws `usage` for a name that the BMC does not have.
     */
    setBootOrder: (
      names: readonly string[],
      signal: AbortSignal = neverAborted(),
    ): Promise<BootOrderReport> => run(signal, (access) => setOrder(portOf(access, signal), names)),

    /** Returns what `setBootOrder` would send. */
    planBootOrder: (
      names: readonly string[],
      signal: AbortSignal = neverAborted(),
    ): Promise<Plan<readonly BootOption[]>> =>
      run(signal, async (access) => {
        const port = portOf(access, signal);
        const before = await port.read();
        const asked = reorder(before, names);
        return { before, steps: isSame(before, asked) ? [] : [await port.plan(idsOf(asked))] };
      }),
  }),
  check: async (access, signal) => ok(describeBootOrder(await portOf(access, signal).read())),
});

/** The boot order operations of one machine, with retries. */
type BootOrderPort = ReturnType<typeof portOf>;

function portOf({ read, write, insist, sleep }: Access<BootOrderDrivers>, signal: AbortSignal) {
  return {
    read: () => read(({ bootorder }) => bootorder.read(signal)),
    plan: (ids: readonly string[]) => read(({ bootorder }) => bootorder.plan(ids, signal)),
    write: (ids: readonly string[], patience?: Patience) =>
      write(({ bootorder }) => bootorder.write(ids, signal), patience),
    insist,
    sleep,
  };
}

async function setOrder(port: BootOrderPort, names: readonly string[]): Promise<BootOrderReport> {
  const before = await port.read();
  const asked = reorder(before, names);
  const summary = describeBootOrder(asked);
  if (isSame(before, asked)) return { before, after: before, changed: false, summary: `already ${summary}` };
  const after = await writeSetting(
    { ...port, write: (patience) => port.write(idsOf(asked), patience) },
    { asked: summary, isSet: (order) => isSame(order, asked), describe: describeBootOrder },
  );
  return { before, after, changed: true, summary };
}

function reorder(order: readonly BootOption[], names: readonly string[]): readonly BootOption[] {
  const first = new Set(names.map((name) => optionNamed(order, name)));
  return [...first, ...order.filter((option) => !first.has(option))];
}

function optionNamed(order: readonly BootOption[], asked: string): BootOption {
  const key = asked.trim().toLowerCase();
  const found = order.filter(({ id, name }) => [id, name].some((each) => each?.trim().toLowerCase() === key));
  const [only, ...others] = found;
  if (only && others.length === 0) return only;
  if (only) {
    const text = `several boot options are named ${asked}: ${idsOf(found).join(", ")}; use the ID`;
    throw new BmcError("usage", text);
  }
  const unread = order.flatMap(({ id, unread }) =>
    unread === undefined ? [] : [{ name: id, reason: unread }],
  );
  if (unread.length > 0) {
    throw incompleteList(`no boot option whose title can be read is named ${asked}`, unread);
  }
  const names = order.flatMap(({ id, name }) => (name === undefined ? [id] : [name, id]));
  const near = nearestName(asked, names);
  const hint = near === undefined ? `it has ${describeBootOrder(order)}` : `did you mean ${near}?`;
  throw new BmcError("usage", `the BMC has no boot option ${asked}; ${hint}`);
}

const idsOf = (order: readonly BootOption[]) => order.map(({ id }) => id);

const isSame = (a: readonly BootOption[], b: readonly BootOption[]) =>
  idsOf(a).join("\n") === idsOf(b).join("\n");

/** The largest number of options to name in a description. */
const MOST_NAMED = 4;

/** Describes the order: `boot order PXE NIC 1, Hard Drive, and 3 more`. */
export function describeBootOrder(order: readonly BootOption[]): string {
  if (order.length === 0) return "empty boot order";
  const named = order.slice(0, MOST_NAMED).map(({ id, name }) => name ?? id);
  const rest = order.length - named.length;
  return `boot order ${named.join(", ")}${rest > 0 ? `, and ${rest} more` : ""}`;
}

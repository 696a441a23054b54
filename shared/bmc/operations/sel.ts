import { BmcError } from "../../contract/bmc-error.ts";
import { count } from "../../count.ts";
import { neverAborted } from "../../never-aborted.ts";
import { type Access, defineOperations, type Patience, type Plan, type Run } from "./access.ts";
import { ok } from "./finding.ts";
import { answerTo, awaitState, READ_BACK_MS } from "./read-back.ts";
import { throwIfNoneRead } from "./unread.ts";

/** One entry of the event log. */
export interface SelEntry {
  /** The BMC's ID of the entry. Clearing the log restarts the IDs. */
  readonly id: string;
  /** The time in ISO 8601; absent if the entry has none or the BMC's clock was not set. */
  readonly at?: string;
  /** Absent if the BMC does not report it. */
  readonly severity?: "ok" | "warning" | "critical";
  /** The BMC's message, or why the entry could not be read. */
  readonly message: string;
  /** True if the BMC lists one or more entries here that could not be read. */
  readonly unread?: true;
}

/** Creates a placeholder for an entry, or the rest of the log, that could not be read. */
export function unreadEntry(id: string, reason: string): SelEntry {
  return { id, message: `not read: ${reason}`, unread: true };
}

/** Options for listing the event log. */
export interface SelOptions {
  /**
   * Whether messages contain the names of sensors. IPMI keeps them apart from the log, and reading them costs up to one round
   * trip per sensor. Names that cannot be read are left out.
   */
  readonly sensorNames?: boolean;
}

export interface SelDriver {
  /** Oldest first. */
  list(signal: AbortSignal, options?: SelOptions): Promise<readonly SelEntry[]>;
  /** Number of entries, in a few round trips regardless of their number; at least one of them was readable. */
  count(signal: AbortSignal): Promise<number>;
  /** What `clear` would send, in one line for people. Throws `unsupported` where the BMC is known not to offer it. */
  plan(signal: AbortSignal): Promise<string>;
  clear(signal: AbortSignal): Promise<void>;
}

/** Result of clearing the event log. */
export interface SelReport {
  /** Whether anything was sent. */
  readonly changed: boolean;
  /** How it went, in one line for people. */
  readonly summary: string;
}

type SelDrivers = { readonly sel: SelDriver };

export const selOperations = defineOperations({
  title: "event log",
  methods: (run: Run<SelDrivers>) => ({
    /** Lists the event log, oldest first. */
    listSel: (signal: AbortSignal = neverAborted(), options: SelOptions = {}): Promise<readonly SelEntry[]> =>
      run(signal, async ({ read }) => someOf(await read(({ sel }) => sel.list(signal, options)))),

    /** Counts the entries that `listSel` would list, in a few round trips. */
    countSel: (signal: AbortSignal = neverAborted()): Promise<number> =>
      run(signal, ({ read }) => read(({ sel }) => sel.count(signal))),

    /** Clears the event log, until no earlier entry is left. */
    clearSel: (signal: AbortSignal = neverAborted()): Promise<SelReport> =>
      run(signal, (access) => clearSel(portOf(access, signal))),

    /** What `clearSel` would send; `before` is the number of entries, undefined if the log cannot be listed. */
    planClearSel: (signal: AbortSignal = neverAborted()): Promise<Plan<number | undefined>> =>
      run(signal, (access) => planClearSel(portOf(access, signal))),
  }),
  check: async ({ read }, signal) =>
    ok(count(await read(({ sel }) => sel.count(signal)), "entry", "entries")),
});

/** The system event log with retries in place; what `clearSel` needs and no more. */
type SelPort = ReturnType<typeof portOf>;

function portOf({ read, write, sleep, progress }: Access<SelDrivers>, signal: AbortSignal) {
  return {
    list: () => read(({ sel }) => sel.list(signal)),
    plan: () => read(({ sel }) => sel.plan(signal)),
    clear: (patience: Patience) => write(({ sel }) => sel.clear(signal), patience),
    sleep,
    progress,
  };
}

/**
 * Matches the entry that remains after a log was cleared, in the words of several vendors: `event logging sensor 0xf0: log
 * cleared`, `The system event log was cleared`, `IML Cleared (iLO user: admin)`, `SEL cleared`.
 */
const CLEARING = /\b(log|sel|iml)\b.{0,40}\bcleared\b/i;

/** Returns the entries. Throws if the list is incomplete and has no readable entry. */
function someOf(entries: readonly SelEntry[]): readonly SelEntry[] {
  const unread = entries.filter((entry) => entry.unread);
  throwIfNoneRead(
    entries.length - unread.length,
    unread.map(({ id, message }) => ({ name: id, reason: message })),
    "entry of the event log",
  );
  return entries;
}

/** Clears the log and verifies that no earlier entry is left; many BMCs log the clearing itself. */
export async function clearSel(port: SelPort): Promise<SelReport> {
  const before = await listed(port);
  if (before && isCleared(before)) {
    return { changed: false, summary: `event log already ${describeCleared(before)}` };
  }
  port.progress("clearing the event log");
  // An entry of an earlier clearing may equal the one of this clearing, where the BMC has no time.
  const known = new Set((before ?? []).filter((entry) => !isClearing(entry) && !entry.unread).map(identity));
  const isLeft = (entry: SelEntry, index: number) =>
    entry.unread || (known.size > 0 ? known.has(identity(entry)) : index > 0);
  const remaining = (entries: readonly SelEntry[]) => entries.filter(isLeft);
  const isDone = (entries: readonly SelEntry[] | undefined) =>
    entries !== undefined && remaining(entries).length === 0;
  const failure = await answerTo(() => port.clear({ isDone: async () => isDone(await listed(port)) }));
  // The log shows the result, whatever the response was.
  const delays = failure && !failure.uncertain ? READ_BACK_MS.denied : READ_BACK_MS.setting;
  const after = await awaitState(delays, port, () => listed(port), isDone).catch((thrown: unknown) => {
    throw failure ?? thrown;
  });
  if (failure && !isDone(after)) throw failure;
  if (!after) {
    throw new BmcError("verify", "the BMC accepted the clearing of its event log, which cannot be listed");
  }
  const left = remaining(after);
  const counted = before && count(before.length, "entry", "entries");
  if (left.length === 0) {
    return { changed: true, summary: `event log cleared${counted === undefined ? "" : ` of ${counted}`}` };
  }
  const all =
    counted === undefined ? count(left.length, "entry", "entries") : `${left.length} of its ${counted}`;
  throw new BmcError("verify", `the BMC accepted the clearing of its event log and still has ${all}`);
}

export async function planClearSel(port: SelPort): Promise<Plan<number | undefined>> {
  const before = await listed(port);
  return { before: before?.length, steps: before && isCleared(before) ? [] : [await port.plan()] };
}

/** Lists the entries; undefined if that fails although the BMC has a log, which clearing may fix. */
async function listed(port: SelPort): Promise<readonly SelEntry[] | undefined> {
  try {
    return await port.list();
  } catch (thrown) {
    const error = BmcError.from(thrown);
    if (!["protocol", "bmc", "verify"].includes(error.class)) throw thrown;
    port.progress(`the event log cannot be listed: ${error.message}`);
    return undefined;
  }
}

/** Whether the log is empty or only says that it was cleared. */
function isCleared(entries: readonly SelEntry[]): boolean {
  return entries.length === 0 || (entries.length === 1 && entries.every(isClearing));
}

function describeCleared(entries: readonly SelEntry[]): string {
  return entries.length === 0 ? "empty" : "cleared, which is its only entry";
}

function isClearing({ message }: SelEntry): boolean {
  return CLEARING.test(message);
}

/** Identifies an entry by time and message, because clearing the log restarts the IDs. */
function identity({ at, message }: SelEntry): string {
  return `${at ?? ""} ${message}`;
}

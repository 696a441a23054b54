import { BmcError } from "../../contract/bmc-error.ts";
import type { PowerState } from "../../contract/vocabulary.ts";
import { count } from "../../count.ts";
import { neverAborted } from "../../never-aborted.ts";
import { type Access, defineOperations, type Plan, type Run } from "./access.ts";
import { ok } from "./finding.ts";
import { endError, followTask } from "./follow-task.ts";
import type { PowerDriver } from "./power.ts";
import { once, uncertainty } from "./read-back.ts";
import type { StartedTask } from "./task-port.ts";
import { describeUnread, incompleteList, throwIfNoneRead, type Unread } from "./unread.ts";

/** How a drive is erased (DSP0268, Drive, SanitizationType). */
export const ERASE_METHODS = ["block-erase", "crypto-erase", "overwrite"] as const;
export type EraseMethod = (typeof ERASE_METHODS)[number];

/** A drive that the BMC lists. A field that it does not report is absent. */
export interface ErasableDrive {
  /** The BMC's ID, which drives of different controllers may share. */
  readonly id: string;
  readonly serialNumber?: string;
  readonly model?: string;
  readonly bytes?: number;
  /** The path, which is unique. */
  readonly path: string;
  /** Whether the BMC offers to erase it. */
  readonly offered: boolean;
}

/** The drives of a machine. */
export interface DriveList {
  readonly drives: readonly ErasableDrive[];
  /** Drives that the BMC lists but that could not be read. */
  readonly unread?: readonly Unread[];
}

export interface EraseDriver {
  list(signal: AbortSignal): Promise<DriveList>;
  plan(drive: ErasableDrive, method: EraseMethod | undefined, signal: AbortSignal): Promise<string>;
  /** Sends the request. Resolves when the BMC has accepted it. */
  send(drive: ErasableDrive, method: EraseMethod | undefined, signal: AbortSignal): Promise<void>;
}

/** A request to erase drives. */
export interface EraseRequest {
  /** The IDs or serial numbers of the drives. */
  readonly drives: readonly string[];
  /** The method. Without it, the BMC decides. */
  readonly method?: EraseMethod;
  /** Whether to erase even if the machine is not off. */
  readonly whileOn?: boolean;
}

/** The result of erasing drives. */
export interface EraseReport {
  /** The power state before the request. */
  readonly before: PowerState;
  /** The drives that were erased. */
  readonly erased: readonly ErasableDrive[];
  /** Whether anything was sent. */
  readonly changed: boolean;
  /** The result in one line for display. */
  readonly summary: string;
}

type EraseDrivers = { readonly erase: EraseDriver; readonly power: PowerDriver };
type EraseAccess = Access<EraseDrivers>;

export const eraseOperations = defineOperations({
  title: "drive erasure",
  methods: (run: Run<EraseDrivers>) => ({
    /**
     * Erases the named drives, each once, and follows the BMC's tasks to their end. Throws before anything is sent if the
     * machine is not off, or if a drive is unknown or cannot be erased. `onSent` is called after each request that the BMC
     * accepted or may have carried out.
     */
    eraseDrives: (
      request: EraseRequest,
      limitMs: number,
      signal: AbortSignal = neverAborted(),
      onSent: () => void = () => undefined,
    ): Promise<EraseReport> =>
      run(signal, (access) => eraseDrives(access, { request, limitMs, onSent }, signal)),

    /** Returns what `eraseDrives` would send. */
    planDriveErasure: (
      request: EraseRequest,
      signal: AbortSignal = neverAborted(),
    ): Promise<Plan<PowerState>> =>
      run(signal, async (access) => {
        const { power, drives } = await prepare(access, request, signal);
        const steps: string[] = [];
        for (const drive of drives) {
          steps.push(await access.read(({ erase }) => erase.plan(drive, request.method, signal)));
        }
        return { before: power, steps };
      }),
  }),
  check: async ({ read }, signal) => {
    const { drives, unread } = await read(({ erase }) => erase.list(signal));
    throwIfNoneRead(drives.length, unread, "drive");
    const offered = drives.filter((drive) => drive.offered).length;
    if (offered === 0 && !unread) {
      throw new BmcError("unsupported", `the BMC offers to erase none of ${count(drives.length, "drive")}`);
    }
    return ok(`${offered} of ${count(drives.length, "drive")}${describeUnread(unread, "drive")}`);
  },
});

async function prepare(access: EraseAccess, request: EraseRequest, signal: AbortSignal) {
  const list = await access.read(({ erase }) => erase.list(signal));
  const drives = findDrives(list, request.drives);
  const refused = drives.filter((drive) => !drive.offered).map(describeDrive);
  if (refused.length > 0) {
    throw new BmcError("unsupported", `the BMC does not offer to erase ${refused.join(", ")}`);
  }
  return { drives, power: await checkPower(access, request, signal) };
}

const OFF_PAUSE_MS = 1_000;

/** Checks that the machine is off, because what runs from the drives would lose them. An uncertain state counts as on. */
async function checkPower(
  { read, sleep }: EraseAccess,
  { whileOn = false }: EraseRequest,
  signal: AbortSignal,
) {
  const readPower = () => read(({ power: driver }) => driver.read(signal));
  let power = await readPower();
  if (whileOn) return power;
  // Some BMCs show "off" for a moment while the machine is still powering off.
  if (power === "off") {
    await sleep(OFF_PAUSE_MS);
    power = await readPower();
  }
  if (power === "off") return power;
  const text = `the machine is ${power === "on" ? "on" : "not known to be off"}: power it off first, or allow it with WHILE_ON`;
  throw new BmcError("state", text);
}

interface Work {
  readonly request: EraseRequest;
  readonly limitMs: number;
  readonly onSent: () => void;
}

async function eraseDrives(
  access: EraseAccess,
  { request, limitMs, onSent }: Work,
  signal: AbortSignal,
): Promise<EraseReport> {
  const { drives, power } = await prepare(access, request, signal);
  const endsMs = access.clock.monotonicMs() + limitMs;
  const started: { readonly drive: ErasableDrive; readonly task: StartedTask | undefined }[] = [];
  const failures: BmcError[] = [];
  for (const drive of drives) {
    try {
      // The machine may have been switched on in the meantime.
      if (started.length > 0) await checkPower(access, request, signal);
      access.progress(`erasing ${describeDrive(drive)}`, Math.max(0, endsMs - access.clock.monotonicMs()));
      started.push({ drive, task: await start(access, drive, { request, onSent }, signal) });
    } catch (thrown) {
      if (started.length === 0) throw thrown;
      failures.push(ofDrive(drive, thrown));
      break;
    }
  }
  const notSent = drives.slice(started.length + failures.length);
  const erased: ErasableDrive[] = [];
  for (const { drive, task } of started) {
    try {
      await follow(access, { drive, task, endsMs, limitMs }, signal);
      erased.push(drive);
    } catch (thrown) {
      signal.throwIfAborted();
      failures.push(ofDrive(drive, thrown));
    }
  }
  const [first] = failures;
  if (first) {
    const names = (all: readonly ErasableDrive[]) => all.map(describeDrive).join(", ");
    const parts = [
      failures.map(({ message }) => message).join("; "),
      ...(erased.length > 0 ? [`erased: ${names(erased)}`] : []),
      ...(notSent.length > 0 ? [`not sent: ${names(notSent)}`] : []),
    ];
    throw new BmcError(first.class, parts.join("; "), { cause: first, uncertain: first.uncertain });
  }
  const summary = `erased ${count(erased.length, "drive")}: ${erased.map(describeDrive).join(", ")}`;
  return { before: power, erased, changed: true, summary };
}

/** Sends the request to erase a drive once. */
async function start(
  access: EraseAccess,
  drive: ErasableDrive,
  { request: { method }, onSent }: Pick<Work, "request" | "onSent">,
  signal: AbortSignal,
): Promise<StartedTask | undefined> {
  let task: StartedTask | undefined;
  const lost = await uncertainty(async () => {
    task = await access.start(({ erase }) => once(() => erase.send(drive, method, signal)));
  });
  onSent();
  if (!lost) return task;
  const message = `${lost.message}; the erasure may have been started and is not sent again`;
  throw new BmcError(lost.class, message, { cause: lost, uncertain: true });
}

interface Started {
  readonly drive: ErasableDrive;
  readonly task: StartedTask | undefined;
  readonly endsMs: number;
  readonly limitMs: number;
}

/** Resolves when the BMC's task has succeeded, which is the only proof that a drive is erased. */
async function follow(
  access: EraseAccess,
  { drive, task, endsMs, limitMs }: Started,
  signal: AbortSignal,
): Promise<void> {
  if (task === undefined) {
    throw new BmcError("verify", "the BMC accepted the erasure without a task: its outcome is unknown");
  }
  const what = `erasure of ${describeDrive(drive)}`;
  const end = await followTask(access, { what, signal, started: task, endsMs, limitMs });
  const error = endError("the erasure", end, task.name);
  if (error) throw error;
}

function ofDrive(drive: ErasableDrive, thrown: unknown): BmcError {
  const error = BmcError.from(thrown);
  const message = `${describeDrive(drive)}: ${error.message}`;
  return new BmcError(error.class, message, { cause: error, uncertain: error.uncertain });
}

/** Returns the named drives, each once. Throws `usage` with all problems, and `bmc` if some drives could not be read. */
function findDrives({ drives, unread }: DriveList, names: readonly string[]): readonly ErasableDrive[] {
  const found = new Set<ErasableDrive>();
  const problems: string[] = [];
  for (const name of names) {
    const fitting = drives.filter(({ id, serialNumber }) => id === name || serialNumber === name);
    const [drive, ...others] = fitting;
    if (others.length > 0) {
      problems.push(`${fitting.length} drives are named ${name}: use serial numbers`);
    } else if (drive && unread && drive.serialNumber !== name) {
      problems.push(`${name} may also be the ID of a drive that was not read: use its serial number`);
    } else if (drive) found.add(drive);
    else problems.push(`there is no drive ${name}`);
  }
  if (problems.length === 0) return [...found];
  if (unread) throw incompleteList(problems.join("; "), unread);
  const known = drives.length === 0 ? "no drives" : drives.map(describeDrive).join(", ");
  throw new BmcError("usage", `${problems.join("; ")}; the BMC lists ${known}`);
}

/** Describes a drive: `Disk.Bay.0 (serial number S1)`. */
export function describeDrive({ id, serialNumber }: ErasableDrive): string {
  return serialNumber === undefined ? id : `${id} (serial number ${serialNumber})`;
}

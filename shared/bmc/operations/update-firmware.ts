import { BmcError } from "../../contract/bmc-error.ts";
import { formatSeconds } from "../../duration.ts";
import { nearestName } from "../../nearest-name.ts";
import type { Access, Plan } from "./access.ts";
import type { FirmwareDrivers, FirmwareItem, FirmwareRequest } from "./firmware-driver.ts";
import { compareVersions } from "./firmware-version.ts";
import { followTask, TASK_PAUSE_MS, whileRestarting } from "./follow-task.ts";
import { uncertainty } from "./read-back.ts";

/** How long an update may take. */
export interface UpdateLimits {
  /** For upload and task together, milliseconds. */
  readonly updateMs: number;
  /** From the end of the task until the inventory shows the version, a restart of the BMC included, milliseconds. */
  readonly verifyMs: number;
}

/** How far an update has come: the BMC works on it, or its task has ended. */
export type UpdateStage = "sent" | "ended";

/** Result of an update. */
export interface FirmwareReport {
  /** The targets, or the whole inventory, before. */
  readonly before: readonly FirmwareItem[];
  /** The same as read back; after the next boot it may differ, if `pending`. */
  readonly after: readonly FirmwareItem[];
  /** Whether the BMC keeps the update for the next boot. */
  readonly pending: boolean;
  /** Whether anything was sent. */
  readonly changed: boolean;
  /** How it went, in one line for people. */
  readonly summary: string;
}

type FirmwareAccess = Access<FirmwareDrivers>;

interface Update {
  readonly request: FirmwareRequest;
  readonly limits: UpdateLimits;
  readonly onStage: (stage: UpdateStage) => void;
}

export async function planUpdate(
  { read }: FirmwareAccess,
  request: FirmwareRequest,
  signal: AbortSignal,
): Promise<Plan<readonly FirmwareItem[]>> {
  const before = chosen(await read(({ firmware }) => firmware.list(signal)), request.targets);
  if (isThere(before, request)) return { before, steps: [] };
  checkUpdate(before, request);
  return { before, steps: [await read(({ firmware }) => firmware.plan(request, signal))] };
}

export async function updateFirmware(
  access: FirmwareAccess,
  { request, limits, onStage }: Update,
  signal: AbortSignal,
): Promise<FirmwareReport> {
  const { before, steps } = await planUpdate(access, request, signal);
  if (steps.length === 0) {
    return {
      before,
      after: before,
      pending: false,
      changed: false,
      summary: `already ${describeFirmware(before)}`,
    };
  }
  const { clock, look, write, progress } = access;
  const endsMs = clock.monotonicMs() + limits.updateMs;
  progress("sending the firmware update", limits.updateMs);
  let task: string | undefined;
  const lost = await uncertainty(() =>
    write(async ({ firmware }) => {
      task = await firmware.send(request, limits.updateMs, signal);
    }),
  );
  onStage("sent");
  const path = task;
  const limit = { what: "update", signal, endsMs, limitMs: limits.updateMs };
  const readTask = (sent: string) => look(({ firmware }) => firmware.task(sent, signal));
  const end =
    path === undefined ? undefined : await followTask({ ...access, readTask: () => readTask(path) }, limit);
  onStage("ended");
  if (end?.state === "failed") {
    throw new BmcError("bmc", `the update failed: ${end.message ?? "the BMC gives no reason"}`);
  }
  const staged = end?.state === "staged";
  const goal = { before, request, staged, lost };
  return verifyUpdate(access, goal, limits.verifyMs, signal);
}

/** The targets in the order asked for, or all. Throws `usage` for an ID that the BMC does not have. */
function chosen(items: readonly FirmwareItem[], targets: readonly string[]): readonly FirmwareItem[] {
  if (targets.length === 0) return items;
  return targets.map((target) => {
    const found = items.find(({ id }) => id === target);
    if (found) return found;
    const near = nearestName(
      target,
      items.map(({ id }) => id),
    );
    const hint = near === undefined ? "see list-firmware" : `did you mean ${near}?`;
    throw new BmcError("usage", `the BMC has no firmware ${target}; ${hint}`);
  });
}

function isThere(items: readonly FirmwareItem[], { version }: FirmwareRequest): boolean {
  return version !== undefined && items.length > 0 && items.every((item) => isVersion(item, version));
}

const isVersion = ({ version }: FirmwareItem, asked: string) =>
  version !== undefined && compareVersions(version, asked) === 0;

function checkUpdate(items: readonly FirmwareItem[], request: FirmwareRequest): void {
  const { targets, version, allowDowngrade } = request;
  if (version !== undefined && targets.length === 0) {
    throw new BmcError("usage", "a version needs targets: several programs have versions");
  }
  const fixed = targets.length > 0 ? items.find(({ updateable }) => updateable === false) : undefined;
  if (fixed) throw new BmcError("unsupported", `the BMC cannot update ${fixed.id} (${fixed.name})`);
  if (version === undefined || allowDowngrade) return;
  for (const { id, version: present } of items) {
    if (present === undefined) continue;
    const order = compareVersions(version, present);
    if (order === undefined) {
      throw new BmcError(
        "state",
        `version ${version} of ${id} cannot be compared with ${present}: allow a downgrade`,
      );
    }
    if (order < 0)
      throw new BmcError("state", `${id} has ${present}: ${version} is a downgrade, which must be allowed`);
  }
}

interface Goal {
  readonly before: readonly FirmwareItem[];
  readonly request: FirmwareRequest;
  readonly staged: boolean;
  /** The update's answer was lost. */
  readonly lost: BmcError | undefined;
}

/** Reads the inventory until it shows the update, unless that waits for the next boot. */
async function verifyUpdate(
  { clock, look, sleep, progress }: FirmwareAccess,
  { before, request, staged, lost }: Goal,
  verifyMs: number,
  signal: AbortSignal,
): Promise<FirmwareReport> {
  const endsMs = clock.monotonicMs() + verifyMs;
  if (!staged) progress("waiting until the inventory shows the new version", verifyMs);
  let after = before;
  let silence: BmcError | undefined;
  for (;;) {
    const items = await whileRestarting({ what: "update", signal }, () =>
      look(({ firmware }) => firmware.list(signal)),
    );
    silence = items instanceof BmcError ? items : undefined;
    if (!(items instanceof BmcError)) {
      after = before.map(({ id, ...rest }) => items.find((item) => item.id === id) ?? { id, ...rest });
      const changes = describeChanges(before, after);
      if (request.version === undefined ? changes !== "" : isThere(after, request)) {
        return { before, after, pending: false, changed: true, summary: `firmware updated: ${changes}` };
      }
      if (staged) {
        const summary = `firmware update of ${describeFirmware(before)} accepted, in effect after the next boot`;
        return { before, after, pending: true, changed: true, summary };
      }
    }
    const leftMs = endsMs - clock.monotonicMs();
    if (leftMs <= 0) throw unverified({ before, request, staged, lost }, after, { verifyMs, silence });
    await sleep(Math.min(TASK_PAUSE_MS, leftMs));
  }
}

function unverified(
  { request, lost }: Goal,
  after: readonly FirmwareItem[],
  { verifyMs, silence }: { readonly verifyMs: number; readonly silence: BmcError | undefined },
): BmcError {
  const within = `within ${formatSeconds(verifyMs)}`;
  if (silence) {
    const message = `the BMC did not answer ${within} of the update: ${silence.message}`;
    return new BmcError("timeout", message, { cause: silence, uncertain: true });
  }
  const asked = request.version ?? "another version";
  const has = `${within} of the update, the BMC has ${describeFirmware(after)} instead of ${asked}`;
  if (!lost) return new BmcError("verify", has);
  const message = `${lost.message}; the update may have been started and is not sent again; ${has}`;
  return new BmcError(lost.class, message, { cause: lost, uncertain: true });
}

/** As many are named for people. */
const MOST_NAMED = 4;

/** For people: `BMC 1.2.3, BIOS 2.19.1, and 3 more`. */
export function describeFirmware(items: readonly FirmwareItem[]): string {
  if (items.length === 0) return "no firmware";
  return shortList(items.map(({ id, version = "unknown" }) => `${id} ${version}`));
}

function describeChanges(before: readonly FirmwareItem[], after: readonly FirmwareItem[]): string {
  return shortList(
    after.flatMap(({ id, version }, index) => {
      const was = before[index]?.version;
      return version === undefined || version === was ? [] : [`${id} ${was ?? "unknown"} to ${version}`];
    }),
  );
}

function shortList(texts: readonly string[]): string {
  const rest = texts.length - MOST_NAMED;
  return `${texts.slice(0, MOST_NAMED).join(", ")}${rest > 0 ? `, and ${rest} more` : ""}`;
}

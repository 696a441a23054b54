import { BmcError } from "../../contract/bmc-error.ts";
import type { ErrorClass } from "../../contract/error-class.ts";
import { defined } from "../../defined.ts";
import { formatSeconds } from "../../duration.ts";
import { nearestName } from "../../nearest-name.ts";
import type { Access, Plan } from "./access.ts";
import { compareFirmware, type FirmwareChange, sameProgram } from "./firmware-change.ts";
import {
  type FirmwareDrivers,
  type FirmwareItem,
  type FirmwareRequest,
  type FirmwareSend,
  unreadFirmwareOf,
} from "./firmware-driver.ts";
import { compareVersions } from "./firmware-version.ts";
import { endError, followTask, saidBy, TASK_PAUSE_MS, whileRestarting } from "./follow-task.ts";
import { once, uncertainty, unverified } from "./read-back.ts";
import type { OperationTask, StartedTask } from "./task-port.ts";
import { incompleteList } from "./unread.ts";

/** How long an update may take. */
export interface UpdateLimits {
  /** The time for upload and task together, in milliseconds. */
  readonly updateMs: number;
  /** The time from the end of the task until the inventory shows the version, including a restart of the BMC, in milliseconds. */
  readonly verifyMs: number;
}

/** The stage of an update: sent to the BMC, or ended according to its task. */
export type UpdateStage = "sent" | "ended";

/** Result of an update. */
export interface FirmwareReport {
  /** The targets, or the whole inventory, before. */
  readonly before: readonly FirmwareItem[];
  /** The targets, or the whole inventory, as read back. If `pending`, they may differ after the next boot. */
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
  access: FirmwareAccess,
  request: FirmwareRequest,
  signal: AbortSignal,
): Promise<Plan<readonly FirmwareItem[]>> {
  const { before, steps } = await prepare(access, request, signal);
  return { before, steps };
}

async function prepare({ read }: FirmwareAccess, request: FirmwareRequest, signal: AbortSignal) {
  const all = await read(({ firmware }) => firmware.list(signal));
  const before = chosen(all, request.targets).filter(isRead);
  const send: FirmwareSend = { ...request, targets: request.targets.length === 0 ? [] : before };
  if (isThere(before, request)) return { all, before, send, steps: [] };
  checkUpdate(before, request);
  return { all, before, send, steps: [await read(({ firmware }) => firmware.plan(send, signal))] };
}

export async function updateFirmware(
  access: FirmwareAccess,
  { request, limits, onStage }: Update,
  signal: AbortSignal,
): Promise<FirmwareReport> {
  const { all, before, send, steps } = await prepare(access, request, signal);
  if (steps.length === 0) {
    return {
      before,
      after: before,
      pending: false,
      changed: false,
      summary: `already ${describeFirmware(before)}`,
    };
  }
  const { clock, start, progress } = access;
  const endsMs = clock.monotonicMs() + limits.updateMs;
  progress("sending the firmware update", limits.updateMs);
  let isKept = false;
  let started: StartedTask | undefined;
  const lost = await uncertainty(async () => {
    started = await start(({ firmware }) =>
      once(async () => {
        isKept = await firmware.send(send, limits.updateMs, signal);
      }),
    );
  });
  if (lost && ANSWERED.includes(lost.class)) throw notSentAgain(lost);
  onStage("sent");
  const limit = { what: "update", signal, endsMs, limitMs: limits.updateMs };
  const end = started && (await followTask(access, { ...limit, started }));
  onStage("ended");
  if (end?.state === "failed") throw endError("the update", end, started?.name ?? "");
  const isStaged = end?.state === "staged" || (!lost && (isKept || request.applyTime === "on-reset"));
  const isDone = end?.state === "done";
  const goal = { all, before, request, staged: isStaged, isDone, lost, said: saidAtEnd(end) };
  return verifyUpdate(access, goal, limits.verifyMs, signal);
}

/** The message of a task whose end proves nothing, for the error of a failed verification. */
function saidAtEnd(end: OperationTask | undefined): string {
  return end?.state === "unknown" ? `; the end of its task is unknown: ${saidBy(end)}` : "";
}

function notSentAgain(lost: BmcError): BmcError {
  const message = `${lost.message}; the update may have been started and is not sent again`;
  return new BmcError(lost.class, message, {
    cause: lost,
    ...defined({ retryAfterMs: lost.retryAfterMs }),
    uncertain: true,
  });
}

/** The classes of errors that show that the BMC has answered: it was busy, refused the request or denied it. */
const ANSWERED: readonly ErrorClass[] = ["auth", "busy", "unsupported", "verify"];

/** The targets in the order asked for, or all. Throws `usage` for an ID that the BMC does not have. */
function chosen(items: readonly FirmwareItem[], targets: readonly string[]): readonly FirmwareItem[] {
  if (targets.length === 0) return items;
  return targets.map((target) => {
    const found = items.find((item) => item.id === target && isRead(item));
    if (found) return found;
    const unread = unreadFirmwareOf(items);
    if (unread.length > 0) {
      throw incompleteList(`firmware ${target} is not in what can be read of the inventory`, unread);
    }
    const near = nearestName(
      target,
      items.map(({ id }) => id),
    );
    const hint = near === undefined ? "see list-firmware" : `did you mean ${near}?`;
    throw new BmcError("usage", `the BMC has no firmware ${target}; ${hint}`);
  });
}

const isRead = ({ unread }: FirmwareItem) => unread === undefined;

function isThere(items: readonly FirmwareItem[], { version }: FirmwareRequest): boolean {
  return version !== undefined && items.length > 0 && items.every((item) => isVersion(item, version));
}

const isVersion = ({ version, state }: FirmwareItem, asked: string) =>
  version !== undefined && state === undefined && compareVersions(version, asked) === 0;

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
  /** The whole inventory before. */
  readonly all: readonly FirmwareItem[];
  readonly before: readonly FirmwareItem[];
  readonly request: FirmwareRequest;
  readonly staged: boolean;
  /** Whether the update's task has succeeded. */
  readonly isDone: boolean;
  /** Set if the answer to the update was lost. */
  readonly lost: BmcError | undefined;
  /** What its task said, if that does not say whether it succeeded. */
  readonly said: string;
}

/** A reading of the inventory. */
interface Sight {
  /** The targets, or all; in place of a target that is gone, what replaced it. */
  readonly after: readonly FirmwareItem[];
  readonly change: FirmwareChange;
}

function sightOf({ all, before, request }: Goal, items: readonly FirmwareItem[]): Sight {
  const change = compareFirmware(all, items);
  if (request.targets.length === 0) return { after: items.filter(isRead), change };
  const after = before.flatMap((item) => {
    const { id } = item;
    const successor = change.gone.has(id)
      ? change.changed.find(({ from, to }) => (from === undefined || from.id === id) && to.id !== id)
      : undefined;
    return successor?.to ?? sameProgram(item, all, items) ?? [];
  });
  return { after, change };
}

/** The changes of the targets, or all. */
function changesIn({ after, change }: Sight, { targets }: FirmwareRequest): FirmwareChange["changed"] {
  if (targets.length === 0) return change.changed;
  return change.changed.filter(({ to }) => after.some(({ id }) => id === to.id));
}

/** Reads the inventory until it shows the update, unless the update waits for the next boot. */
async function verifyUpdate(
  { clock, look, sleep, progress }: FirmwareAccess,
  goal: Goal,
  verifyMs: number,
  signal: AbortSignal,
): Promise<FirmwareReport> {
  const { all, before, request, staged } = goal;
  const endsMs = clock.monotonicMs() + verifyMs;
  if (!staged) progress("waiting until the inventory shows the new version", verifyMs);
  let sight = sightOf(goal, all);
  for (;;) {
    const items = await whileRestarting({ what: "update", signal }, () =>
      look(({ firmware }) => firmware.list(signal)),
    );
    const silence = items instanceof BmcError ? items : undefined;
    if (!(items instanceof BmcError)) {
      sight = sightOf(goal, items);
      const { after } = sight;
      const changes = changesIn(sight, request);
      const isWhole = after.length >= before.length && isThere(after, request);
      // A new component alone proves nothing, because the earlier list may have lacked it.
      const isProven = changes.some(({ from }) => from !== undefined) || (goal.isDone && changes.length > 0);
      if (request.version === undefined ? isProven : isWhole) {
        const summary = `firmware updated: ${describeChanges(changes)}`;
        return { before, after, pending: false, changed: true, summary };
      }
      if (staged) {
        const { waiting } = sight.change;
        const what =
          waiting.length > 0 ? `to ${describeFirmware(waiting)}` : `of ${describeFirmware(before)}`;
        const summary = `firmware update ${what} accepted, in effect after the next boot`;
        return { before, after, pending: true, changed: true, summary };
      }
    }
    const leftMs = endsMs - clock.monotonicMs();
    if (leftMs <= 0) throw unverifiedUpdate(goal, sight, { verifyMs, silence });
    await sleep(Math.min(TASK_PAUSE_MS, leftMs));
  }
}

function unverifiedUpdate(
  { request, lost, said }: Goal,
  { after, change }: Sight,
  { verifyMs, silence }: { readonly verifyMs: number; readonly silence: BmcError | undefined },
): BmcError {
  const within = `within ${formatSeconds(verifyMs)}`;
  if (silence) {
    const message = `the BMC did not answer ${within} of the update: ${silence.message}${said}`;
    return new BmcError("timeout", message, { cause: silence, uncertain: true });
  }
  const asked = request.version ?? "another version";
  const { waiting } = change;
  const unused =
    waiting.length > 0 ? `; it does not use ${describeFirmware(waiting)} (${states(waiting)})` : "";
  const has = `${within} of the update, the BMC has ${describeFirmware(after)} instead of ${asked}${unused}${said}`;
  return unverified(has, lost && notSentAgain(lost));
}

const states = (items: readonly FirmwareItem[]) =>
  [...new Set(items.flatMap(({ state }) => state ?? []))].join(", ");

/** The most components to name for people. */
const MOST_NAMED = 4;

/** For people: `BMC 1.2.3, BIOS 2.19.1, and 3 more`. */
export function describeFirmware(items: readonly FirmwareItem[]): string {
  if (items.length === 0) return "no firmware";
  return shortList(items.map(({ id, version = "unknown" }) => `${id} ${version}`));
}

function describeChanges(changes: FirmwareChange["changed"]): string {
  return shortList(
    changes.map(({ from, to: { id, version = "unknown" } }) => {
      const old = from?.version ?? "unknown";
      if (!from) return `${id} ${version} is new`;
      return from.id === id ? `${id} ${old} to ${version}` : `${from.id} ${old} to ${id} ${version}`;
    }),
  );
}

function shortList(texts: readonly string[]): string {
  const rest = texts.length - MOST_NAMED;
  return `${texts.slice(0, MOST_NAMED).join(", ")}${rest > 0 ? `, and ${rest} more` : ""}`;
}

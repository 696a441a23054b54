import { BmcError } from "../../contract/bmc-error.ts";
import { count } from "../../count.ts";
import { formatSeconds } from "../../duration.ts";
import { neverAborted } from "../../never-aborted.ts";
import { type Access, defineOperations, type Plan, type Run } from "./access.ts";
import { ok } from "./finding.ts";
import { endError, followTask, TASK_PAUSE_MS, whileRestarting } from "./follow-task.ts";
import {
  findVolumes,
  isCreated,
  isSameVolume,
  type NewVolume,
  planVolumes,
  type RaidController,
  type RaidVolume,
  type WantedVolume,
} from "./raid-plan.ts";
import { once, uncertainty } from "./read-back.ts";
import type { StartedTask } from "./task-port.ts";
import { describeUnread } from "./unread.ts";

/** When a change of volumes takes effect: at the next boot, or at once where the BMC offers it. */
export type RaidApplyTime = "on-reset" | "immediate";

/** One change of one volume. */
export type RaidChange =
  | { readonly kind: "create"; readonly controller: string; readonly volume: NewVolume }
  | { readonly kind: "delete"; readonly volume: RaidVolume };

export interface RaidDriver {
  /** All controllers that have volumes. Throws `unsupported` if there is none. */
  read(signal: AbortSignal): Promise<readonly RaidController[]>;
  /** The path of a task that will change volumes of this controller, if the BMC reports one. */
  pending(controller: string, signal: AbortSignal): Promise<string | undefined>;
  /** What `send` would send, in one line for people. */
  plan(change: RaidChange, time: RaidApplyTime | undefined, signal: AbortSignal): Promise<string>;
  /**
   * Resolves when the BMC accepted it. Throws `state` if the drives are no longer free, or the volume is no longer the same.
   */
  send(change: RaidChange, time: RaidApplyTime | undefined, signal: AbortSignal): Promise<void>;
}

/** Volumes to create. */
export interface RaidRequest {
  /** In the order of their creation. */
  readonly volumes: readonly WantedVolume[];
  /** The ID of the controller; needed if the machine has several. */
  readonly controller?: string;
  /** Without it, the BMC decides. */
  readonly applyTime?: RaidApplyTime;
}

/** Volumes to delete. */
export interface RaidClearRequest {
  /** Their names or IDs. */
  readonly volumes: readonly string[];
  /** The ID of their controller; without it, all are searched. */
  readonly controller?: string;
  /** Without it, the BMC decides. */
  readonly applyTime?: RaidApplyTime;
}

/** How long a change of volumes may take. */
export interface RaidLimits {
  /** The time for all requests and their tasks together, in milliseconds. */
  readonly changeMs: number;
  /** The time from the end of each task until the volumes show the change, including a restart of the BMC, in milliseconds. */
  readonly verifyMs: number;
}

/** Result of a change of volumes. */
export interface RaidReport {
  /** The volumes of all controllers before. */
  readonly before: readonly RaidVolume[];
  /** The volumes of all controllers as read back. If `pending`, they may differ after the next boot. */
  readonly after: readonly RaidVolume[];
  /** Whether the BMC keeps a change for the next boot. */
  readonly pending: boolean;
  /** Whether anything was sent. */
  readonly changed: boolean;
  /** How it went, in one line for people. */
  readonly summary: string;
}

type RaidDrivers = { readonly raid: RaidDriver };
type RaidAccess = Access<RaidDrivers>;

export const raidOperations = defineOperations({
  title: "RAID volumes",
  methods: (run: Run<RaidDrivers>) => ({
    /**
     * Creates the volumes that do not exist yet, one after the other, follows the BMC's tasks and reads the volumes back. Deletes
     * nothing. Throws `state` with all problems before anything is sent. `onSent` is called after each
     * request that the BMC accepted, or may have carried out.
     */
    setRaid: (
      request: RaidRequest,
      limits: RaidLimits,
      signal: AbortSignal = neverAborted(),
      onSent: () => void = () => undefined,
    ): Promise<RaidReport> =>
      run(signal, async (access) => {
        const { before, changes } = await prepareCreation(access, request, signal);
        const names = request.volumes.map(({ name, level }) => `${name} (${level})`).join(", ");
        const changed = await changeVolumes(access, { before, changes, request, limits, onSent }, signal);
        return { ...changed, summary: summaryOf(changed, names, "created", "exist") };
      }),

    /** What `setRaid` would send. */
    planRaid: (
      request: RaidRequest,
      signal: AbortSignal = neverAborted(),
    ): Promise<Plan<readonly RaidVolume[]>> =>
      run(signal, async (access) =>
        plan(access, await prepareCreation(access, request, signal), request, signal),
      ),

    /** Deletes the named volumes with their data, one after the other, and reads the volumes back. */
    clearRaid: (
      request: RaidClearRequest,
      limits: RaidLimits,
      signal: AbortSignal = neverAborted(),
      onSent: () => void = () => undefined,
    ): Promise<RaidReport> =>
      run(signal, async (access) => {
        const { before, changes } = await prepareDeletion(access, request, signal);
        const changed = await changeVolumes(access, { before, changes, request, limits, onSent }, signal);
        return { ...changed, summary: summaryOf(changed, request.volumes.join(", "), "deleted", "absent") };
      }),

    /** What `clearRaid` would send. */
    planRaidClear: (
      request: RaidClearRequest,
      signal: AbortSignal = neverAborted(),
    ): Promise<Plan<readonly RaidVolume[]>> =>
      run(signal, async (access) =>
        plan(access, await prepareDeletion(access, request, signal), request, signal),
      ),
  }),
  check: async (access, signal) => {
    const controllers = await access.read(({ raid }) => raid.read(signal));
    const drives = controllers.flatMap((controller) => controller.drives);
    const unread = controllers.flatMap(({ id, unread }) => (unread ? [{ name: id, reason: unread }] : []));
    const gaps = describeUnread(unread, "controller");
    return ok(
      `${count(drives.length, "drive", "drives")}, ${describeVolumes(volumesOf(controllers))}${gaps}`,
    );
  },
});

interface Prepared {
  readonly before: readonly RaidController[];
  readonly changes: readonly RaidChange[];
}

async function prepareCreation(
  access: RaidAccess,
  { volumes, controller: asked }: RaidRequest,
  signal: AbortSignal,
): Promise<Prepared> {
  const before = await access.read(({ raid }) => raid.read(signal));
  const { controller, create } = planVolumes(before, volumes, asked);
  const changes = create.map((volume) => ({ kind: "create", controller: controller.id, volume }) as const);
  return await withoutPending(access, { before, changes }, signal);
}

async function prepareDeletion(
  access: RaidAccess,
  { volumes, controller }: RaidClearRequest,
  signal: AbortSignal,
): Promise<Prepared> {
  const before = await access.read(({ raid }) => raid.read(signal));
  const found = findVolumes(before, volumes, controller);
  const changes = found.map((volume) => ({ kind: "delete", volume }) as const);
  return await withoutPending(access, { before, changes }, signal);
}

/** Throws if a change is already waiting for the next boot, so that it is not sent twice. */
async function withoutPending(
  { read }: RaidAccess,
  prepared: Prepared,
  signal: AbortSignal,
): Promise<Prepared> {
  for (const id of new Set(prepared.changes.map(controllerOf))) {
    const task = await read(({ raid }) => raid.pending(id, signal));
    if (task === undefined) continue;
    const message = `a change of the volumes of ${id} is in progress or waits for the next boot (${task})`;
    throw new BmcError("state", message);
  }
  return prepared;
}

const controllerOf = (change: RaidChange) =>
  change.kind === "create" ? change.controller : change.volume.controller;

async function plan(
  { read }: RaidAccess,
  { before, changes }: Prepared,
  { applyTime }: { readonly applyTime?: RaidApplyTime },
  signal: AbortSignal,
): Promise<Plan<readonly RaidVolume[]>> {
  const steps: string[] = [];
  for (const change of changes) steps.push(await read(({ raid }) => raid.plan(change, applyTime, signal)));
  return { before: volumesOf(before), steps };
}

interface Work extends Prepared {
  readonly request: { readonly applyTime?: RaidApplyTime };
  readonly limits: RaidLimits;
  readonly onSent: () => void;
}

async function changeVolumes(access: RaidAccess, work: Work, signal: AbortSignal) {
  const before = volumesOf(work.before);
  let after = before;
  let pending = false;
  const endsMs = access.clock.monotonicMs() + work.limits.changeMs;
  for (const change of work.changes) {
    const result = await changeVolume(access, { ...work, change, endsMs }, signal);
    after = result.after;
    pending ||= result.pending;
  }
  return { before, after, pending, changed: work.changes.length > 0 };
}

interface Step extends Work {
  readonly change: RaidChange;
  readonly endsMs: number;
}

async function changeVolume(
  access: RaidAccess,
  { change, request, limits, endsMs, onSent }: Step,
  signal: AbortSignal,
): Promise<{ readonly after: readonly RaidVolume[]; readonly pending: boolean }> {
  const { clock, start, progress } = access;
  const what = describeChange(change);
  progress(`sending: ${what}`, Math.max(0, endsMs - clock.monotonicMs()));
  let started: StartedTask | undefined;
  const lost = await uncertainty(async () => {
    started = await start(({ raid }) => once(() => raid.send(change, request.applyTime, signal)));
  });
  onSent();
  const limit = { what, signal, endsMs, limitMs: limits.changeMs };
  const end = started && (await followTask(access, { ...limit, started }));
  const name = started?.name ?? "";
  if (end?.state === "failed") throw endError(what, end, name);
  const open = end?.state === "unknown" ? endError(what, end, name) : undefined;
  const goal = {
    change,
    what,
    staged: end?.state === "staged",
    lost: lost ?? open,
    verifyMs: limits.verifyMs,
  };
  return await verify(access, goal, signal);
}

interface Goal {
  readonly change: RaidChange;
  readonly what: string;
  readonly staged: boolean;
  /** Set if the request's answer was lost, or if the end of its task is unknown. */
  readonly lost: BmcError | undefined;
  readonly verifyMs: number;
}

/** Reads the volumes until they show the change, unless it waits for the next boot. */
async function verify(
  { clock, look, sleep, progress }: RaidAccess,
  { change, what, staged, lost, verifyMs }: Goal,
  signal: AbortSignal,
) {
  const endsMs = clock.monotonicMs() + verifyMs;
  if (!staged) progress(`reading back: ${what}`, verifyMs);
  for (;;) {
    const found = await whileRestarting({ what: "change", signal }, () =>
      look(({ raid }) => raid.read(signal)),
    );
    const silence = found instanceof BmcError ? found : undefined;
    const after = found instanceof BmcError ? [] : volumesOf(found);
    const isHidden = !(found instanceof BmcError) && found.some(({ unread }) => unread !== undefined);
    if (!silence && isDone(after, change) && !(isHidden && change.kind === "delete"))
      return { after, pending: false };
    if (!silence && staged) return { after, pending: true };
    const leftMs = endsMs - clock.monotonicMs();
    if (leftMs <= 0) {
      const within = `within ${formatSeconds(verifyMs)}`;
      const has = silence
        ? `the BMC did not answer ${within}: ${silence.message}`
        : `${within}, the BMC has ${describeVolumes(after)}`;
      if (lost) {
        const message = `${lost.message}; ${what} may have been started and is not sent again; ${has}`;
        throw new BmcError(lost.class, message, { cause: lost, uncertain: true });
      }
      const message = `${what} is not confirmed: ${has}`;
      throw new BmcError(silence ? "timeout" : "verify", message, silence && { uncertain: true });
    }
    await sleep(Math.min(TASK_PAUSE_MS, leftMs));
  }
}

function isDone(after: readonly RaidVolume[], change: RaidChange): boolean {
  if (change.kind === "delete") return !after.some((volume) => isSameVolume(volume, change.volume));
  return after.some((volume) => volume.controller === change.controller && isCreated(volume, change.volume));
}

function describeChange(change: RaidChange): string {
  if (change.kind === "delete")
    return `deletion of volume ${(change.volume.displayName ?? change.volume.name) || change.volume.id}`;
  const { name, level, drives } = change.volume;
  return `creation of volume ${name} (${level} of ${drives.join(", ")})`;
}

const volumesOf = (controllers: readonly RaidController[]): readonly RaidVolume[] =>
  controllers.flatMap((controller) => controller.volumes);

function summaryOf(
  { changed, pending }: Pick<RaidReport, "changed" | "pending">,
  names: string,
  verb: string,
  state: string,
): string {
  if (!changed) return `already ${state}: ${names}`;
  return pending ? `accepted: ${names} ${verb} at the next boot` : `${verb}: ${names}`;
}

/** The most volumes to name for people. */
const MOST_NAMED = 4;

/** For people: `2 volumes (os RAID1, data RAID5)`. */
export function describeVolumes(volumes: readonly RaidVolume[]): string {
  if (volumes.length === 0) return "no volumes";
  const names = volumes
    .slice(0, MOST_NAMED)
    .map(({ name, displayName, id, level = "" }) => `${(displayName ?? name) || id} ${level}`.trim());
  const more = volumes.length > MOST_NAMED ? ", …" : "";
  return `${count(volumes.length, "volume", "volumes")} (${names.join(", ")}${more})`;
}

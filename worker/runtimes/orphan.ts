import type { ActionResult } from "../../shared/contract/result.ts";
import { type BootTime, msBetween, parseBootTime } from "../core/action/boot-time.ts";
import type { Need } from "../core/ports/runtime.ts";

/** An action of another worker counts as abandoned this long after its deadline. */
const ABANDONED_AFTER_MS = 60 * 60_000;
/**
 * An ended action counts as abandoned after this time. Until it is reported, it may be the only record of its end, and an
 * outage may last for days.
 */
const ENDED_AFTER_MS = 7 * 24 * 60 * 60_000;

/** Identifies everything that a worker launches: labels of containers and Jobs, variables of processes. */
export interface OwnerLabels {
  /** The ID of the state directory of the worker that launched it, if it has one. */
  readonly state?: string | undefined;
  /** Identifies the process of that worker, if it has an ID. */
  readonly instance?: string | undefined;
  readonly key?: string | undefined;
  readonly deadline?: string | undefined;
  /** The deadline as a boot time (`bootTimeText`), if known. */
  readonly deadlineBootTime?: string | undefined;
}

/** Reads the labels of a container, Job or process by their names there. */
export function ownerLabels(
  values: Readonly<Record<string, string | undefined>>,
  names: Readonly<Partial<Record<keyof OwnerLabels, string>>>,
): OwnerLabels {
  const read = (label: keyof OwnerLabels) => {
    const name = names[label];
    return name === undefined ? undefined : values[name];
  };
  return {
    state: read("state"),
    instance: read("instance"),
    key: read("key"),
    deadline: read("deadline"),
    deadlineBootTime: read("deadlineBootTime"),
  };
}

export function isUnneeded(need: Need, hasEnded: boolean): boolean {
  return need === false || need === "settled" || (need === "once-ended" && !hasEnded);
}

export interface SweepOptions {
  /** Absent for a worker without state, which owns nothing from earlier runs. */
  readonly state?: string | undefined;
  /** ID of this process, which still needs everything that it has launched. */
  readonly instance?: string | undefined;
  /**
   * Whether an action runs or will be adopted. Called after the listing, so that it covers everything that was launched
   * before.
   */
  readonly keep: (key: string) => Need;
  readonly nowMs: number;
  readonly bootTime?: BootTime | undefined;
}

/**
 * Whether no worker will adopt the object with these labels: it belongs to this state directory and is not needed, or it
 * belongs to another worker and is long overdue. Without complete labels it is never an orphan. The wall clock may be set
 * while an action runs, so it counts only for launches before the last boot.
 */
export function isOrphan(
  { state, instance, key, deadline, deadlineBootTime }: OwnerLabels,
  options: SweepOptions,
  hasEnded = false,
): boolean {
  if (instance !== undefined && instance === options.instance) return false;
  const deadlineMs = Date.parse(deadline ?? "");
  if (key === undefined || Number.isNaN(deadlineMs)) return false;
  const isOwn = state !== undefined && state === options.state;
  const need = isOwn ? options.keep(key) : "until-overdue";
  if (need !== "until-overdue") return isUnneeded(need, hasEnded);
  const overMs = msBetween(parseBootTime(deadlineBootTime), options.bootTime);
  const afterMs = hasEnded ? ENDED_AFTER_MS : ABANDONED_AFTER_MS;
  return (overMs ?? options.nowMs - deadlineMs) > afterMs;
}

/**
 * Whether the worker died while it wrote the connection. The action had to wait for all of it, found it incomplete, and sent
 * nothing to a BMC.
 */
export function inputTruncated(connected: boolean, result: ActionResult | undefined): boolean {
  return connected && result?.class === "usage" && result.roundTrips === 0;
}

import type { Finding } from "./records.ts";

/** One worker while nothing is to be done. */
export interface Reading {
  readonly at: number;
  /** Whether the process is the one of the reading before; a new one has nothing to be compared with. */
  readonly pid: number;
  /** Actions that all workers had ended by then. */
  readonly actions: number;
  readonly heldBytes: number;
  readonly residentBytes: number;
  /** What its file descriptors are: `socket`, `pipe` or a path. */
  readonly descriptors: readonly string[];
}

export interface Growth {
  readonly worker: string;
  readonly minutes: number;
  readonly actions: number;
  readonly heldBytes: number;
  readonly residentBytes: number;
  readonly descriptors: number;
}

/** What is compiled and cached once, whenever it is needed first. */
const ONCE_BYTES = 6 * 1_024 * 1_024;
/** The journal remembers each action that ended for some minutes. */
const REMEMBERED_BYTES = 4 * 1_024;
/** Node gives memory back to the system when it likes, so what it has is a weak sign. */
const RESIDENT_ONCE_BYTES = 96 * 1_024 * 1_024;
/** Connections of a pool that were not needed before, or that are closing beside those that replace them. */
const DESCRIPTORS_ONCE = 8;

/** From the first reading after the warm-up to the last, where both are of one process; undefined where there are none. */
export function growthOf(worker: string, readings: readonly Reading[]): Growth | undefined {
  const last = readings.at(-1);
  const first = readings.find(({ pid }) => pid === last?.pid);
  if (!first || !last || first === last) return undefined;
  return {
    worker,
    minutes: (last.at - first.at) / 60_000,
    actions: last.actions - first.actions,
    heldBytes: last.heldBytes - first.heldBytes,
    residentBytes: last.residentBytes - first.residentBytes,
    descriptors: last.descriptors.length - first.descriptors.length,
  };
}

export function judgeGrowth(worker: string, readings: readonly Reading[]): readonly Finding[] {
  const growth = growthOf(worker, readings);
  if (!growth) return [];
  const findings: Finding[] = [];
  const since = `in ${growth.minutes.toFixed(1)} minutes and ${growth.actions} actions`;
  const grown = (bytes: number) => `${(bytes / 1_048_576).toFixed(1)} MiB more ${since}`;
  if (growth.heldBytes > ONCE_BYTES + REMEMBERED_BYTES * growth.actions) {
    findings.push({ rule: "memory does not grow", text: `${worker} holds ${grown(growth.heldBytes)}` });
  }
  if (growth.residentBytes > RESIDENT_ONCE_BYTES + REMEMBERED_BYTES * growth.actions) {
    findings.push({
      rule: "memory does not grow",
      text: `${worker} has ${grown(growth.residentBytes)} resident`,
    });
  }
  if (growth.descriptors > DESCRIPTORS_ONCE) {
    const open = readings.at(-1)?.descriptors ?? [];
    const counts = Object.entries(Object.groupBy(open, (what) => what)).map(
      ([what, all]) => `${all?.length} ${what}`,
    );
    const text = `${worker} has ${growth.descriptors} file descriptors more ${since}: ${counts.join(", ")}`;
    findings.push({ rule: "no file descriptor is left open", text });
  }
  return findings;
}

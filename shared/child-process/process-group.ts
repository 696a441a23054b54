import { type Clock, systemClock } from "../clock.ts";

const POLL_MS = 20;
/** A process that SIGKILL has not ended by then hangs in the kernel, or is a zombie whose parent does not reap it. */
const KILL_WAIT_MS = 2_000;

/** Sends a signal to every process of a group. False when the group has none left that could take it. */
export function signalGroup(groupId: number, signal: NodeJS.Signals): boolean {
  try {
    return process.kill(-groupId, signal);
  } catch {
    return false;
  }
}

/**
 * Ends a process group: SIGTERM, up to `graceMs` for its leader to clean up, then SIGKILL for all that is
 * left: after its leader, the rest has nothing to clean up.
 */
export async function endGroup(
  groupId: number,
  graceMs: number,
  leaderExited: Promise<unknown>,
  clock: Clock = systemClock,
): Promise<void> {
  if (!signalGroup(groupId, "SIGTERM")) return;
  const grace = new AbortController();
  await Promise.race([clock.sleep(graceMs, grace.signal).catch(() => undefined), leaderExited]);
  grace.abort();
  await killGroup(groupId, clock);
}

/** Kills what is left of a group and waits until it is gone. */
export async function killGroup(groupId: number, clock: Clock = systemClock): Promise<void> {
  const until = clock.monotonicMs() + KILL_WAIT_MS;
  while (signalGroup(groupId, "SIGKILL") && clock.monotonicMs() < until) await clock.sleep(POLL_MS);
}

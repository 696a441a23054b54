import { type Clock, systemClock } from "../clock.ts";

const POLL_MS = 20;
/** A process that has not ended this long after SIGKILL hangs in the kernel, or is a zombie whose parent does not reap it. */
const KILL_WAIT_MS = 2_000;

/** Sends a signal to every process of a group. Returns false if the group has no process left that could receive it. */
export function signalGroup(groupId: number, signal: NodeJS.Signals): boolean {
  try {
    return process.kill(-groupId, signal);
  } catch {
    return false;
  }
}

/**
 * Ends a process group: SIGTERM, up to `graceMs` for its leader to clean up, then SIGKILL for all others, which have nothing
 * to clean up once the leader has ended.
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

/** Kills all remaining processes of a group and waits until they are gone. */
export async function killGroup(groupId: number, clock: Clock = systemClock): Promise<void> {
  const until = clock.monotonicMs() + KILL_WAIT_MS;
  while (signalGroup(groupId, "SIGKILL") && clock.monotonicMs() < until) await clock.sleep(POLL_MS);
}

import type { Clock } from "../../../../shared/clock.ts";
import { defined } from "../../../../shared/defined.ts";
import type { BoardHistory } from "./board-history.ts";
import type { MachineRecord, PowerReading } from "./machine-record.ts";
import { type ActionRecord, identityOf } from "./shown-action.ts";

type KeptAction = BoardHistory["actions"][number];
type KeptMachine = BoardHistory["machines"][number];
type KeptPower = Omit<PowerReading, "sinceMs">;

/** The wall clock's time of a moment on the monotonic clock. */
function wallTime(clock: Clock, sinceMs: number): Date {
  return new Date(clock.now() - clock.monotonicMs() + sinceMs);
}

/** The other way round; never in the future. */
function sinceOf(clock: Clock, at: Date): number {
  return clock.monotonicMs() - Math.max(0, clock.now() - at.getTime());
}

/** An ended action, for the history. */
export function keptAction({ revision: _, sinceMs, ...record }: ActionRecord, clock: Clock): KeptAction {
  return {
    ...record,
    retriesMs: record.retriesMs && [...record.retriesMs],
    phase: record.phase === "succeeded" ? "succeeded" : "failed",
    endedAt: wallTime(clock, sinceMs),
  };
}

export function restoredAction(
  { action, machine, endedAt, ...record }: KeptAction,
  clock: Clock,
): Omit<ActionRecord, "revision"> {
  return { ...defined(record), ...identityOf(action, machine), sinceMs: sinceOf(clock, endedAt) };
}

export function keptMachine({
  name,
  last,
  power,
  powerChanges,
  failures,
  known,
  provider,
}: MachineRecord): KeptMachine {
  const reading = ({ state, at, by }: PowerReading) => ({ state, at, by });
  return {
    name,
    ...defined({ last, known, provider, power: power && reading(power) }),
    powerChanges: powerChanges.map(reading),
    failures: failures.map(({ sinceMs: _, ...failure }) => failure),
  };
}

/** `isKept` says whether an action is still kept. */
export function restoredMachine(
  { last, power, powerChanges, failures, known, provider }: KeptMachine,
  clock: Clock,
  isKept: (key: string) => boolean,
): Partial<MachineRecord> {
  const reading = (kept: KeptPower) => ({ ...kept, sinceMs: sinceOf(clock, kept.at) });
  return {
    ...(last !== undefined && isKept(last) && { last }),
    ...defined({ known, provider, power: power && reading(power) }),
    powerChanges: powerChanges.map(reading),
    failures: failures.map((failure) => ({ ...defined(failure), sinceMs: sinceOf(clock, failure.at) })),
  };
}

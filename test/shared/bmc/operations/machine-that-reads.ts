import type { PowerCommand } from "../../../../shared/bmc/operations/power.ts";
import { isFinal } from "../../../../shared/bmc/operations/read-back.ts";
import type { BmcError } from "../../../../shared/contract/bmc-error.ts";
import type { PowerState } from "../../../../shared/contract/vocabulary.ts";

/** A machine that returns these readings in turn, and repeats the last one. Its clock only advances in waits. */
export function machineThatReads(
  readings: readonly (PowerState | BmcError)[],
  answers: Partial<Record<PowerCommand, readonly (BmcError | undefined)[]>> = {},
  plans: Partial<Record<PowerCommand, BmcError>> = {},
) {
  const left = [...readings];
  const sent: PowerCommand[] = [];
  const waits: string[] = [];
  let nowMs = 1_000;
  let reads = 0;
  let hasChanged = false;
  const sleep = async (ms: number) => {
    nowMs += ms;
  };
  const look = async (): Promise<PowerState | BmcError> => {
    reads += 1;
    const reading = (left.length > 1 ? left.shift() : left[0]) ?? "unknown";
    if (typeof reading !== "string" && isFinal(reading)) throw reading;
    return reading;
  };
  return {
    clock: { now: () => nowMs, monotonicMs: () => nowMs, sleep },
    sleep,
    progress: (message: string) => void waits.push(message),
    /** What it was reported to be waiting for. */
    waits,
    sent,
    left,
    /** So long after the beginning. */
    tookMs: () => nowMs - 1_000,
    /** How often it was read. */
    reads: () => reads,
    async read(): Promise<PowerState> {
      const reading = await look();
      if (typeof reading !== "string") throw reading;
      return reading;
    },
    look,
    stateName: () => undefined,
    hasChanged: () => hasChanged,
    async plan(name: PowerCommand): Promise<string> {
      const error = plans[name];
      if (error) throw error;
      return name;
    },
    async send(name: PowerCommand): Promise<void> {
      const error = answers[name]?.[sent.filter((each) => each === name).length];
      sent.push(name);
      hasChanged ||= error === undefined || error.uncertain;
      if (error) throw error;
    },
  };
}

import { systemClock } from "../../shared/clock.ts";
import { BmcError } from "../../shared/contract/bmc-error.ts";
import { UncaughtErrors } from "../../shared/uncaught-errors.ts";
import { ActionSlots, MachineLocks } from "../../worker/core/queue/action-queue.ts";
import { StartLimits } from "../../worker/core/queue/start-limits.ts";
import type { Inventory, Machine } from "../../worker/machines/inventory.ts";
import { pauseNote } from "../../worker/machines/pause.ts";
import { SecretCommands } from "../../worker/machines/secret-commands.ts";
import { startLimitsOf } from "../../worker/machines/start-limits-of.ts";
import { type CheckOptions, checkMachine, failedMachine, type MachineDrift } from "./check-machine.ts";

export interface CheckMachinesOptions extends Omit<CheckOptions, "limited"> {
  readonly concurrency: number;
  /** Called for each machine as it answers. */
  readonly onResult: (result: MachineDrift) => Promise<void>;
}

/** Compares machines with their desired states, many at the same time but one at a time per BMC. A failure is also a result. */
export async function checkMachines(
  machines: readonly Machine[],
  inventory: Inventory,
  { concurrency, onResult, ...options }: CheckMachinesOptions,
  signal: AbortSignal,
): Promise<readonly MachineDrift[]> {
  const slots = new ActionSlots(concurrency);
  const locks = new MachineLocks();
  const limits = new StartLimits(systemClock);
  const rules = inventory.limits?.() ?? [];
  const commands = new SecretCommands();
  const uncaughtErrors = new UncaughtErrors();
  const check = async (machine: Machine): Promise<MachineDrift> => {
    if (machine.paused) {
      const error = new BmcError("state", pauseNote(machine.paused));
      return { ...failedMachine(machine.name, error), paused: true };
    }
    const held: (() => void)[] = [];
    options.lines.note(machine.name, "waiting for its turn");
    try {
      // Two entries may have the same BMC.
      held.push(await locks.acquire(machine.lockKey, signal));
      held.push(await slots.acquire(signal));
      options.lines.show(machine.name, { text: "reading" });
      const connection = await inventory.resolveConnection(machine, { commands, signal });
      const desired = inventory.desiredState?.(machine.name) ?? {};
      const limited = (action: string, own: AbortSignal) => {
        const show = (limit: string) => options.lines.show(machine.name, { text: `waiting for ${limit}` });
        return limits.acquire(startLimitsOf(rules, machine.labels, action), own, show);
      };
      return await uncaughtErrors.isolate(
        (own) => checkMachine(machine.name, connection, desired, { ...options, limited }, own),
        signal,
      );
    } catch (thrown) {
      const error = signal.aborted ? BmcError.ofAbort(signal) : BmcError.from(thrown);
      return failedMachine(machine.name, error);
    } finally {
      for (const release of held) release();
      options.lines.end(machine.name);
    }
  };
  try {
    return await Promise.all(
      machines.map(async (machine) => {
        const result = await check(machine);
        await onResult(result);
        return result;
      }),
    );
  } finally {
    uncaughtErrors.close();
  }
}

import { UncaughtErrors } from "../../shared/uncaught-errors.ts";
import { ActionSlots } from "../core/queue/action-queue.ts";

export interface MapLimitedOptions<Item, Made> {
  readonly mostAtATime: number;
  /** The work for one item. Its signal also aborts when one of its errors is not handled. */
  readonly work: (item: Item, signal: AbortSignal) => Promise<Made>;
  /** Returns the result of an item whose work has thrown, immediately or later, for example in a timer. */
  readonly failed: (item: Item, thrown: unknown) => Made;
}

/**
 * Returns the results of `work` for all items, in their order, with a limited number in flight. Rejects only when the signal
 * aborts.
 */
export async function mapLimited<Item, Made>(
  items: readonly Item[],
  { mostAtATime, work, failed }: MapLimitedOptions<Item, Made>,
  signal: AbortSignal,
): Promise<readonly Made[]> {
  const slots = new ActionSlots(mostAtATime);
  const uncaughtErrors = new UncaughtErrors();
  const one = async (item: Item): Promise<Made> => {
    const release = await slots.acquire(signal);
    try {
      return await uncaughtErrors.isolate((own) => work(item, own), signal);
    } catch (thrown) {
      signal.throwIfAborted();
      return failed(item, thrown);
    } finally {
      release();
    }
  };
  try {
    return await Promise.all(items.map(one));
  } finally {
    uncaughtErrors.close();
  }
}

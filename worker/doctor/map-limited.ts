import { UncaughtErrors } from "../../shared/uncaught-errors.ts";
import { ActionSlots } from "../core/turns/turns.ts";

export interface MapLimitedOptions<Item, Made> {
  readonly mostAtATime: number;
  /** Its signal also aborts when an error escapes it. */
  readonly work: (item: Item, signal: AbortSignal) => Promise<Made>;
  /** The result of an item whose work has thrown something, at once or later, such as in a timer. */
  readonly failed: (item: Item, thrown: unknown) => Made;
}

/** The results of `work` for all items, in their order, with a limited number in flight. Rejects only when the signal aborts. */
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

import { ActionSlots } from "../turns/action-slots.ts";

/** What `work` makes of each item, so many at a time, in the items' order. Rejects when the signal aborts. */
export async function eachOf<Item, Made>(
  items: readonly Item[],
  mostAtATime: number,
  work: (item: Item) => Promise<Made>,
  signal: AbortSignal,
): Promise<readonly Made[]> {
  const slots = new ActionSlots(mostAtATime);
  return Promise.all(
    items.map(async (item) => {
      const release = await slots.acquire(signal);
      try {
        return await work(item);
      } finally {
        release();
      }
    }),
  );
}

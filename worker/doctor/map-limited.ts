import { ActionSlots } from "../turns/action-slots.ts";

/** The results of `work` for all items, in their order, with a limited number in flight. Rejects when the signal aborts. */
export async function mapLimited<Item, Made>(
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

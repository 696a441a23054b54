import type { FirmwareItem } from "./firmware-driver.ts";

/** The effect of an update on the inventory. BMCs that name an image by its hash list the new one as another member. */
export interface FirmwareChange {
  /** The item in use before, if known, and the item in use now. */
  readonly changed: readonly { readonly from?: FirmwareItem; readonly to: FirmwareItem }[];
  /** The IDs of items that are gone or no longer in use. */
  readonly gone: ReadonlySet<string>;
  /** New images that are not in use. */
  readonly waiting: readonly FirmwareItem[];
}

/** Compares the inventories before and after an update. */
export function compareFirmware(
  before: readonly FirmwareItem[],
  after: readonly FirmwareItem[],
): FirmwareChange {
  const [old, now] = [before.filter(isInUse), after.filter(isInUse)];
  // An item missing from an incomplete list is not gone, and not new when it appears again.
  const isGap = ({ unread }: FirmwareItem) => unread !== undefined;
  const gone = after.some(isGap) ? [] : old.filter(({ id }) => !now.some((item) => item.id === id));
  const come = before.some(isGap) ? [] : now.filter(({ id }) => !old.some((item) => item.id === id));
  const updated = now.flatMap((to) => {
    const from = sameProgram(to, now, old);
    return from && to.version !== undefined && to.version !== from.version ? [{ from, to }] : [];
  });
  const replaced = come.map((to) => {
    const from = predecessor(to, gone, come);
    return from ? { from, to } : { to };
  });
  return {
    changed: [...updated, ...replaced],
    gone: new Set(gone.map(({ id }) => id)),
    waiting: after.filter((item) => item.state !== undefined && !before.some(({ id }) => id === item.id)),
  };
}

/**
 * Finds the program of one reading of the inventory in another reading; undefined if that is not possible. BMCs reassign
 * numeric IDs: if another program has the ID, a name that occurs once in both readings decides.
 */
export function sameProgram(
  item: FirmwareItem,
  own: readonly FirmwareItem[],
  other: readonly FirmwareItem[],
): FirmwareItem | undefined {
  const there = other.find(({ id }) => id === item.id);
  if (!there || there.name === item.name) return there;
  const named = (items: readonly FirmwareItem[], wanted: string) =>
    items.filter((each) => isInUse(each) && each.name === wanted);
  const [found, ...others] = named(other, item.name);
  if (!found && named(own, there.name).length === 0) return there;
  return others.length === 0 && named(own, item.name).length === 1 ? found : undefined;
}

function isInUse({ state, unread }: FirmwareItem): boolean {
  return state === undefined && unread === undefined;
}

/** Returns the item that an image replaced: the only one, or the only one for the same part. */
function predecessor(
  to: FirmwareItem,
  gone: readonly FirmwareItem[],
  come: readonly FirmwareItem[],
): FirmwareItem | undefined {
  const [only, ...others] = gone;
  if (others.length === 0 && come.length === 1) return only;
  const isSamePart = (item: FirmwareItem) =>
    item.name === to.name && item.related.join() === to.related.join();
  const [from, ...more] = gone.filter(isSamePart);
  return more.length === 0 && come.filter(isSamePart).length === 1 ? from : undefined;
}

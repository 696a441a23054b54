/** No program writes more levels on purpose. `JSON.stringify` is recursive and overflows the stack at a few thousand. */
const MOST_LEVELS = 100;

/** Whether a value from `JSON.parse`, which is not recursive, has too many levels to be passed on. */
export function isTooDeep(value: unknown, levels = MOST_LEVELS): boolean {
  if (typeof value !== "object" || value === null) return false;
  return levels === 0 || Object.values(value).some((inner) => isTooDeep(inner, levels - 1));
}

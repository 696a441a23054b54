/** Keys that give one thing in different ways: a machine that uses one of them replaces all of the defaults'. */
const ONE_THING: readonly (readonly string[])[] = [
  ["username", "usernameFile", "usernameEnv"],
  ["passwordFile", "passwordEnv"],
  ["kgFile", "kgEnv"],
  ["providers", "rpc", "homeassistant"],
];

/**
 * A machine's entry over the defaults, as written in the file: maps merge key by key, everything else
 * replaces. What is no map is left for the schema to refuse.
 */
export function mergeDefaults(defaults: unknown, entry: unknown): unknown {
  if (!isMap(defaults) || !isMap(entry)) return entry === undefined || entry === null ? defaults : entry;
  const replaced = ONE_THING.filter((keys) => keys.some((key) => key in entry)).flat();
  const kept = Object.entries(defaults).filter(([key]) => !replaced.includes(key));
  const merged = Object.entries(entry).map(([key, value]) => [
    key,
    mergeDefaults(Object.hasOwn(defaults, key) ? defaults[key] : undefined, value),
  ]);
  return Object.fromEntries([...kept, ...merged]);
}

function isMap(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * Alternative keys for the same purpose, by the map that contains them (`""` is the entry itself). If an entry has one of
 * them, it replaces all of the defaults'. A key may be in two groups.
 */
const ONE_THING: Readonly<Record<string, readonly (readonly string[])[]>> = {
  "": [["providers", "rpc", "homeassistant", "ironic"]],
  credentials: [
    ["username", "usernameFile", "usernameEnv", "directory", "command"],
    ["passwordFile", "passwordEnv", "directory", "command"],
  ],
  ipmi: [["kgFile", "kgEnv"]],
  ipmitool: [["kgFile", "kgEnv"]],
};

/** Keys that are only valid together with another one. */
const BELONGS_TO: Readonly<Record<string, string>> = { timeout: "command", environment: "command" };

/**
 * Merges an entry over the defaults, both as written in the file. Maps are merged key by key; everything else is replaced.
 * The schema rejects anything that is not a map.
 */
export function mergeDefaults(defaults: unknown, entry: unknown, place = ""): unknown {
  if (!isMap(defaults) || !isMap(entry)) return entry === undefined || entry === null ? defaults : entry;
  const groups = ONE_THING[place] ?? [];
  const replaced = new Set(groups.filter((keys) => keys.some((key) => key in entry)).flat());
  const isKept = (key: string) =>
    !replaced.has(key) &&
    (place !== "credentials" || !replaced.has(BELONGS_TO[key] ?? "") || "command" in entry);
  const kept = Object.entries(defaults).filter(([key]) => isKept(key));
  const merged = Object.entries(entry).map(([key, value]) => [
    key,
    mergeDefaults(
      Object.hasOwn(defaults, key) ? defaults[key] : undefined,
      value,
      place === "" ? key : `${place}.${key}`,
    ),
  ]);
  return Object.fromEntries([...kept, ...merged]);
}

function isMap(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * Keys that give one thing in different ways, by the key of the map they stand in (the entry itself has none): an
 * entry that uses one of them replaces all of the defaults'. A key may be of two groups.
 */
const ONE_THING: Readonly<Record<string, readonly (readonly string[])[]>> = {
  "": [["providers", "rpc", "homeassistant"]],
  credentials: [
    ["username", "usernameFile", "usernameEnv", "directory", "command"],
    ["passwordFile", "passwordEnv", "directory", "command"],
  ],
  ipmi: [["kgFile", "kgEnv"]],
  ipmitool: [["kgFile", "kgEnv"]],
};

/** Keys that have no meaning without another one beside them. */
const BELONGS_TO: Readonly<Record<string, string>> = { timeout: "command", environment: "command" };

/**
 * A machine's entry over the defaults, as written in the file: maps merge key by key, everything else
 * replaces. What is no map is left for the schema to refuse.
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

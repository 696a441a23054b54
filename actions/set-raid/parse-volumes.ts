import { driveCountProblem, RAID_LEVELS, type WantedVolume } from "../../shared/bmc/operations/raid-plan.ts";

const MOST_VOLUMES = 64;
const MOST_DRIVES = 128;
const LONGEST_TEXT = 65_536;
const LONGEST_ID = 200;

const UNITS: Readonly<Record<string, number>> = {
  GB: 1e9,
  TB: 1e12,
  GiB: 1_073_741_824,
  TiB: 1_099_511_627_776,
};

interface Parsed {
  readonly volumes: readonly WantedVolume[];
  /** Empty if the text is valid. */
  readonly problems: readonly string[];
}

/**
 * Parses volumes of the form `NAME LEVEL drives=... [size=...] [media=...] [min=...]`, separated by semicolons or line
 * breaks. `drives` is a number, or IDs separated by commas.
 */
export function parseVolumes(given: string): Parsed {
  if (given.length > LONGEST_TEXT) return { volumes: [], problems: ["is too long"] };
  const lines = given
    .split(/[;\n]/)
    .map((line) => line.trim())
    .filter((line) => line !== "");
  if (lines.length === 0 || lines.length > MOST_VOLUMES) {
    return { volumes: [], problems: [`must hold 1 to ${MOST_VOLUMES} volumes`] };
  }
  const problems: string[] = [];
  const volumes = lines.flatMap((line) => parseVolume(line, problems) ?? []);
  const names = volumes.map(({ name }) => name);
  const twice = new Set(names.filter((name, index) => names.indexOf(name) !== index));
  problems.push(...[...twice].map((name) => `names ${name} twice`));
  return { volumes, problems };
}

function parseVolume(line: string, problems: string[]): WantedVolume | undefined {
  const [name = "", levelText = "", ...words] = line.split(/\s+/);
  const found: string[] = [];
  if (!/^[A-Za-z0-9][\w.-]{0,63}$/.test(name)) found.push("a name has up to 64 letters, digits, _, . and -");
  const level = RAID_LEVELS.find((each) => each === levelText.toUpperCase());
  if (!level) found.push(`the level is one of ${RAID_LEVELS.join(", ")}`);
  const options = new Map<string, string>();
  for (const word of words) {
    const [, key = "", value = ""] = /^(drives|size|media|min)=(.+)$/.exec(word) ?? [];
    if (key === "" || options.has(key)) found.push("options are drives=, size=, media= and min=, each once");
    options.set(key, value);
  }
  const drives = drivesOf(options.get("drives") ?? "");
  if (drives === undefined) found.push("drives= is a number, or IDs with commas between");
  const count = typeof drives === "number" ? drives : drives?.length;
  const miscount = level && count !== undefined ? driveCountProblem(level, count) : undefined;
  if (miscount !== undefined) found.push(miscount);
  const bytes = bytesOf(options.get("size"));
  const minDriveBytes = bytesOf(options.get("min"));
  if (bytes === null || minDriveBytes === null) found.push("size= and min= are like 200GB, 1.5TB or 100GiB");
  const mediaText = options.get("media")?.toUpperCase();
  const media = mediaText === "SSD" || mediaText === "HDD" ? mediaText : undefined;
  if (mediaText !== media) found.push("media= is SSD or HDD");
  if (found.length > 0) problems.push(`${name || "a volume"}: ${[...new Set(found)].join(", ")}`);
  if (found.length > 0 || !level || drives === undefined || bytes === null || minDriveBytes === null) {
    return undefined;
  }
  return {
    name,
    level,
    drives,
    ...(bytes === undefined ? {} : { bytes }),
    ...(media === undefined ? {} : { media }),
    ...(minDriveBytes === undefined ? {} : { minDriveBytes }),
  };
}

function drivesOf(text: string): number | readonly string[] | undefined {
  if (/^\d{1,3}$/.test(text)) return Number(text);
  const ids = text.split(",");
  const isId = (id: string) => id.length <= LONGEST_ID && /^[^\p{Cc}\p{Cf}]+$/u.test(id);
  return ids.length <= MOST_DRIVES && ids.every(isId) && new Set(ids).size === ids.length ? ids : undefined;
}

/** Parses a size. Returns null if the text is not a size. */
function bytesOf(text: string | undefined): number | undefined | null {
  if (text === undefined) return undefined;
  const [, number = "", unit = ""] = /^(\d{1,6}(?:\.\d{1,3})?)(GB|TB|GiB|TiB)$/.exec(text) ?? [];
  const bytes = Math.floor(Number(number) * (UNITS[unit] ?? 0));
  return bytes > 0 ? bytes : null;
}

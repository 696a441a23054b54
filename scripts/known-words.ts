import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";

/*
 * Writes `shared/recording/known-words.ts`: the words that a recording may have. Arguments are folders with the specifications' names
 * (Go structures of the Redfish schemas, message registries) and with recorded trees, whose identities were replaced. A tree's word
 * counts if several trees have it; those of makes and models count at once.
 */

const TARGET = "shared/recording/known-words.ts";
const OWN = [
  "shared/bmc",
  "shared/contract",
  "actions",
  "simulators/redfish",
  "simulators/ipmi",
  "simulators/amt",
];
/** Names of people, places and passwords that sources and time zones have. */
const NEVER = new Set([
  "calvin",
  "canary",
  "hunter",
  "jdoe",
  "eve",
  "alice",
  "bob",
  "washington",
  "wellington",
]);
/** What neither has: makers, protocols, places of sensors, and words of answers. */
const MORE = `ampere ami asrock aspeed asus atos avocent bluefield broadcom cisco connectx cray dell emulex fujitsu gigabyte graviton hewlett hitachi
  hpe huawei hynix ibm idrac ilo imm infineon inspur insyde intel inventec kingston kioxia lenovo liteon marvell megarac mellanox micron nuvoton
  nvidia openbmc packard phoenix poweredge primergy proliant qct qlogic quanta samsung seagate solidigm supermicro synergy thinksystem toshiba
  tyan wistron wiwynn xcc xeon epyc geforce tesla ryzen nvme nvswitch charset utf html xhtml json xml text keep alive close gzip deflate chunked
  identity basic digest negotiate bearer realm qop stale auth algorithm expand levels filter select skip top only excerpt redacted removed is it on or by to of in at an as no if be we up do so us me my he ok id idrac wsman ecdsa admin root
  inlet outlet ambient exhaust intake dimm riser backplane pump fan tach rotor vrm vcore coolant leak intrusion airflow chipset pch mezzanine mon tue wed thu fri sat sun`;
const MEASURED = `mhz ghz mbps gbps bytes kib mib gib tib watts celsius fahrenheit volts amps rpm percent count seconds minutes hours days ms size
  threshold reading critical fatal limit capacity speed max min port level cores threads lanes width depth height blocks sectors baud interval
  timeout average`;
const TOO_VAGUE =
  /^(\w|id|ids|number|code|key|identifier|address(es)?|pin|values?|tag|serial|name|data|index|indices|args|as|accepts|action|after|bound|cs|ds|va|pa|mm|sid|label|external|internal|factor|devices?|group|instruction|memory|network|processor|storage|system|user|used?|specification|supported|synced|sync|needed|written|exchanges|extension|controller|commands?|words?|full|functions?|formats|hosts|logins|paths|local|read|image|signal|latitude|longitude|integral|differential|proportional|conns)$/;

const tokens = (text: string) => text.match(/[A-Za-z][A-Za-z0-9]*/g) ?? [];
const pieces = (token: string) =>
  (token.match(/[A-Z]+(?![a-z])|[A-Z]?[a-z]+/g) ?? []).map((word) => word.toLowerCase());

function filesIn(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" }).map((name) => join(folder, name));
}

/** Places in time zones of one level: `Berlin` of `Europe/Berlin`, but nothing of `America/Swift_Current`. */
const places = new Set(
  Intl.supportedValuesOf("timeZone").flatMap(
    (zone) => /^\w+\/([A-Za-z]+)$/.exec(zone)?.[1]?.toLowerCase() ?? [],
  ),
);
const seen = new Map<string, Set<string>>();
const measures = new Set(MEASURED.split(/\s+/));

const wholes = new Map<string, Set<string>>();
const CERTAIN = ["1", "2", "3"];

/** Counts the words of a text as those of a source. A certain one counts as much as several. */
function take(text: string, sources: readonly string[], hasNames = true): void {
  for (const token of tokens(text)) {
    for (const word of pieces(token)) count(seen, word, sources);
    const isShort = token.length <= (/\d/.test(token) ? 8 : 14);
    if (hasNames && isShort && pieces(token).length > 0) count(wholes, token, sources);
  }
}

function count(counts: Map<string, Set<string>>, word: string, sources: readonly string[]): void {
  // Letters of a hash, a key or an address.
  if (/^[a-f\d]+$/i.test(word) && sources !== CERTAIN) return;
  const known = counts.get(word) ?? new Set();
  counts.set(word, known);
  for (const source of sources) known.add(source);
}

function takeTree(value: unknown, source: string, field = ""): void {
  if (Array.isArray(value)) for (const entry of value) takeTree(entry, source, field);
  else if (typeof value === "object" && value !== null) {
    for (const [name, entry] of Object.entries(value)) {
      take(name, [source]);
      takeTree(entry, source, name);
    }
  } else if (typeof value === "string" && !/timezone/i.test(field)) {
    take(value, /^(model|manufacturer|vendor|family|processortype)$/i.test(field) ? CERTAIN : [source]);
  }
}

for (const folder of [...OWN, ...process.argv.slice(2)]) {
  for (const file of filesIn(folder)) {
    if (/\.json\.gz$/.test(file))
      takeTree(JSON.parse(gunzipSync(readFileSync(file)).toString()).resources, file);
    else if (/registries.*\.json$/.test(file) || (/\.ts$/.test(file) && !/words/.test(file))) {
      take(readFileSync(file, "utf8").replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, ""), CERTAIN, false);
    } else if (/\.go$/.test(file) && !/_test\.go$/.test(file)) {
      const source = readFileSync(file, "utf8").replace(/^\s*\/\/.*$/gm, "");
      take(source, CERTAIN);
      for (const [, name = ""] of source.matchAll(/^\t([A-Z]\w+) +\*?(?:\[\])?(?:u?int\d*|float\d\d)\b/gm)) {
        measures.add(pieces(name).at(-1) ?? "");
      }
    }
  }
}
take(MORE, CERTAIN);

const isCommon = ([word, sources]: [string, Set<string>]) =>
  sources.size >= 3 && word.length >= 3 && !places.has(word.toLowerCase()) && !NEVER.has(word.toLowerCase());
const words = new Set([...seen].filter(isCommon).map(([word]) => word));
for (const word of MORE.split(/\s+/)) words.add(word);
// `iLO` and `PCIe`, which do not consist of words.
for (const [whole] of [...wholes].filter(isCommon)) {
  const isMade = pieces(whole).every((piece) => words.has(piece)) && !/\d\D/.test(whole);
  if (!isMade) words.add(whole.toLowerCase().replace(/\d{4,}$/, ""));
}
const needed = [...words].filter((word) => word !== "").toSorted();
const units = [...measures].filter((word) => word !== "" && !TOO_VAGUE.test(word)).toSorted();

function lines(list: readonly string[]): string {
  let text = "";
  let width = 0;
  for (const word of list) {
    const isFull = width + word.length > 150;
    text += text === "" ? word : isFull ? `\n${word}` : ` ${word}`;
    width = isFull ? word.length : width + word.length + 1;
  }
  return text;
}

writeFileSync(
  TARGET,
  `// Written by scripts/known-words.ts.

/** Words of Redfish schemas and registries, of IPMI, AMT and makers, and of this project. */
export const KNOWN_WORDS = \`${lines(needed)}\`;

/** The last words in the names of fields with measured numbers. */
export const MEASURES = \`${lines(units)}\`;
`,
);

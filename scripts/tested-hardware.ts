import { mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { ProviderName } from "../shared/contract/vocabulary.ts";
import { programLine, shortened } from "../shared/printable.ts";
import { readRecording } from "../shared/recording/read-recording.ts";
import { compress, type Recording, recordingText } from "../shared/recording/recording.ts";
import { textOf } from "../shared/text-of.ts";
import { refreshBetweenMarks } from "./marked-part.ts";
import { projectRoot } from "./project-root.ts";

/** The recordings of reports. */
export const REPORTS = join(projectRoot, "test/recordings/hardware");
const MARK = "<!-- generated from test/recordings/hardware: npm run docs -->";
const HEADER = ["vendor", "model", "BMC firmware", "provider", "works", "does not", "version, date"];
const NONE = "*no reports yet*";
const LONGEST_CELL = 60;
/** How checks and actions are named. */
const NAME = /^[a-z][a-z0-9-]{0,39}$/;
const ENDS: ReadonlyMap<string, "works" | "fails"> = new Map([
  ["ok", "works"],
  ["warning", "works"],
  ["failed", "fails"],
  ["unsupported", "fails"],
]);

/** The table of `docs/reference/tested-hardware.md`. */
export async function refreshTestedHardware(current: string, folder = REPORTS): Promise<string> {
  const files = (await readdir(folder).catch(() => [])).filter((name) => name.endsWith(".json.gz"));
  const rows = rowsOf(await Promise.all(files.toSorted().map((name) => readRecording(join(folder, name)))));
  const lines = rows.length > 0 ? rows : [[NONE, "", "", "", "", "", ""]];
  return refreshBetweenMarks(
    current,
    MARK,
    [HEADER, HEADER.map(() => "---"), ...lines].map((cells) => `| ${cells.join(" | ")} |`).join("\n"),
  );
}

/** One row per machine and provider, of all reports about them. */
function rowsOf(reports: readonly Recording[]): readonly (readonly string[])[] {
  const rows = new Map<string, Record<"works" | "fails" | "told", Set<string>>>();
  for (const report of reports) {
    const { vendor, model, bmcFirmware, recordedBy, recordedOn } = report;
    const facts = [vendor, model, bmcFirmware].map((fact) => cellOf(fact ?? ""));
    const told = [recordedBy?.replace(/^pbnj-worker /, ""), recordedOn].filter((fact) => fact !== undefined);
    for (const { provider, name, end } of findingsOf(report)) {
      const key = JSON.stringify([...facts, provider]);
      const row = rows.get(key) ?? { works: new Set(), fails: new Set(), told: new Set() };
      row[end].add(name);
      row.told.add(cellOf(told.join(", ")));
      rows.set(key, row);
    }
  }
  return [...rows]
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([key, { works, fails, told }]) => {
      const lists = [[...works].join(", "), [...fails].join(", "), [...told].toSorted().at(-1) ?? ""];
      return [...(JSON.parse(key) as string[]), ...lists];
    });
}

/** What a report says of each provider: its checks, or the action that a provider ran. */
function findingsOf({ action }: Recording) {
  const { name: own = "", ok = false, provider: ranBy, checks } = action ?? {};
  const given = checks ?? [{ provider: ranBy, check: own, state: ok ? "ok" : "failed" }];
  return given.flatMap(({ provider: by, check: name, state }) => {
    const provider = ProviderName.safeParse(by).data;
    const end = ENDS.get(state);
    return provider !== undefined && end !== undefined && NAME.test(name) ? [{ provider, name, end }] : [];
  });
}

/** What others wrote is neither a cell, a link nor markup of its own. */
function cellOf(text: string): string {
  const plain = text
    .slice(0, 1_000)
    .replace(/[^\p{L}\p{N}.,;()/+-]+/gu, " ")
    .replace(/\bwww\./gi, "www ");
  return shortened(plain.trim(), LONGEST_CELL);
}

/** Adds reports to the folder: all of them, or none. Rejects with one line. Resolves to their names there. */
export async function addReports(files: readonly string[], folder = REPORTS): Promise<readonly string[]> {
  const added = new Map<string, string>();
  const present = await readdir(folder).catch((): string[] => []);
  for (const file of files) {
    const recording = await readRecording(file);
    if (findingsOf(recording).length === 0)
      throw new Error(`${file} has neither a check nor an action of a provider: record it with --record`);
    const name = `${nameOf(recording)}.json.gz`;
    // The users' files all have the same names.
    if (present.includes(name) || added.has(name))
      throw new Error(`${file}: there is a report of this machine and firmware: ${name}`);
    added.set(name, recordingText(recording));
  }
  await mkdir(folder, { recursive: true });
  for (const [name, text] of added) await writeFile(join(folder, name), compress(text), { flag: "wx" });
  return [...added.keys()];
}

function nameOf({ vendor, model, bmcFirmware, action }: Recording): string {
  const words = [vendor, model, bmcFirmware, action?.name].map((word) => (word ?? "").slice(0, 60));
  return words
    .join(" ")
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-|-$/g, "");
}

/** node scripts/tested-hardware.ts <file...> */
if (import.meta.main) {
  try {
    for (const name of await addReports(process.argv.slice(2)))
      process.stdout.write(`${name}: added; run npm run docs\n`);
  } catch (thrown) {
    process.stderr.write(programLine("tested-hardware", textOf(thrown)));
    process.exitCode = 2;
  }
}

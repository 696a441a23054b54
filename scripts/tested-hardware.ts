import { mkdir, readdir, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { readRecording } from "../shared/recording/read-recording.ts";
import { compress, type Recording, recordingText } from "../shared/recording/recording.ts";
import { refreshBetweenMarks } from "./marked-part.ts";
import { projectRoot } from "./project-root.ts";

/** The recordings of reports. */
const FOLDER = join(projectRoot, "test/recordings/hardware");
const MARK = "<!-- generated from test/recordings/hardware: npm run docs -->";
const HEADER = ["vendor", "model", "BMC firmware", "provider", "works", "does not", "version, date"];
const NONE = "*no reports yet*";

/** The table of `docs/reference/tested-hardware.md`. */
export async function refreshTestedHardware(current: string): Promise<string> {
  const files = (await readdir(FOLDER).catch(() => [])).filter((name) => /\.json(\.gz)?$/.test(name));
  const recordings = await Promise.all(files.toSorted().map((name) => readRecording(join(FOLDER, name))));
  const rows = recordings.flatMap(rowsOf).toSorted();
  const lines = rows.length > 0 ? rows : [lineOf([NONE, "", "", "", "", "", ""])];
  return refreshBetweenMarks(
    current,
    MARK,
    [lineOf(HEADER), lineOf(HEADER.map(() => "---")), ...lines].join("\n"),
  );
}

/** One row per provider that was checked. */
export function rowsOf({
  vendor,
  model,
  bmcFirmware,
  recordedBy,
  recordedOn,
  action,
}: Recording): readonly string[] {
  const checks = action?.checks ?? [];
  return [...new Set(checks.map(({ provider }) => provider))].map((provider) => {
    const named = (...states: string[]) =>
      checks.flatMap(({ provider: of, check, state }) =>
        of === provider && states.includes(state) ? [check] : [],
      );
    const version = [recordedBy?.replace(/^pbnj-worker /, ""), recordedOn].filter(Boolean).join(", ");
    const facts = [vendor, model, bmcFirmware, provider].map((fact) => fact ?? "");
    return lineOf([
      ...facts,
      named("ok", "warning").join(", "),
      named("failed", "unsupported").join(", "),
      version,
    ]);
  });
}

/** What others wrote is neither a cell nor markup of its own. */
function lineOf(cells: readonly string[]): string {
  return `| ${cells.map((cell) => cell.replace(/[|\\<>[\]`\s]+/g, " ").trim()).join(" | ")} |`;
}

/** Adds reports: node scripts/tested-hardware.ts <file...> */
if (import.meta.main) {
  await mkdir(FOLDER, { recursive: true });
  for (const file of process.argv.slice(2)) {
    const recording = await readRecording(file);
    if (rowsOf(recording).length === 0)
      throw new Error(`${file} has no check: record it with check --record`);
    const name = basename(file)
      .replace(/[^A-Za-z0-9.-]+/g, "-")
      .replace(/(\.json)?(\.gz)?$/, ".json.gz");
    await writeFile(join(FOLDER, name), compress(recordingText(recording)), { flag: "wx" });
    process.stdout.write(`${name}: added; run npm run docs\n`);
  }
}

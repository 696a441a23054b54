import fs, { existsSync, readFileSync, writeFileSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { basename, dirname, join } from "node:path";
import { z } from "zod";

/**
 * Loaded into a worker before its own code (NODE_OPTIONS=--import=…): kills the process as SIGKILL does, right before or
 * right after a step of the journal. `KILL_AT` is `power-off before launched,power-on after ended`; without a name, a point
 * is meant for every action. `KILL_MARKS` is a folder that remembers what was done, once for each point and action. The
 * worker's children inherit none of this.
 */
const points = (process.env["KILL_AT"] ?? "").split(",");
const marks = process.env["KILL_MARKS"] ?? "";
const { open, rename } = fs.promises;
const isEntry = (path: unknown) => basename(dirname(String(path))) === "journal";

/** A file begins with a rename, and gets its further steps with a write. */
Object.assign(fs.promises, {
  rename: async (...args: Parameters<typeof rename>) => {
    const [from, to] = args;
    await between(isEntry(to) ? readFileSync(from, "utf8") : undefined, () => rename(...args));
  },
  open: async (...args: Parameters<typeof open>) => {
    const file = await open(...args);
    if (!isEntry(args[0])) return file;
    const { write } = file;
    return Object.assign(file, {
      write: (text: string) => between(text, () => write.call(file, text)),
    });
  },
});
syncBuiltinESMExports();

const Entry = z.object({ phase: z.string(), action: z.object({ name: z.string() }) });
type Entry = z.infer<typeof Entry>;

async function between<T>(line: string | undefined, work: () => Promise<T>): Promise<T> {
  const step = line === undefined ? undefined : Entry.parse(JSON.parse(line));
  dieAt("before", step);
  const result = await work();
  dieAt("after", step);
  return result;
}

function dieAt(when: string, step: Entry | undefined): void {
  if (!step) return;
  const point = `${when} ${step.phase}`;
  const mark = join(marks, `${step.action.name} ${point}`);
  if (existsSync(mark) || !(points.includes(point) || points.includes(basename(mark)))) return;
  writeFileSync(mark, "");
  process.kill(process.pid, "SIGKILL");
}

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
const { rename } = fs.promises;

Object.assign(fs.promises, {
  rename: async (...args: Parameters<typeof rename>) => {
    const [from, to] = args.map(String);
    const step = basename(dirname(to ?? "")) === "journal" ? stepAt(from ?? "") : undefined;
    dieAt("before", step);
    await rename(...args);
    dieAt("after", step);
  },
});
syncBuiltinESMExports();

const Entry = z.object({ phase: z.string(), action: z.object({ name: z.string() }) });
type Entry = z.infer<typeof Entry>;

function stepAt(file: string): Entry {
  return Entry.parse(JSON.parse(readFileSync(file, "utf8")));
}

function dieAt(when: string, step: Entry | undefined): void {
  if (!step) return;
  const point = `${when} ${step.phase}`;
  const mark = join(marks, `${step.action.name} ${point}`);
  if (existsSync(mark) || !(points.includes(point) || points.includes(basename(mark)))) return;
  writeFileSync(mark, "");
  process.kill(process.pid, "SIGKILL");
}

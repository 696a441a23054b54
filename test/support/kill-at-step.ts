import fs, { existsSync, readFileSync, writeFileSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { basename, dirname, join } from "node:path";
import { z } from "zod";

/**
 * Loaded into a worker before its own code (NODE_OPTIONS=--import=…): kills the process as SIGKILL does, right before or
 * right after a step that the journal takes or that takes a result away. `KILL_AT` is `before launched`, `after removal`
 * and so on; `KILL_MARKS` is a folder that remembers which actions it has been done to, once each. The worker's children
 * inherit none of this.
 */
const [when, step] = (process.env["KILL_AT"] ?? "").split(" ");
const marks = process.env["KILL_MARKS"] ?? "";
const { rename, rm } = fs.promises;

Object.assign(fs.promises, {
  rename: async (...args: Parameters<typeof rename>) => {
    const [from, to] = args.map(String);
    const who = basename(dirname(to ?? "")) === "journal" ? actionAt(from ?? "") : undefined;
    die("before", who);
    await rename(...args);
    die("after", who);
  },
  rm: async (...args: Parameters<typeof rm>) => {
    const path = String(args[0]);
    const removes = basename(dirname(path)) === "results" && existsSync(path);
    const who = removes && step === "removal" ? basename(path) : undefined;
    die("before", who);
    await rm(...args);
    die("after", who);
  },
});
syncBuiltinESMExports();

const Entry = z.object({ phase: z.string(), action: z.object({ name: z.string() }) });

/** The action whose journal entry takes the step. */
function actionAt(file: string): string | undefined {
  const { phase, action } = Entry.parse(JSON.parse(readFileSync(file, "utf8")));
  return phase === step ? action.name : undefined;
}

function die(now: string, who: string | undefined): void {
  if (who === undefined || now !== when || existsSync(join(marks, who))) return;
  writeFileSync(join(marks, who), "");
  process.kill(process.pid, "SIGKILL");
}

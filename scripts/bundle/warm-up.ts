import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname } from "node:path";
import { Script } from "node:vm";

/** One run of the program. */
export interface WarmRun {
  readonly env: Readonly<Record<string, string>>;
  readonly exitCode: number;
}

/**
 * `warm-up.ts <script> <action> <runs>`: runs the script of the actions several times in this process, and writes what V8 has compiled of
 * it by then. The flags must be those of a usual start, because V8 rejects a cache of other flags.
 */
const [file = "", name = "", runs = "[]"] = process.argv.slice(2);
const script = new Script(readFileSync(file, "latin1"), { filename: file });
const start = script.runInThisContext();
const { exit } = process;
for (const run of JSON.parse(runs) as readonly WarmRun[]) {
  const inherited = { ...process.env };
  Object.assign(process.env, run.env);
  const code = await new Promise<unknown>((resolve) => {
    process.exit = ((status: unknown) => resolve(status)) as typeof process.exit;
    start(createRequire(file), {}, {}, file, dirname(file), [name]);
  });
  process.env = inherited;
  if (code !== run.exitCode) {
    process.stderr.write(`exit code ${code} instead of ${run.exitCode}\n`);
    exit(1);
  }
}
writeFileSync(`${file}.cache`, script.createCachedData());
exit(0);

import { mkdir, readdir } from "node:fs/promises";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { type LogFields, silentLogger } from "../../../../shared/logger.ts";
import { actionEntries } from "../../../../worker/core/action/action-journal.ts";
import { Journal } from "../../../../worker/core/journal/journal.ts";
import { openFolder } from "../../../support/folder.ts";
import { SetClock } from "../../../support/set-clock.ts";

const START = "2030-01-02T03:04:10.000Z";
export const NOW = Date.parse(START);

/** A journal's directory, and the warnings of opening it. */
export async function journalLab() {
  const place = await openFolder();
  onTestFinished(place[Symbol.asyncDispose]);
  const directory = place.path("journal");
  await mkdir(directory);
  const warnings: LogFields[] = [];
  const log = { ...silentLogger, warn: (fields: LogFields) => void warnings.push(fields) };
  const clock = new SetClock(START);
  return {
    directory,
    warnings,
    clock,
    open: () => Journal.open({ directory, kind: actionEntries, clock, log }),
    files: async () => (await readdir(directory)).filter((name) => name !== "set-aside").toSorted(),
    setAside: async () => (await readdir(join(directory, "set-aside"))).toSorted(),
  };
}

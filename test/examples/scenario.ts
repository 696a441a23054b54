import { randomBytes } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { MachineEdits } from "./example-run.ts";

/** What an example is run against, and what must be true of it afterwards. */
export interface Scenario {
  /** A program that the run needs. */
  readonly program?: string;
  /** Starts the simulators; `folder` is the run's own. */
  start(folder: string): Promise<StartedScenario>;
}

interface StartedScenario {
  /** Where the machines of the inventory are simulated. */
  readonly machines: Readonly<Record<string, MachineEdits>>;
  /** Nothing of this may be in what the worker says. */
  readonly secrets: readonly string[];
  /** Asks the simulators themselves what happened. */
  verify(): Promise<void> | void;
  close(): Promise<void>;
}

/** Quick, but off for long enough that a poll sees it. */
export const QUICK = { powerOnMs: 20, powerOffMs: 20, softOffMs: 20, cycleOffMs: 1_000 };

/** Short enough for IPMI. */
export const newPassword = () => randomBytes(9).toString("base64url");

export async function writeSecret(folder: string, name: string, secret: string): Promise<string> {
  const path = join(folder, name);
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, `${secret}\n`, { mode: 0o600 });
  return path;
}

import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { onTestFinished } from "vitest";

const PROGRAM = join(import.meta.dirname, "../../../simulators/main.ts");

export interface Simulator {
  readonly child: ChildProcessByStdio<null, Readable, null>;
  /** Each line of its output, parsed; the first one is there. */
  readonly lines: readonly Readonly<Record<string, string>>[];
  /** Its exit code and signal. */
  readonly ended: Promise<unknown>;
}

/** Starts a simulator as people do; resolves once it has said where it is. */
export async function simulate(...argv: readonly string[]): Promise<Simulator> {
  const child = spawn(process.execPath, [PROGRAM, ...argv], { stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  const lines: Record<string, string>[] = [];
  const output = createInterface(child.stdout).on("line", (line) => lines.push(JSON.parse(line)));
  const ended = once(child, "close");
  await once(output, "line");
  return { child, lines, ended };
}

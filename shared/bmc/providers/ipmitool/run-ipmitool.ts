import { closeSync } from "node:fs";
import { StartError } from "../../../child-process/child-process.ts";
import { runProgram } from "../../../child-process/run-program.ts";
import { BmcError } from "../../../contract/bmc-error.ts";
import { defined } from "../../../defined.ts";
import { TimeoutReached } from "../../../timeout.ts";
import type { Invocation } from "./argv.ts";
import { openNamelessFile } from "./nameless-file.ts";

export interface IpmitoolOutput {
  readonly ok: boolean;
  readonly stdout: string;
  readonly stderr: string;
}

/** Throws `unsupported` when there is no such program, `TimeoutReached`, or the signal's reason. */
export async function runIpmitool(
  program: string,
  { argv, files, input }: Invocation,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<IpmitoolOutput> {
  // What it needs to be found, and plain English messages.
  const environment = { PATH: process.env["PATH"], LC_ALL: "C" };
  const descriptors: number[] = [];
  try {
    for (const content of files) descriptors.push(openNamelessFile(content));
    const run = { program, argv, environment, descriptors, timeoutMs, ...defined({ input }) };
    const { kind, exit, stdout, stderr } = await runProgram(run, signal);
    if (kind === "timeout") throw new TimeoutReached(timeoutMs);
    if (kind === "too-much-output") throw new BmcError("protocol", `"${program}" printed too much`);
    return { ok: exit?.exitCode === 0, stdout: stdout.toString(), stderr: stderr.toString() };
  } catch (thrown) {
    if (!(thrown instanceof StartError)) throw thrown;
    throw new BmcError("unsupported", `cannot run "${program}": it is not installed here`, { cause: thrown });
  } finally {
    for (const descriptor of descriptors) closeSync(descriptor);
  }
}

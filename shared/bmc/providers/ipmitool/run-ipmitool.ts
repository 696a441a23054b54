import { randomBytes } from "node:crypto";
import { closeSync, openSync, unlinkSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { StartError } from "../../../child-process/child-process.ts";
import { runProgram } from "../../../child-process/run-program.ts";
import { BmcError } from "../../../contract/bmc-error.ts";
import { defined } from "../../../defined.ts";
import { TimeoutReached } from "../../../timeout.ts";
import type { Invocation } from "./argv.ts";

export interface IpmitoolOutput {
  readonly ok: boolean;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs ipmitool. Throws `unsupported` if the program is missing, `TimeoutReached`, or the signal's reason. */
export async function runIpmitool(
  program: string,
  { argv, files, input }: Invocation,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<IpmitoolOutput> {
  // The variables with which the program is found, and plain English messages.
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

/** Folders for the file: memory first, if the system has it. */
const FOLDERS = ["/dev/shm", tmpdir()];

/**
 * Opens a file that no longer has a name when its content is written. Only processes that inherit the descriptor can read
 * it, and nothing of it outlives them. Node has no pipes, only sockets, which cannot be opened as /dev/fd/N. The caller
 * closes the descriptor.
 */
function openNamelessFile(content: string): number {
  const descriptor = openUnlinked();
  try {
    // Writing at a position leaves the offset at the start, for systems whose /dev/fd shares it.
    writeSync(descriptor, content, 0);
    return descriptor;
  } catch (thrown) {
    closeSync(descriptor);
    throw thrown;
  }
}

function openUnlinked(): number {
  const name = `pbnj-${randomBytes(16).toString("hex")}`;
  for (const folder of FOLDERS) {
    const path = join(folder, name);
    try {
      const descriptor = openSync(path, "wx+", 0o600);
      unlinkSync(path);
      return descriptor;
    } catch {
      // The next folder may be writable.
    }
  }
  throw new BmcError(
    "unsupported",
    `no temporary file can be made in ${FOLDERS.join(" or ")}, through which ipmitool gets its password: use the ipmi provider`,
  );
}

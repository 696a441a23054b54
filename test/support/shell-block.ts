import { execa } from "execa";
import { signalGroup } from "../../shared/child-process/process-group.ts";
import { markedPath } from "./left-actions.ts";

const TIMEOUT_MS = 120_000;

interface Surroundings {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** For its stdin, which is empty without. */
  readonly input?: string;
}

/** Runs a block of a manual until it ends, or until `enough` has resolved: then its processes get SIGTERM. */
export async function runShell(
  text: string,
  { cwd, env, input = "" }: Surroundings,
  enough?: (said: () => string) => Promise<unknown>,
): Promise<{ output: string; exitCode: number | undefined }> {
  const { PATH, HOME, NODE_COMPILE_CACHE } = process.env;
  const bash = execa("bash", ["--norc", "-euc", text], {
    ...{ cwd, reject: false, all: true, detached: true, extendEnv: false },
    input,
    // With the cache, Node strips the types of sources only once.
    env: { HOME, NODE_COMPILE_CACHE, ...env, PATH: markedPath(env["PATH"] ?? PATH) },
  });
  // Bash alone would leave its programs, whose output is waited for.
  const end = () => bash.pid && signalGroup(bash.pid, "SIGKILL");
  const deadline = setTimeout(end, TIMEOUT_MS);
  let said = "";
  bash.all?.on("data", (chunk: Buffer) => {
    said += chunk.toString();
  });
  if (enough) {
    let isRunning = true;
    const ended = bash.finally(() => {
      isRunning = false;
    });
    await Promise.race([enough(() => said), ended]).finally(() => {
      if (isRunning && bash.pid) process.kill(-bash.pid, "SIGTERM");
    });
  }
  const { all, exitCode } = await bash;
  clearTimeout(deadline);
  // What it left in the background.
  end();
  return { output: all, exitCode };
}

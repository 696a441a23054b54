import type { Readable } from "node:stream";
import { finished } from "node:stream/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { execa } from "execa";
import { endGroup, killGroup } from "../../shared/child-process/process-group.ts";
import { waitUntilDeadline } from "../../shared/deadline.ts";
import { formatSeconds } from "../../shared/duration.ts";
import { LineSplitter } from "../../shared/line-splitter.ts";
import { decodeText, FileProblem, fileProblemOf } from "../document/read-text-file.ts";
import { lastErrorLine } from "./last-error-line.ts";
import type { Environment, SecretCommand } from "./secret-commands.ts";

/** What programs need to find others, certificates and their language. The worker's own secrets are not in it. */
const USUAL = ["PATH", "HOME", "TMPDIR", "TZ", "LANG", "LC_ALL", "SSL_CERT_FILE", "SSL_CERT_DIR"];

const MOST_BYTES = 64 * 1_024;
const LONGEST_LINE = 1_000;
/** To tell a vault goodbye after SIGTERM. */
const GRACE_MS = 1_000;
/** How long what is still in the pipes may take once all processes are gone. */
const DRAIN_MS = 2_000;

interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/**
 * Runs the command in a process group of its own, which is gone when this settles, and resolves to what it printed on
 * stdout. That is never logged nor part of an error. `onLaunched` gets the group, and gives back what to call at its
 * end. Rejects as `SecretCommands.run` does.
 */
export async function runSecretCommand(
  { argv, timeoutMs, environment }: SecretCommand,
  env: Environment,
  signal: AbortSignal,
  onLaunched: (groupId: number) => () => void,
): Promise<string> {
  const [program, ...rest] = argv;
  const passed = environmentOf([...USUAL, ...environment], env);
  const child = execa(program, rest, {
    env: passed,
    extendEnv: false,
    detached: true,
    cleanup: false,
    buffer: false,
    reject: false,
    stdin: "ignore",
    // With NODE_DEBUG=execa its default would write the output into the worker's log.
    verbose: "none",
  });
  const groupId = child.pid;
  if (groupId === undefined) throw new FileProblem(launchProblem(await child));

  const onEnded = onLaunched(groupId);
  const exited = new Promise<Exit>((resolve) => {
    child.nodeChildProcess.once("exit", (code, by) => resolve({ code, signal: by }));
  });
  const stdout = collect(child.stdout);
  const stderr = lastLine(child.stderr);
  try {
    const over = Promise.race([exited, stdout.tooLong]);
    const stopped = await waitUntilDeadline(timeoutMs, signal, () => over);
    if (stopped || stdout.isTooLong()) await endGroup(groupId, GRACE_MS, exited);
    else await killGroup(groupId);
    await drained([child.stdout, child.stderr]);
    if (stopped === "cancelled") signal.throwIfAborted();
    const exit = stopped || stdout.isTooLong() ? undefined : await exited;
    if (exit?.code === 0) return decodeOutput(stdout.bytes());
    const given = environment.flatMap((name) => passed[name] ?? []);
    const words = lastErrorLine(stderr.line(), stdout.bytes().toString("utf8"), given);
    throw new FileProblem(`${problemOf(exit, stopped !== undefined, timeoutMs)}${words && `: ${words}`}`);
  } finally {
    onEnded();
  }
}

function environmentOf(names: readonly string[], env: Environment): Record<string, string> {
  const given = names.map((name) => [name, env[name]] as const);
  return Object.fromEntries(
    given.filter((entry): entry is readonly [string, string] => entry[1] !== undefined),
  );
}

function problemOf(exit: Exit | undefined, isLate: boolean, timeoutMs: number): string {
  if (isLate) return `was stopped after its ${formatSeconds(timeoutMs)}`;
  if (!exit) return `printed more than ${MOST_BYTES / 1_024} KiB`;
  return exit.signal ? `was killed by ${exit.signal}` : `failed with exit code ${exit.code}`;
}

function launchProblem(failed: { readonly cause?: unknown }): string {
  const code = failed.cause instanceof Error && "code" in failed.cause ? failed.cause.code : undefined;
  return code === "EACCES" ? "may not be run by this user" : fileProblemOf(failed.cause);
}

function decodeOutput(bytes: Buffer): string {
  try {
    return decodeText(bytes);
  } catch {
    throw new FileProblem("printed what is not UTF-8 text");
  }
}

/** What a stream says, up to the limit; beyond it nothing is kept. */
function collect(stream: Readable) {
  const { promise: tooLong, resolve: markTooLong } = Promise.withResolvers<void>();
  const chunks: Uint8Array[] = [];
  let size = 0;
  stream.on("data", (chunk: Uint8Array) => {
    size += chunk.length;
    if (size <= MOST_BYTES) chunks.push(chunk);
    else markTooLong();
  });
  return { tooLong, isTooLong: () => size > MOST_BYTES, bytes: () => Buffer.concat(chunks) };
}

function lastLine(stream: Readable) {
  let last = "";
  const splitter = new LineSplitter(LONGEST_LINE, (line) => {
    if (line.trim() !== "") last = line;
  });
  stream.on("data", (chunk: Uint8Array) => splitter.push(chunk));
  return {
    line: () => {
      splitter.end();
      return last;
    },
  };
}

/** A process that has left the group may hold a pipe open for ever; it is not waited for. */
async function drained(streams: readonly Readable[]): Promise<void> {
  const limit = new AbortController();
  const ended = Promise.allSettled(streams.map((stream) => finished(stream, { writable: false })));
  await Promise.race([ended, sleep(DRAIN_MS, undefined, { signal: limit.signal }).catch(() => undefined)]);
  limit.abort();
  for (const stream of streams) stream.destroy();
}

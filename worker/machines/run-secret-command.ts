import { type Exit, StartError } from "../../shared/child-process/child-process.ts";
import { OUTPUT_LIMIT_BYTES, type ProgramEnd, runProgram } from "../../shared/child-process/run-program.ts";
import { formatSeconds } from "../../shared/duration.ts";
import { LineSplitter } from "../../shared/line-splitter.ts";
import { decodeText, FileProblem, fileProblemOf } from "../../shared/read-text-file.ts";
import { lastErrorLine } from "./last-error-line.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

export interface SecretCommand {
  /** Program and arguments, without a shell. */
  readonly argv: readonly [program: string, ...rest: readonly string[]];
  readonly timeoutMs: number;
  /** Variables of the worker that the program gets in addition to the usual ones. */
  readonly environment: readonly string[];
}

/** What programs need to find others, certificates and their language. None of the worker's secrets is among them. */
const USUAL = ["PATH", "HOME", "TMPDIR", "TZ", "LANG", "LC_ALL", "SSL_CERT_FILE", "SSL_CERT_DIR"];

const LONGEST_LINE = 1_000;
/** Lets a client log out of its vault. */
const GRACE_MS = 1_000;

/**
 * Runs the command and resolves to what it printed on stdout, which is never logged nor part of an error. Rejects with a
 * `FileProblem` whose message follows the command's name, or with the signal's reason; the command's process group has
 * ended by then. See `RunProgramOptions.onStarted`.
 */
export async function runSecretCommand(
  { argv, timeoutMs, environment }: SecretCommand,
  env: Environment,
  signal: AbortSignal,
  onStarted: (groupId: number) => () => void,
): Promise<string> {
  const [program, ...rest] = argv;
  const passed = Object.fromEntries([...USUAL, ...environment].map((name) => [name, env[name]]));
  let errorLine = "";
  const stderr = new LineSplitter(LONGEST_LINE, (line) => {
    if (line.trim() !== "") errorLine = line;
  });
  const { kind, exit, stdout } = await runProgram(
    {
      program,
      argv: rest,
      environment: passed,
      timeoutMs,
      graceMs: GRACE_MS,
      onStderr: (chunk) => stderr.push(chunk),
      onStarted,
    },
    signal,
  ).catch((thrown) => {
    throw thrown instanceof StartError ? new FileProblem(startProblem(thrown)) : thrown;
  });
  if (exit?.exitCode === 0) return decodeOutput(stdout);
  stderr.end();
  const given = environment.flatMap((name) => passed[name] ?? []);
  const reason = lastErrorLine(errorLine, stdout.toString("utf8"), given);
  const problem = problemOf(kind, exit, timeoutMs);
  throw new FileProblem(`${problem}${reason && `: ${reason}`}`);
}

function problemOf(kind: ProgramEnd["kind"], exit: Exit | undefined, timeoutMs: number): string {
  if (kind === "timeout") return `timed out after ${formatSeconds(timeoutMs)}`;
  if (kind === "too-much-output") return `printed more than ${OUTPUT_LIMIT_BYTES / 1_024} KiB`;
  return exit?.signal ? `was killed by ${exit.signal}` : `failed with exit code ${exit?.exitCode}`;
}

function startProblem({ code, cause }: StartError): string {
  return code === "EACCES" ? "may not be run by this user" : fileProblemOf(cause);
}

function decodeOutput(bytes: Buffer): string {
  try {
    return decodeText(bytes);
  } catch {
    throw new FileProblem("printed what is not UTF-8 text");
  }
}
